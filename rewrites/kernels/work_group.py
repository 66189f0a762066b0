"""The work of a work-group: a loop over chunks staged in local memory, and a block of results for
each work-item."""

# key: e term, s strategy, t operand

from collections.abc import Callable
from math import prod

from ir.core.nodes import Expr, Level, Map, Reduce
from ir.core.size import Size
from ir.core.type_rules import type_of
from ir.core.types import Array, Type, Vector, depth, leaves
from rewrites.engine.places import of_array, of_function, of_rest, of_start, of_value
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.stages import stage
from rewrites.engine.strategy import attempt, remembered, seq, skip
from rewrites.kernels.register_block import loop_nest, on_reduction, operand_terms
from rewrites.laws.lets import let_view
from rewrites.laws.lower import copy, share, to_local, to_parallel, to_reduce_seq, to_seq
from rewrites.laws.maps import round_map, split_map
from rewrites.laws.vectors import vectorize_map
from rewrites.laws.views import join_open
from rewrites.nest.labels import labels
from rewrites.nest.named_views import reordered
from rewrites.nest.spine import body, inside

Items = tuple[Size, ...]  # the work-items of a group along each dimension, the innermost first
Staging = Callable[[Expr], Strategy]  # how an operand of a chunk is staged


def spread(levels: tuple[Strategy, ...], reduce: Strategy) -> Strategy:
    """The strategy that lowers the maps of a spine by `levels`, outermost first, and the reduction
    inside by `reduce`."""

    def run(e: Expr) -> Rewritten | None:
        if isinstance(e, Reduce):
            return reduce(e)
        if not isinstance(e, Map) or not levels:
            return skip(e)
        deeper = attempt(body(inside(spread(levels[1:], reduce))))
        operand = attempt(of_array(attempt(on_reduction(reduce))))
        return seq(deeper, operand, levels[0])(e)

    return inside(run)


def work_group(dims: int, staged: Staging) -> Strategy:
    """The strategy that lowers a nest inside a work-group: maps over work-items in `dims`
    dimensions, blocks of results in registers, and sums as loops over chunks; `staged` says for
    each operand how a chunk of it is copied to local memory."""
    return stage(
        "chunks in local memory, blocks in registers", spread(levels(dims), _chunks(dims, staged))
    )


def levels(dims: int) -> tuple[Strategy, ...]:
    """The strategies for maps, outermost first: over work-items in `dims` dimensions, then unrolled
    rows and columns."""
    items = (to_parallel(level=Level.LOCAL, dim=dim) for dim in reversed(range(dims)))
    return (*items, to_seq(unrolled=True), to_seq(unrolled=True))


def _chunks(dims: int, staged: Staging) -> Strategy:
    """The strategy that turns a sum into a loop over chunks; each is staged by `staged` and then
    used by every work-item, in `dims` dimensions of work-items."""

    def run(e: Expr) -> Rewritten | None:
        if not isinstance(e, Reduce):
            return None
        inner = run if isinstance(e.f.body, Reduce) else _staged(dims, staged)
        start = of_start(spread(levels(dims), skip))
        return seq(start, of_function(inner), to_reduce_seq())(e)

    return run


def _staged(dims: int, staged: Staging) -> Strategy:
    """The strategy that stages each array operand of a chunk, then makes a block for every
    work-item; work-items have `dims` dimensions."""

    def run(e: Expr) -> Rewritten | None:
        step: Strategy = spread(levels(dims)[:dims], loop_nest)
        for t in reversed([t for t in operand_terms(e) if isinstance(type_of(t), Array)]):
            held = seq(of_value(staged(t)), of_rest(step))
            step = seq(share(term=t, name="tile"), held, attempt(let_view()))
        return step(e)

    return run


def has_vectors(e: Expr) -> bool:
    """True if the elements of e are vectors, as those of the rows' operand are."""
    return _vectors(type_of(e))


def _vectors(t: Type) -> bool:
    return any(isinstance(leaf, Vector) for leaf in leaves(t))


@remembered
def staging(items: Items, ahead: bool, in_flight: bool = False) -> Strategy:
    """The strategy that copies an operand to local memory, by all the work-items `items` of a
    group; if `ahead`, a chunk is copied while the one before it is used; if `in_flight`, by copies
    that are begun and awaited.

    The items' own dimensions, outermost in the operand, go innermost, so that neighbours in the
    group read neighbours in the tile.
    """

    def run(e: Expr) -> Rewritten | None:
        dims = depth(type_of(e))
        step = copied(items, dims, ahead, in_flight=in_flight)
        for _ in items[1:]:
            step = reordered(labels("items", others=dims - 1), ("others", "items"), step)
        return step(e)

    return run


@remembered
def side_by_side(
    items: Items, ahead: bool, vector: Size | None = None, in_flight: bool = False
) -> Strategy:
    """The strategy that copies an operand to local memory with the sum's dimension outermost: the
    numbers that work-items read at one step of the sum lie side by side. If `ahead`, a chunk is
    copied while the one before it is used; if `in_flight`, by copies that are begun and awaited.

    If `vector` is given, the operand is read in vectors of `vector` steps of the sum, whose
    elements are written to different lines of the copy.
    """

    def run(e: Expr) -> Rewritten | None:
        dims = depth(type_of(e))
        lying, turned = labels(items=dims - 1, steps=1), ("steps", "items")
        if vector is None:
            return reordered(lying, turned, copied(items, dims, ahead, in_flight=in_flight))(e)
        vectors = seq(copy(), vectorize_map(v=vector), inside(in_rounds(items)))
        across = reordered(lying.ordered(*turned), lying.names, flattened(dims, vectors))
        return reordered(lying, turned, seq(across, _kept(ahead, in_flight)))(e)

    return run


def copied(
    items: Items, dims: int, ahead: bool, unrolled: bool = True, in_flight: bool = False
) -> Strategy:
    """The strategy that copies an array of `dims` dimensions to local memory, without changing its
    order, in rounds of all work-items, unrolled or not; if `ahead`, a chunk is copied while the one
    before it is used; if `in_flight`, by copies that are begun and awaited."""
    return flattened(dims, seq(copy(), in_rounds(items, unrolled), _kept(ahead, in_flight)))


def _kept(ahead: bool, in_flight: bool) -> Strategy:
    return to_local(ahead=ahead, in_flight=in_flight) if in_flight else to_local(ahead=ahead)


def flattened(dims: int, s: Strategy) -> Strategy:
    """The strategy that applies s to an array of `dims` dimensions seen as one dimension."""
    if dims == 1:
        return s
    return seq(join_open(), of_array(flattened(dims - 1, s)))


@remembered
def in_rounds(items: Items, unrolled: bool = True) -> Strategy:
    """The strategy that turns a map into a loop of rounds, unrolled or not, each over all
    work-items of a group."""
    threads = prod(items)
    return seq(
        attempt(round_map(k=threads)),
        inside(split_map(k=threads)),
        inside(seq(body(_by_items(items)), to_seq(unrolled=unrolled))),
    )


def _by_items(items: Items) -> Strategy:
    """The strategy that puts a map over all work-items of a group, neighbours in dimension 0."""
    *outer, last = range(len(items))
    here = to_parallel(level=Level.LOCAL, dim=last)
    if not outer:
        return here
    rest = body(_by_items(items[:-1]))
    return seq(split_map(k=prod(items[:-1])), inside(seq(rest, here)))
