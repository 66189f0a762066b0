"""Operands of products laid out in memory for the lanes of a sub-group: rows as lanes hold them, so
that each lane loads its part of a tile at once, and columns as a group stages them."""

# key: e term, s strategy

from collections.abc import Sequence

from ir.core.nodes import Expr, Map, Slide, Zip
from ir.core.terms import free, subterms
from ir.core.type_rules import type_of
from ir.core.types import depth
from ir.core.views import is_view
from ir.instructions.fragments import Fragment
from rewrites.engine.places import of_array, of_part
from rewrites.engine.refused import Refused
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.strategy import attempt, choice, seq, skip, when
from rewrites.laws.views import round_open, split_inner, split_open
from rewrites.nest.dimensions import sided
from rewrites.nest.labels import labels
from rewrites.nest.named_views import stored_as
from rewrites.nest.spine import kernels, nested


def constants_in_fragments(constants: frozenset[str], f: Fragment) -> Strategy:
    """The strategy that stores, in each kernel, those `constants` that the map over its rows goes
    over, in the order of the fragment f. Refused if no kernel has such rows."""

    def run(e: Expr) -> Rewritten | None:
        done = kernels(each)(e)
        if done is None or not done[1]:
            raise Refused(
                "expected a kernel whose rows are read from a constant parameter, found none"
            )
        return done

    def each(e: Expr) -> Rewritten | None:
        try:
            rows = sided(e).rows[:1]
        except Refused:
            return skip(e)
        over = when(lambda m: isinstance(m, Map), of_array(parts))
        return seq(*(attempt(nested(n, over)) for n in rows))(e)

    def parts(xs: Expr) -> Rewritten | None:
        if not isinstance(xs, Zip):
            return attempt(tiled)(xs)
        return seq(*(of_part(i, attempt(tiled)) for i in range(len(xs.parts))))(xs)

    def tiled(xs: Expr) -> Rewritten | None:
        constant = free(xs) and free(xs) <= constants and is_view(xs)
        dims = depth(type_of(xs))
        return in_fragments(f, dims)(xs) if constant and dims > 1 else None

    return run


def columns_by_steps(params: frozenset[str], steps: int) -> Strategy:
    """The strategy that stores, in each kernel, the operand of its columns if that is a matrix and
    not windows of an image: `steps` elements of a column side by side, then columns. So what a
    group stages of it, some steps of neighbouring columns, lies together in memory. `params` are
    the names of the program's parameters."""

    def each(e: Expr) -> Rewritten | None:
        try:
            columns = sided(e).columns
        except Refused:
            return skip(e)
        over = when(lambda m: isinstance(m, Map), of_array(attempt(laid)))
        return nested(columns[0], over)(e) if len(columns) == 1 else skip(e)

    def laid(xs: Expr) -> Rewritten | None:
        known = free(xs) and free(xs) <= params and is_view(xs)
        if not known or depth(type_of(xs)) != 2 or any(isinstance(t, Slide) for t in subterms(xs)):
            return None
        lying = labels("columns", "chunks", "steps")
        kept = stored_as(lying, ("chunks", "columns", "steps"))
        return seq(split_inner(k=steps, level=1), of_array(kept))(xs)

    return kernels(each)


def in_fragments(f: Fragment, dims: int, made: Strategy = skip) -> Strategy:
    """The strategy that stores an array of `dims` dimensions with tiles of its rows and last
    dimension in the order of a fragment; `made` is applied to what is stored."""
    rows, steps = _digits(f, f.columns), _digits(f, f.rows)
    lying = labels("tiles", *rows, *(f"other {n}" for n in range(dims - 2)), "chunks", *steps)
    kept = [d for d in (*f.lanes, *f.registers) if d in lying.names]
    outer = [name for name in lying.names if name not in kept]
    laid = _split(f, steps, dims - 1 + len(rows), stored_as(lying, (*outer, *kept), made))
    tiles = seq(split_open(k=f.count(rows)), of_array(_divided(f, rows, 1, laid)))
    return choice(seq(round_open(k=f.count(rows)), of_array(tiles)), tiles)


def _digits(f: Fragment, digits: Sequence[str]) -> list[str]:
    """Those of `digits`, names of digits of the fragment f, that have more than one value."""
    return [d for d in digits if f.sizes[d] > 1]


def _split(f: Fragment, digits: Sequence[str], level: int, s: Strategy) -> Strategy:
    """The strategy that cuts the dimension at `level` into chunks, and each chunk into a dimension
    for each of `digits`, digits of the fragment f, then applies s."""
    within = _divided(f, digits, level + 1, s)
    return seq(split_inner(k=f.count(digits), level=level), of_array(within))


def _divided(f: Fragment, digits: Sequence[str], level: int, s: Strategy) -> Strategy:
    """The strategy that cuts the dimension at `level` into one for each of `digits`, digits of the
    fragment f, then applies s."""
    if len(digits) < 2:
        return s
    inner = _divided(f, digits[1:], level + 1, s)
    return seq(split_inner(k=f.count(digits[1:]), level=level), of_array(inner))
