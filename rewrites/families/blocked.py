"""The family `blocked`: tiles of rows × columns a work-group, staged in local memory in chunks.

Parameters: `lx` × `ly` work-items a group, each with `tr` vectors of `v` rows times `tc` columns in
registers, chunks of `k` steps of the longest reduction, and `s` steps a part where it is split;
`p` slices of work-items, each for a part of the reduction of its own.
"""

# key: e term, s strategy, n position in the nest

from dataclasses import dataclass
from functools import partial

from ir.core.nodes import Expr, Level
from ir.core.size import Size, named
from ir.core.type_rules import size_of, type_of
from rewrites.engine.refused import Refused
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.strategy import seq, skip
from rewrites.kernels.each_kernel import wherever
from rewrites.kernels.register_block import longest_inside, on_reduction, parallel, split_innermost
from rewrites.kernels.split_reduction import in_parts, made_apart
from rewrites.kernels.work_group import Items, has_vectors, side_by_side, staging, work_group
from rewrites.kernels.work_group_slices import in_slices, slices
from rewrites.laws.maps import split_map
from rewrites.laws.reductions import partial_reduce
from rewrites.laws.vectors import vectorize_map
from rewrites.nest.blocks_of_results import block, share_chunks
from rewrites.nest.dimensions import Dims, shared_by_groups, sided
from rewrites.nest.normal_form import normalise
from rewrites.nest.reshape import beside_one, merge, on_map, rounded, sort
from rewrites.nest.spine import inside, nest
from rewrites.storing.constant_panels import shape
from rewrites.storing.one_reduction_each import one_each
from rewrites.storing.padding_for_tiles import room
from rewrites.storing.stored_views import Choices, prepare

LX, LY, TR, TC, V, K, S, P = map(named, ("lx", "ly", "tr", "tc", "v", "k", "s", "p"))


@dataclass(frozen=True, slots=True)
class Blocked:
    """What distinguishes the lowered forms of the family; numbers are parameters instead."""

    choices: Choices
    split: bool = False  # the reduction in parts, summed by a second kernel
    ahead: bool = False  # the next chunk is loaded while this one is used
    sliced: bool = False  # the reduction in parts, one for each slice of a work-group
    along: bool = False  # columns are loaded along the reduction, in vectors
    own: int = 0  # so many outer columns (-1: all but the last) have products of their own


def blocked(params: frozenset[str], form: Blocked) -> Strategy:
    """Lower every kernel of a program this way."""
    return seq(
        one_each(params, normalise),
        prepare(params, form.choices),
        in_parts(partial_reduce(k=S)) if form.split else skip,
        wherever(partial(kernel, params, form)),
        shared_by_groups,
    )


def kernel(params: frozenset[str], form: Blocked, e: Expr) -> Rewritten | None:
    """One kernel, its rows and columns found by what reaches its operands."""
    dims = sided(e)
    if form.own and len(dims.columns) < 2:
        raise Refused(
            "results have one column: no outer ones that could have products of their own"
        )
    outer, columns = dims.columns[: form.own], dims.columns[form.own :]
    dims = Dims((*dims.batch, *outer), dims.rows, columns)
    if form.choices.flipped:
        dims = Dims(dims.batch, dims.columns, dims.rows)
    return in_tiles(params, form, dims)(e)


def in_tiles(params: frozenset[str], form: Blocked, dims: Dims) -> Strategy:
    """A kernel whose rows and columns are these; a side that is missing has one element."""
    if not dims.rows and not dims.columns:
        raise Refused("each result has operands of its own: there is nothing for a group to share")
    if dims.rows and dims.columns:
        return partial(_in_tiles, params, form, dims)
    return seq(beside_one, partial(_in_tiles, params, form, dims.beside_one()))


@dataclass(frozen=True, slots=True)
class Side:
    """What a group makes of rows or columns: work-items, vectors an item, lanes of a vector."""

    items: Size
    each: Size
    lanes: Size = 1

    @property
    def all(self) -> Size:
        """How many rows or columns these are."""
        return self.items * self.each * self.lanes


ROWS, COLUMNS, ONE = Side(LX, TR, V), Side(LY, TC), Side(1, 1)


def _in_tiles(params: frozenset[str], form: Blocked, dims: Dims, e: Expr) -> Rewritten | None:
    lengths = [size_of(m.xs) for m in nest(e)]
    rows = ROWS if any(lengths[d] != 1 for d in dims.rows) else ONE
    columns = COLUMNS if any(lengths[d] != 1 for d in dims.columns) else ONE
    if form.along and columns is ONE:
        raise Refused("there is one column: it is loaded along the reduction as it is")
    return seq(*_steps(params, form, dims, rows, columns))(e)


def _steps(
    params: frozenset[str], form: Blocked, dims: Dims, rows: Side, columns: Side
) -> list[Strategy]:
    order = [*dims.batch, *dims.columns, *dims.rows]
    c = len(dims.batch)  # the columns' position, then the rows' at c + 1
    steps: list[Strategy] = [sort(order)]
    steps += [merge(c) for _ in dims.columns[1:]]
    steps += [merge(c + 1) for _ in dims.rows[1:]]
    steps += [
        on_map(c + 1, _vectors(rows)),
        on_map(c + 1, split_map(k=rows.items * rows.each)),
        on_map(c + 2, split_map(k=rows.items)),
        on_map(c, seq(rounded(columns.all), inside(split_map(k=columns.all)))),
        on_map(c + 1, split_map(k=columns.each)),
    ]
    if form.choices.room:
        steps.append(room(params))
    # batch…, column tile, column item, column block, row tile, row block, row item
    steps.append(sort([*range(c), c, c + 3, *(c + i for i in (SLICED if form.sliced else WHOLE))]))
    if form.sliced:
        steps.append(made_apart(c + 6, c + 2, in_slices(P)))
    else:
        steps += [on_reduction(longest_inside), split_innermost(K)]
        steps += [block(c + 4, c + 5), share_chunks(c + 2, c + 3)]
    steps += [merge(0) for _ in range(c + 2 - 3)]
    items = (rows.items, columns.items)
    stage = partial(_stage, form, (*items, P) if form.sliced else items)
    inner = slices(stage, K) if form.sliced else work_group(2, stage)
    steps.append(parallel(min(3, c + 2), Level.GROUP, inner))
    return steps


def _vectors(rows: Side) -> Strategy:
    """Rows in vectors, rounded up to a multiple of a group's."""
    return seq(rounded(rows.all), skip if rows is ONE else inside(vectorize_map(v=rows.lanes)))


# What follows the tiles: column item, row item, column block, row block; the column block first
# where sums are completed one of its columns at a time.
WHOLE, SLICED = (1, 5, 2, 4), (2, 1, 5, 4)


def _stage(form: Blocked, items: Items, t: Expr) -> Strategy:
    if has_vectors(t):
        return staging(items, form.ahead)
    several_lines = any(n != 1 for n in shape(type_of(t))[:-1])
    return side_by_side(items, form.ahead, V if form.along and several_lines else None)
