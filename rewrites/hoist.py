"""Turning a map of reductions into one reduction of blocks: what makes register blocks."""

# key: e term, s strategy, n position in the nest

from ir.nodes import Expr, Map, Reduce
from ir.terms import children
from rewrites.laws_map import fission
from rewrites.laws_reduce import interchange_map_reduce
from rewrites.normal import simplify
from rewrites.rule import Place, Rewritten, Strategy
from rewrites.spine import nested
from rewrites.strategy import attempt, child, choice, seq, when


def place_of_reduction(e: Expr) -> Place | None:
    """Where the outermost reduction of e stands."""
    if isinstance(e, Reduce):
        return ()
    for i, c in enumerate(children(e)):
        inner = place_of_reduction(c)
        if inner is not None:
            return (i, *inner)
    return None


def hoist(e: Expr) -> Rewritten | None:
    """map (x -> f (reduce …))  becomes  map f . reduce of arrays."""
    if not isinstance(e, Map):
        return None
    place = place_of_reduction(e.f.body)
    if place is None:
        return None
    if place == ():
        return seq(interchange_map_reduce(), attempt(child(1, child(0, deeper))))(e)
    return seq(fission(place=place), choice(child(1, hoist), child(1, child(1, hoist))))(e)


def deeper(e: Expr) -> Rewritten | None:
    """The same inside a nest of reductions."""
    return when(lambda m: isinstance(m, Map) and isinstance(m.f.body, Reduce), hoist)(e)


def hoist_chunks(e: Expr) -> Rewritten | None:
    """As `hoist`, but the innermost reduction stays inside the map."""
    if not isinstance(e, Map):
        return None
    place = place_of_reduction(e.f.body)
    if place is None:
        return None
    if place == ():
        return seq(interchange_map_reduce(), attempt(child(1, child(0, _chunks_deeper))))(e)
    below = choice(child(1, hoist_chunks), child(1, child(1, hoist_chunks)))
    return seq(fission(place=place), below)(e)


def _chunks_deeper(e: Expr) -> Rewritten | None:
    if not isinstance(e, Map) or not isinstance(e.f.body, Reduce):
        return None
    return hoist_chunks(e) if place_of_reduction(e.f.body.f.body) is not None else None


def share_chunks(first: int, last: int) -> Strategy:
    """The maps from `first` to `last` go inside all reductions but the innermost."""
    return seq(*(seq(nested(n, hoist_chunks), simplify) for n in reversed(range(first, last + 1))))


def block(first: int, last: int) -> Strategy:
    """The maps from position `first` to `last` go inside the reduction, innermost first."""
    return seq(*(seq(nested(n, hoist), simplify) for n in reversed(range(first, last + 1))))
