"""Strategies that move an epilogue out of a map of sums: map^n (f . reduce) becomes map^n f . map^n
reduce."""

# key: e term, s strategy, n maps

from ir.core.nodes import Expr, Map
from rewrites.analysis.kernel_terms import has_reduction
from rewrites.engine.places import OF_FUNCTION, of_made
from rewrites.engine.refused import Refused
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.stages import stage
from rewrites.engine.strategy import at, attempt, seq, skip
from rewrites.laws.lower import store
from rewrites.laws.reductions import release_init
from rewrites.nest.blocks_of_results import place_of_reduction
from rewrites.nest.named_nest import standing
from rewrites.nest.spine import inside, nest
from rewrites.transforms.tile_transforms import before, made, on_made


def sums_apart(n: int) -> Strategy:
    """The strategy that turns map^n (f . reduce) into map^n f of map^n (reduce from 0)."""
    maps = standing(outer=n - 1, innermost=1)
    apart = maps.at("innermost", seq(_from_zero, _innermost)).at_each("outer", _around)
    return stage("sums apart from what is done to them", apart)


def _from_zero(e: Expr) -> Rewritten | None:
    assert isinstance(e, Map)
    place = place_of_reduction(e.f.body)
    return None if place is None else attempt(at(OF_FUNCTION + place, release_init()))(e)


def _innermost(e: Expr) -> Rewritten | None:
    assert isinstance(e, Map)
    place = place_of_reduction(e.f.body)
    return skip(e) if place in (None, ()) else before(place)(e)


def _around(e: Expr) -> Rewritten | None:
    if not isinstance(e, Map):  # a view of the map inside came out of it, and stands between them
        return None
    inner = e.f.body
    done = isinstance(inner, Map) and not has_reduction(inner.f.body)
    return before(made(inner))(e) if done else skip(e)


def on_sums(s: Strategy) -> Strategy:
    """The strategy that applies s to a nest of sums; if it has an epilogue, the sums are stored
    first, and s is applied to the kernel that makes them."""

    def run(e: Expr) -> Rewritten | None:
        assert isinstance(e, Map)
        if has_reduction(e.f.body):
            return s(e)
        return on_made(seq(stage("sums stored", store()), of_made(s)))(e)

    return inside(run)


def or_apart(s: Strategy) -> Strategy:
    """The strategy that applies s, or, where s refuses, applies s to the sums alone and leaves
    their epilogue to a kernel of its own."""

    def run(e: Expr) -> Rewritten | None:
        try:
            return s(e)
        except Refused:
            n = len(nest(e))
            apart = sums_apart(n)(e) if n else None
            if apart is None or apart[0] == e:
                raise
        return seq(sums_apart(n), on_sums(s))(e)

    return run
