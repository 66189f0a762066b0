"""A reduction as two: partial results are made by a nest of their own, and a second reduction
completes them."""

# key: e term, s strategy

from collections.abc import Sequence

from ir.core.nodes import Expr, Map, Reduce, Zip
from rewrites.engine.places import HERE, OF_ARRAY, OF_SUMMED, of_array, part
from rewrites.engine.refused import Refused
from rewrites.engine.rule import Place, Rewritten, Strategy
from rewrites.engine.stages import stage
from rewrites.engine.strategy import at, seq
from rewrites.kernels.register_block import longest_outside, on_reduction
from rewrites.laws.lower import store
from rewrites.laws.maps import fission
from rewrites.nest.blocks_of_results import place_of_reduction
from rewrites.nest.named_nest import Nest, standing
from rewrites.nest.spine import inside, nest, strip


def in_parts(partial: Strategy) -> Strategy:
    """The strategy that makes two kernels of one: the first stores partial results of the longest
    reduction, which the strategy `partial` makes, and the second sums them. Refused if `partial`
    makes no partial results."""

    def run(e: Expr) -> Rewritten | None:
        results = standing(results=len(nest(e)))
        stored = stage("parts stored", on_parts(store()))
        done = seq(made_apart(results, (), partial), stored)(e)
        if done is None:
            raise Refused("expected a sum that can be made in parts, found none in the last kernel")
        return done

    return run


def made_apart(maps: Nest, around: Sequence[str], partial: Strategy) -> Nest:
    """The nest with its reduction split by the strategy `partial`, and the partial results made
    before all of its maps but the outermost ones, which have the names `around`."""
    parts = maps.inside(seq(on_reduction(longest_outside), on_reduction(partial)))
    for name in reversed(maps.labels.names[len(around) :]):
        parts = parts.at_each(name, apart)
    return parts.told("sums in parts", since=maps)


def apart(e: Expr) -> Rewritten | None:
    """The map e after the partial results that its body sums up have been moved out of it: a map
    before e makes them. None if e is no map, or its body has no reduction."""
    if not isinstance(e, Map):
        return None
    inner = strip(e.f.body)
    if isinstance(inner, Map):
        return fission(place=OF_ARRAY + _parts(inner.xs))(e)
    place = place_of_reduction(e.f.body)
    return None if place is None else fission(place=place + OF_SUMMED)(e)


def _parts(xs: Expr) -> Place:
    """The place of the partial results in xs, the array that a map of sums goes over: the second
    part if xs is a zip, else xs itself."""
    return part(1) if isinstance(xs, Zip) else HERE


def on_parts(s: Strategy) -> Strategy:
    """The strategy that applies s to the nest that makes partial results: the array that the
    spine's first map goes over, or the second part of that if it is a zip.

    Where there is no map, s is applied to what the sum goes over.
    """

    def run(e: Expr) -> Rewritten | None:
        if not isinstance(e, Map | Reduce):
            return None
        beside = _parts(e.xs) if isinstance(e, Map) else HERE
        return of_array(at(beside, s))(e)

    return inside(run)
