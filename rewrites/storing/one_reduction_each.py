"""One reduction for each kernel: the other sums of a nest are made by kernels of their own, and
stored.

A nest may hold several reductions side by side (a mean and a maximum, two convolutions that are
added), arrays of sums under a name, and reductions that are the same for all elements of some map.
Each but one is stored by a kernel before, over the maps that it depends on and no others.
"""

# key: e term, s strategy, p place

from collections.abc import Iterator, Sequence
from functools import partial

from ir.core.nodes import Expr, Let, Map, Reduce, Store
from ir.core.terms import children, free
from ir.core.views import is_view
from rewrites.analysis.kernel_terms import has_reduction
from rewrites.analysis.out_views import is_out_view
from rewrites.engine.places import (
    HERE,
    OF_ARRAY,
    OF_FUNCTION,
    OF_REST,
    OF_START,
    OF_SUMMED,
    OF_VALUE,
    array_of,
    part,
)
from rewrites.engine.rule import Place, Rewritten, Strategy, get
from rewrites.engine.stages import stage
from rewrites.engine.strategy import at, remembered, repeat, seq
from rewrites.kernels.register_block import trips, weight
from rewrites.laws.lower import store
from rewrites.laws.reductions import release_init
from rewrites.nest.captures_as_operands import carried
from rewrites.nest.dimensions import depends
from rewrites.nest.spine import is_computed, kernels, nest, store_operands, strip
from rewrites.storing.view_out_of_maps import stored_at


@remembered
def one_each(params: frozenset[str], form: Strategy) -> Strategy:
    """The strategy that makes kernels with one reduction each, in the normal form that the strategy
    `form` makes. The function of each reduction uses nothing but the reduction's operands. `params`
    are the names of the program's parameters."""
    captured = stage("what sums take from around them as operands", kernels(carried))
    return seq(separate(params, form), captured)


@remembered
def separate(params: frozenset[str], form: Strategy) -> Strategy:
    """The strategy that makes kernels with one reduction each, in the normal form that the strategy
    `form` makes. Where a kernel has several, earlier kernels make and store all but one. `params`
    are the names of the program's parameters."""
    normal = stage("normal form: maps around sums", form)
    operands = stage("operands of sums stored", store_operands(params))
    tidied = kernels(form)
    earlier = seq(kernels(partial(_earlier, params)), tidied)
    return seq(normal, operands, stage("other sums stored", seq(tidied, repeat(earlier))))


def _earlier(params: frozenset[str], e: Expr) -> Rewritten:
    """The term e after one of its reductions, or arrays of them, is stored, so that a kernel before
    that of e makes it; e unchanged where none can be. `params` are the names of the program's
    parameters."""
    made = (_made_at(params, place)(e) for place in _spare(e))
    return next((done for done in made if done is not None), (e, ()))


def _made_at(params: frozenset[str], place: Place) -> Strategy:
    """The strategy that stores the term at `place`. A sum whose initial value uses variables is
    stored without that value; it is added to what is read of the store. `params` are the names of
    the program's parameters."""

    def run(e: Expr) -> Rewritten | None:
        term = get(e, place)
        released = isinstance(term, Reduce) and free(term.init) and at(place, release_init())(e)
        if not released:
            return stored_at(params, place, lambda _: store())(e)
        done = stored_at(params, place + OF_START, lambda _: store())(released[0])
        return done and (done[0], released[1] + done[1])

    return run


def _spare(e: Expr) -> Iterator[Place]:
    """The places of terms of e that an earlier kernel could make: arrays first, then sums, those
    with least work first."""
    core, found = _walk(e)
    yield from found
    maps, inner = nest(e), get(e, core)
    sums = [p for p in _made(inner) if isinstance(get(inner, p), Reduce)]
    reach = {p: len(_reach(maps, get(inner, p))) for p in sums}
    sums.sort(key=lambda p: (reach[p], _work(get(inner, p))))
    for p in sums:
        if p != sums[-1] or reach[p] < len(maps):
            yield core + p
        yield from (core + p + q for q in _operands(get(inner, p)))


def _reach(maps: Sequence[Map], r: Expr) -> frozenset[int]:
    """The positions of those `maps` whose elements the steps of the reduction r depend on."""
    assert isinstance(r, Reduce)
    return depends(maps, r.xs) | depends(maps, r.f)


def _walk(e: Expr) -> tuple[Place, list[Place]]:
    """The place where the maps on the spine of e end, and the places of sums in the arrays that the
    maps go over."""
    place = HERE
    found: list[Place] = []
    while True:
        here = get(e, place)
        match here:
            case Let(_, value, rest) if isinstance(strip(rest), Map) or has_reduction(rest):
                found += [place + OF_VALUE] * (not is_view(value) and has_reduction(here))
                place = place + OF_REST
            case Map(_, xs) if not is_out_view(here):
                found += [place + OF_ARRAY + p for p in _made(xs)]
                place = place + OF_FUNCTION
            case _ if is_out_view(here):
                place = place + array_of(here)
            case _:
                return place, found


def _made(e: Expr) -> list[Place]:
    """The places of the outermost sums of e, or of the arrays made of them."""
    if isinstance(e, Store) or not has_reduction(e):
        return []
    if is_computed(e):
        return [HERE]
    return [part(i) + p for i, c in enumerate(children(e)) for p in _made(c)]


def _operands(r: Expr) -> list[Place]:
    """The places of arrays of sums that the reduction r goes over."""
    assert isinstance(r, Reduce)
    return [OF_SUMMED + p for p in _made(r.xs)]


def _work(r: Expr) -> int:
    """The number of steps that the reduction r takes."""
    total = 1
    for n in trips(r):
        total *= weight(n)
    return total
