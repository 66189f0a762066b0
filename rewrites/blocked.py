"""The family `blocked`: tiles of rows × columns a work-group, staged in local memory in chunks.

Parameters: `lx` × `ly` work-items a group, each with `tr` vectors of `v` rows times `tc` columns in
registers, chunks of `k` steps of the longest reduction, and `s` steps a part where it is split.
"""

# key: e term, s strategy, n position in the nest

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from ir.nat import Size, named
from ir.nodes import Expr, Level, Reduce
from ir.types import Array, Type, Vector, leaves
from ir.typing import type_of
from rewrites.apart import in_parts
from rewrites.block import (
    longest_inside,
    loop_nest,
    on_reduction,
    operand_terms,
    parallel,
    split_innermost,
)
from rewrites.dims import Dims, Refused, classify, shared_by_groups
from rewrites.hoist import block, share_chunks
from rewrites.laws_let import let_view
from rewrites.laws_lower import copy, share, to_local, to_parallel, to_reduce_seq, to_seq
from rewrites.laws_map import round_map, split_map
from rewrites.laws_reduce import partial_reduce
from rewrites.laws_vector import vectorize_map
from rewrites.laws_view import join_open, transpose_inner
from rewrites.naive import wherever
from rewrites.normal import normalise
from rewrites.prepare import Choices, prepare
from rewrites.reshape import merge, on_map, rounded, sort
from rewrites.room import room
from rewrites.rule import Rewritten, Strategy
from rewrites.shape import depth
from rewrites.spine import body, inside, store_operands
from rewrites.spread import spread
from rewrites.strategy import attempt, child, seq, skip

LX, LY, TR, TC, V, K, S = map(named, ("lx", "ly", "tr", "tc", "v", "k", "s"))


@dataclass(frozen=True, slots=True)
class Blocked:
    """What distinguishes the lowered forms of the family; numbers are parameters instead."""

    choices: Choices
    split: bool = False  # the reduction in parts, summed by a second kernel
    ahead: bool = False  # the next chunk is loaded while this one is used
    flipped: bool = False  # rows and columns change roles
    along: bool = False  # columns are loaded along the reduction, in vectors
    by_rows: bool = False  # a product of its own for each index of the outer columns


def blocked(params: frozenset[str], form: Blocked) -> Strategy:
    """Lower every kernel of a program this way."""
    return seq(
        normalise,
        store_operands(params),
        prepare(params, form.choices),
        in_parts(partial_reduce(k=S)) if form.split else skip,
        wherever(partial(kernel, params, form)),
        shared_by_groups,
    )


def kernel(params: frozenset[str], form: Blocked, e: Expr) -> Rewritten | None:
    """One kernel, its rows and columns found by what reaches its operands."""
    dims = classify(e)
    if form.by_rows:
        dims = Dims((*dims.batch, *dims.columns[:-1]), dims.rows, dims.columns[-1:])
    if form.flipped:
        dims = Dims(dims.batch, dims.columns, dims.rows)
    return in_tiles(params, form, dims)(e)


def in_tiles(params: frozenset[str], form: Blocked, dims: Dims) -> Strategy:
    """A kernel whose rows and columns are these."""
    if not dims.rows or not dims.columns:
        raise Refused("no operand is shared between results: nothing to stage in local memory")
    return seq(*_steps(params, form, dims))


def _steps(params: frozenset[str], form: Blocked, dims: Dims) -> list[Strategy]:
    order = [*dims.batch, *dims.columns, *dims.rows]
    c = len(dims.batch)  # the columns' position, then the rows' at c + 1
    steps: list[Strategy] = [sort(order)]
    steps += [merge(c) for _ in dims.columns[1:]]
    steps += [merge(c + 1) for _ in dims.rows[1:]]
    steps += [
        on_map(c + 1, seq(rounded(LX * TR * V), inside(vectorize_map(v=V)))),
        on_map(c + 1, split_map(k=LX * TR)),
        on_map(c + 2, split_map(k=LX)),
        on_map(c, seq(rounded(LY * TC), inside(split_map(k=LY * TC)))),
        on_map(c + 1, split_map(k=LY)),
    ]
    if form.choices.room:
        steps.append(room(params))
    # batch…, column tile, column block, column item, row tile, row block, row item
    steps.append(sort([*range(c), c, c + 3, c + 2, c + 5, c + 1, c + 4]))
    steps += [
        on_reduction(longest_inside),
        split_innermost(K),
        block(c + 4, c + 5),
        share_chunks(c + 2, c + 3),
    ]
    steps += [merge(0) for _ in range(c + 2 - 3)]
    groups = min(3, c + 2)
    steps.append(parallel(groups, Level.GROUP, work_group(partial(_stage, form))))
    return steps


