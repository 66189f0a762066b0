"""What another kernel would store, made by each work-group for its tile, in local memory.

    map (tile -> f tile) (views (store e))
      =  map (tile -> let made = toLocal (map id tile) in f made) (views e)

A group reads no more of e than its tile, so e is computed where the tile is copied; what several
tiles read is computed for each of them. Nothing of e is in global memory.
"""

# key: e term, s strategy, t operand

from collections.abc import Callable, Iterator, Sequence

from ir.core.nodes import Expr, Let, Map, Slide, Store
from ir.core.terms import children, subterms
from ir.core.type_rules import type_of
from ir.core.types import Array
from rewrites.analysis.kernel_terms import has_reduction, own_terms
from rewrites.engine.places import of_rest, of_value
from rewrites.engine.refused import Refused
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.strategy import attempt, exhaust, repeat, seq, skip, when
from rewrites.laws.lets import inline_once, let_beside, let_view
from rewrites.laws.lower import not_stored, share
from rewrites.laws.zips import unused_part
from rewrites.nest.dimensions import roots, sources
from rewrites.nest.normal_form import normalise
from rewrites.nest.spine import body, each, inside, loops, nest, nested


def _names_stored(e: Expr) -> bool:
    return isinstance(e, Let) and isinstance(e.value, Store)


in_place: Strategy = exhaust(when(_names_stored, inline_once()))
"""let x = store v in e  becomes  e[store v / x], where x is read once"""


def is_made(e: Expr) -> bool:
    """True if e is what another kernel makes and stores: sums, or of sums."""
    return isinstance(e, Store) and has_reduction(e.e)


def reads_made(e: Expr) -> bool:
    """True if a kernel reads what another one makes and stores."""
    return is_made(e) or (not isinstance(e, Store) and any(map(reads_made, children(e))))


def made_operands(maps: Sequence[Map]) -> list[Expr]:
    """What the body of the innermost of these maps reads of arrays that other kernels make."""
    read = dict.fromkeys(roots(maps[-1].f.body)) if maps else ()
    return [t for t in read if isinstance(type_of(t), Array) and _is_of_made(maps, t)]


def _is_of_made(maps: Sequence[Map], t: Expr) -> bool:
    return any(is_made(s) for array in sources(maps, t) for s in subterms(array))


def _named(maps: int, held: Callable[[Expr], Strategy]) -> Strategy:
    """Inside so many maps each operand that another kernel makes gets a name; `held`: how."""

    def run(e: Expr) -> Rewritten | None:
        around = nest(e)[:maps]
        if any(map(is_made, subterms(around[-1].f.body))):
            raise Refused("each tile of results reads all that another kernel makes")
        made = made_operands(around)
        if not made:
            raise Refused("a tile of results reads no tile of what another kernel makes")
        names = (seq(share(term=t, name="made"), of_value(held(t))) for t in made)
        named = seq(*(seq(name, attempt(let_view())) for name in names))
        return nested(maps - 1, body(named))(e)

    return run


def copied_tiles(groups: int, copied: Callable[[Expr], Strategy]) -> Strategy:
    """Inside so many maps, over tiles, each operand that another kernel makes is copied to local
    memory."""
    return _named(groups, copied)


def joined(pixels: int) -> Strategy:
    """Inside so many maps, over results, each operand that another kernel makes is computed for
    that result: two kernels become one nest."""

    def run(e: Expr) -> Rewritten | None:
        if any(map(_overlaps, _arrays_of_made(nest(e)[:pixels]))):
            raise Refused("windows of what another kernel makes overlap: each part is made again")
        return seq(_named(pixels, lambda _: skip), _not_stored, normalise)(e)

    return run


def _arrays_of_made(maps: Sequence[Map]) -> Iterator[Expr]:
    """The arrays through which the innermost of these maps reads what other kernels make."""
    return (array for t in made_operands(maps) for array in sources(maps, t))


def _overlaps(array: Expr) -> bool:
    """True if a kernel goes over windows of an array that share elements."""
    return any(isinstance(s, Slide) and s.size != s.step for s in own_terms(array))


def operands_first(e: Expr) -> Rewritten | None:
    """The operands of all elements of a map before its results: its lets leave it."""
    return repeat(inside(seq(let_beside(), inside(attempt(unused_part())))))(e)


def made_by(maps: int, s: Strategy) -> Strategy:
    """Inside so many maps, over tiles, s makes what lets give names to."""

    def lets(e: Expr) -> Rewritten | None:
        if not isinstance(e, Let):
            return skip(e)
        return seq(of_rest(lets), of_value(s), attempt(let_view()))(e)

    return nested(maps - 1, body(lets))


def _not_stored(e: Expr) -> Rewritten | None:
    """What another kernel makes is computed by this one."""
    if is_made(e):
        return not_stored()(e)
    return skip(e) if isinstance(e, Store) else each(_not_stored)(e)


def computed_here(e: Expr) -> Rewritten | None:
    """What another kernel makes is computed where this one reads it, by loops."""
    if is_made(e):
        return seq(not_stored(), loops)(e)
    return skip(e) if isinstance(e, Store) else each(computed_here)(e)
