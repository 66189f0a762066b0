"""Arrays that another kernel would store, made instead by each work-group for its tile, in local
memory.

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
    """True if e is a `store` of what another kernel sums up; a copy, without sums, does not
    count."""
    return isinstance(e, Store) and has_reduction(e.e)


def reads_made(e: Expr) -> bool:
    """True if a kernel reads what another one makes and stores."""
    return is_made(e) or (not isinstance(e, Store) and any(map(reads_made, children(e))))


def made_operands(maps: Sequence[Map]) -> list[Expr]:
    """The arrays, made by other kernels, that the body of the innermost of these maps reads."""
    read = dict.fromkeys(roots(maps[-1].f.body)) if maps else ()
    return [t for t in read if isinstance(type_of(t), Array) and _is_of_made(maps, t)]


def _is_of_made(maps: Sequence[Map], t: Expr) -> bool:
    return any(is_made(s) for array in sources(maps, t) for s in subterms(array))


def _named(maps: int, held: Callable[[Expr], Strategy]) -> Strategy:
    """The strategy that, inside `maps` maps, puts each operand made by another kernel in a let, and
    applies held(operand) to the let's value."""

    def run(e: Expr) -> Rewritten | None:
        around = nest(e)[:maps]
        if any(map(is_made, subterms(around[-1].f.body))):
            raise Refused(
                "expected tiles of results that each read a part of what another kernel makes, "
                "found that each tile reads all of it"
            )
        made = made_operands(around)
        if not made:
            raise Refused(
                "expected tiles of results that read what another kernel makes, found that "
                "they read nothing of it"
            )
        names = (seq(share(term=t, name="made"), of_value(held(t))) for t in made)
        named = seq(*(seq(name, attempt(let_view())) for name in names))
        return nested(maps - 1, body(named))(e)

    return run


def copied_tiles(groups: int, copied: Callable[[Expr], Strategy]) -> Strategy:
    """The strategy that, inside `groups` maps over tiles, copies to local memory, by
    copied(operand), each operand that another kernel makes."""
    return _named(groups, copied)


def joined(pixels: int) -> Strategy:
    """The strategy that, inside `pixels` maps over results, computes for each result the operands
    that another kernel makes: two kernels become one nest."""

    def run(e: Expr) -> Rewritten | None:
        if any(map(_overlaps, _arrays_of_made(nest(e)[:pixels]))):
            raise Refused(
                "expected windows without common elements, found that windows of what "
                "another kernel makes overlap: what they share would be made several times"
            )
        return seq(_named(pixels, lambda _: skip), _not_stored, normalise)(e)

    return run


def _arrays_of_made(maps: Sequence[Map]) -> Iterator[Expr]:
    """The arrays through which the innermost of these maps reads what other kernels make."""
    return (array for t in made_operands(maps) for array in sources(maps, t))


def _overlaps(array: Expr) -> bool:
    """True if a slide in `array`, not counting those below a `store`, makes windows that share
    elements or leave gaps: they are not chunks side by side."""
    return any(isinstance(s, Slide) and s.size != s.step for s in own_terms(array))


def operands_first(e: Expr) -> Rewritten | None:
    """The map e with its function's lets moved out: the operands of all elements are made before
    any result."""
    return repeat(inside(seq(let_beside(), inside(attempt(unused_part())))))(e)


def made_by(maps: int, s: Strategy) -> Strategy:
    """The strategy that, inside `maps` maps over tiles, applies s to the values of lets."""

    def lets(e: Expr) -> Rewritten | None:
        if not isinstance(e, Let):
            return skip(e)
        return seq(of_rest(lets), of_value(s), attempt(let_view()))(e)

    return nested(maps - 1, body(lets))


def _not_stored(e: Expr) -> Rewritten | None:
    """The term e without the `store` around what another kernel would make: this kernel computes
    it."""
    if is_made(e):
        return not_stored()(e)
    return skip(e) if isinstance(e, Store) else each(_not_stored)(e)


def computed_here(e: Expr) -> Rewritten | None:
    """The term e with loops that compute what other kernels would make and store, in the places
    where e reads it."""
    if is_made(e):
        return seq(not_stored(), loops)(e)
    return skip(e) if isinstance(e, Store) else each(computed_here)(e)