LEVELS: tuple[Strategy, ...] = (
    to_parallel(level=Level.LOCAL, dim=1),
    to_parallel(level=Level.LOCAL, dim=0),
    to_seq(unrolled=True),
    to_seq(unrolled=True),
)


Staging = Callable[[Expr], Strategy]  # how an operand of a chunk is staged


def work_group(stage: Staging) -> Strategy:
    """What a work-group does: a loop over chunks, then the results written."""
    return spread(LEVELS, _chunks(stage))


def _chunks(stage: Staging) -> Strategy:
    """A loop over chunks: stage the operands, then every work-item its block."""

    def run(e: Expr) -> Rewritten | None:
        if not isinstance(e, Reduce):
            return None
        inner = run if isinstance(e.f.body, Reduce) else _staged(stage)
        return seq(child(0, spread(LEVELS, skip)), child(1, child(0, inner)), to_reduce_seq())(e)

    return run


def _staged(stage: Staging) -> Strategy:
    """Each array operand of a chunk staged, then a block for every work-item."""

    def run(e: Expr) -> Rewritten | None:
        step: Strategy = spread(LEVELS[:2], loop_nest)
        for t in reversed([t for t in operand_terms(e) if isinstance(type_of(t), Array)]):
            held = seq(child(0, stage(t)), child(1, step))
            step = seq(share(term=t, name="tile"), held, attempt(let_view()))
        return step(e)

    return run


def _stage(form: Blocked, t: Expr) -> Strategy:
    return staging(form.ahead, form.along and not has_vectors(t))


def has_vectors(e: Expr) -> bool:
    """Whether e holds vectors, as the rows' operand does."""
    return _vectors(type_of(e))


def _vectors(t: Type) -> bool:
    return any(isinstance(leaf, Vector) for leaf in leaves(t))


def staging(ahead: bool, along: bool) -> Strategy:
    """view  =  views . toLocal . (copied by all work-items of the group) . views

    The item's own dimension, outermost in the operand, goes innermost, so that neighbours in the
    group read neighbours in the tile.
    """

    def run(e: Expr) -> Rewritten | None:
        dims = depth(type_of(e))
        step = _stage_along(dims, ahead) if along else _stage_together(dims, ahead)
        for level in reversed(range(dims - 1 - along)):
            step = seq(transpose_inner(level=level), child(_of(level), step))
        return step(e)

    return run


def _of(level: int) -> int:
    """Which child a transposition at a level is of."""
    return 1 if level else 0


def _stage_together(dims: int, ahead: bool) -> Strategy:
    """Copied in the order of the tile."""
    return flattened(dims, seq(copy(), in_rounds, to_local(ahead=ahead)))


def _stage_along(dims: int, ahead: bool) -> Strategy:
    """Copied in vectors along the innermost dimension, and so written across the tile."""
    level = dims - 2
    vectors = flattened(dims, seq(copy(), vectorize_map(v=V), inside(in_rounds)))
    inner = seq(child(_of(level), vectors), to_local(ahead=ahead))
    return seq(transpose_inner(level=level), child(_of(level), inner))


def flattened(dims: int, s: Strategy) -> Strategy:
    """s on the array seen as one dimension."""
    if dims == 1:
        return s
    return seq(join_open(), child(0, flattened(dims - 1, s)))


def in_rounds(e: Expr) -> Rewritten | None:
    """A map over as many rounds of all work-items as it takes."""
    threads: Size = LX * LY
    return seq(
        attempt(round_map(k=threads)),
        inside(split_map(k=threads)),
        inside(seq(body(seq(split_map(k=LX), inside(_items))), to_seq(unrolled=True))),
    )(e)


def _items(e: Expr) -> Rewritten | None:
    return seq(body(to_parallel(level=Level.LOCAL, dim=0)), to_parallel(level=Level.LOCAL, dim=1))(
        e
    )
