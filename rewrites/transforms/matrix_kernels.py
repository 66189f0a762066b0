"""The lowering of transforms by constant matrices: in registers, and in vectors of what is
transformed."""

# key: e term, s strategy, n maps around a transform

from ir.core.nodes import Expr, Level, Map, Transpose, Zip
from ir.core.size import Size
from ir.core.type_rules import size_of
from ir.core.views import is_view
from rewrites.engine.places import of_array, of_function, of_part, of_rest, of_value
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.stages import stage
from rewrites.engine.strategy import attempt, choice, exhaust, seq, skip
from rewrites.fast_algorithms.constant_matrices import constant_rows, divide_matrix, spell_rows
from rewrites.kernels.register_block import over
from rewrites.laws.lower import copy, share, to_private, to_seq
from rewrites.laws.vectors import vectorize_map
from rewrites.laws.views import SIMPLER, fewest_transposes
from rewrites.nest.named_nest import standing
from rewrites.nest.normal_form import perfect
from rewrites.nest.spine import nest

tidied: Strategy = exhaust(choice(fewest_transposes(), *(r() for r in SIMPLER)))
"""Views simplified, permutations of dimensions among them."""


def transform_kernel(n: int, v: Size | None, lanes: int | None = None) -> Strategy:
    """The strategy that puts the n maps around a transform over work-items, one of them in vectors
    of v if its length allows: the innermost, or the one at the position `lanes`, which then becomes
    the innermost. There are no vectors if v is None."""
    last = max(n - 1, 0)

    def run(e: Expr) -> Rewritten | None:
        at = last if lanes is None else lanes
        maps = standing(before=at, innermost=min(n, 1), after=last - at)
        maps = maps.order("before", "after", "innermost").grouped("outer", "before", "after")
        if v and _in_vectors(nest(e)[:n][at]):
            maps = maps.on("innermost", vectorize_map(v=v), "in vectors")
        return over(
            maps.inside(stage("a transform in registers", in_registers)),
            Level.GLOBAL,
            ("outer", "innermost"),
            skip,
        )(e)

    return stage("a kernel of transforms", seq(perfect, tidied, run))


def _in_vectors(m: Map) -> bool:
    """True if the map's length may be split into vectors: it is even, or not yet a number."""
    n = size_of(m.xs)
    return not isinstance(n, int) or n % 2 == 0


def in_registers(e: Expr) -> Rewritten | None:
    """The transform e with what it reads loaded once, and every stage of it made in registers; None
    if e is no map."""
    if not isinstance(e, Map):
        return None
    if constant_rows(e) is not None:
        return _loaded(e)
    stage = in_registers if is_view(_made(e.xs)) else spelled
    inner = of_function(choice(stage, in_registers, skip))
    return seq(attempt(of_array(source)), inner, to_seq(unrolled=True))(e)


def _made(e: Expr) -> Expr:
    """The array that e shows through transposes alone; e itself if it is no transpose."""
    while isinstance(e, Transpose):
        e = e.xs
    return e


def source(e: Expr) -> Rewritten | None:
    """The term e with the transform that it shows, through transposes and zips, made in registers;
    None if e is a view alone."""
    if isinstance(e, Transpose):
        return of_array(source)(e)
    if isinstance(e, Zip) and not is_view(e):
        return seq(*(of_part(i, attempt(source)) for i in range(len(e.parts))))(e)
    return None if is_view(e) else seq(in_registers, to_private())(e)


def _loaded(e: Expr) -> Rewritten | None:
    """The product e with a constant matrix, spelled out on numbers that are loaded once."""
    held = choice(source, seq(copy(), to_seq(unrolled=True), to_private()))
    return seq(_named("row"), of_value(held), of_rest(spelled))(e)


def spelled(e: Expr) -> Rewritten | None:
    """The product e with a constant matrix spelled out, as products with two where that takes fewer
    additions."""
    halves = of_value(seq(spell_rows(), to_private()))
    in_two = seq(divide_matrix(), _named("shared_sums"), halves, of_rest(spell_rows()))
    return choice(in_two, spell_rows())(e)


def _named(name: str) -> Strategy:
    """The strategy that gives a name to the array that a constant matrix is multiplied with."""

    def run(e: Expr) -> Rewritten | None:
        found = constant_rows(e)
        return share(term=found[1], name=name)(e) if found else None

    return run
