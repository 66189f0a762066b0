"""Strategies that turn a map of reductions into one reduction of blocks: this makes register
blocks."""

# key: e term, s strategy, n position in the nest

from ir.core.nodes import Expr, Map, Reduce
from rewrites.engine.places import of_array, of_function, of_part
from rewrites.engine.rule import Place, Rewritten, Strategy, get
from rewrites.engine.strategy import attempt, choice, place_where, remembered, seq
from rewrites.laws.maps import fission
from rewrites.laws.reductions import interchange_map_reduce
from rewrites.nest.normal_form import simplify
from rewrites.nest.spine import nested


def place_of_reduction(e: Expr) -> Place | None:
    """The place of the outermost reduction in e; None if there is none."""
    return place_where(e, lambda t: isinstance(t, Reduce))


def hoist(left: int) -> Strategy:
    """The strategy that turns map (x -> f (reduce …)) into map f of a reduction of arrays.

    In a nest of reductions the map goes inside all of them but the `left` innermost ones.
    """

    def run(e: Expr) -> Rewritten | None:
        place = place_of_reduction(e.f.body) if isinstance(e, Map) else None
        if place is None:
            return None
        if place == ():
            return seq(interchange_map_reduce(), attempt(of_function(deeper)))(e)
        sums = of_array(choice(run, of_part(1, run)))
        return seq(fission(place=place), sums)(e)

    def deeper(e: Expr) -> Rewritten | None:
        if not isinstance(e, Map) or levels(e.f.body) == 0:
            return None
        return run(e) if levels(e.f.body) > left else None

    return run


def levels(e: Expr) -> int:
    """The number of reductions nested in each other in e."""
    place = place_of_reduction(e)
    if place is None:
        return 0
    r = get(e, place)
    assert isinstance(r, Reduce)
    return 1 + levels(r.f.body)


@remembered
def block(first: int, last: int, left: int = 0) -> Strategy:
    """The strategy that moves the maps at the positions `first` to `last`, both included, inside
    the reduction, the innermost map first.

    In a nest of reductions the maps stay outside of the `left` innermost ones.
    """
    inward = hoist(left)
    return seq(*(seq(nested(n, inward), simplify) for n in reversed(range(first, last + 1))))


def share_chunks(first: int, last: int) -> Strategy:
    """The strategy that moves the maps at the positions `first` to `last`, both included, inside
    all reductions but the innermost."""
    return block(first, last, left=1)
