"""Taking a reduction in two: partial results made by a nest of their own, then completed."""

# key: e term, s strategy, n position in the nest

from ir.core.nodes import Expr, Map, Reduce, Zip
from rewrites.engine.refused import Refused
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.strategy import child, seq
from rewrites.kernels.register_block import longest_outside, on_reduction
from rewrites.laws.lower import store
from rewrites.laws.maps import fission
from rewrites.nest.blocks_of_results import place_of_reduction
from rewrites.nest.spine import inside, nest, nested, strip


def in_parts(partial: Strategy) -> Strategy:
    """Partial results of the longest reduction are stored by a kernel of their own, then summed."""

    def run(e: Expr) -> Rewritten | None:
        n = len(nest(e))
        done = seq(made_apart(n, 0, partial), on_parts(store()))(e)
        if done is None:
            raise Refused("the last kernel has no sum to be taken in parts")
        return done

    return run


def made_apart(n: int, first: int, partial: Strategy) -> Strategy:
    """Under n maps, `partial` splits the reduction; its parts leave the maps from `first` on."""
    split = seq(on_reduction(longest_outside), on_reduction(partial))
    return seq(nested(n, split), *(nested(i, apart) for i in reversed(range(first, n))))


def apart(e: Expr) -> Rewritten | None:
    """The map of partial results leaves the map around it."""
    if not isinstance(e, Map):
        return None
    inner = strip(e.f.body)
    if isinstance(inner, Map):
        return fission(place=(1, 1) if isinstance(inner.xs, Zip) else (1,))(e)
    place = place_of_reduction(e.f.body)
    return None if place is None else fission(place=(*place, 2))(e)


def on_parts(s: Strategy) -> Strategy:
    """s on the nest that makes the partial results, which the spine's first map goes over, or the
    sum itself where there is no map."""

    def run(e: Expr) -> Rewritten | None:
        if isinstance(e, Reduce):
            return child(2, s)(e)
        if not isinstance(e, Map):
            return None
        return child(1, child(1, s) if isinstance(e.xs, Zip) else s)(e)

    return inside(run)
