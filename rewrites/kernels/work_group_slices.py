"""Slices of a work-group: each makes a part of every sum, and the parts meet in local memory."""

# key: e term, s strategy, p slices, k steps

from collections.abc import Sequence
from functools import partial

from ir.core.nodes import Expr, Reduce, Zip
from ir.core.size import Size, exact
from ir.core.type_rules import size_of
from ir.instructions.entry import Entry
from rewrites.engine.places import of_array, of_value
from rewrites.engine.refused import Refused, shown
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.stages import stage
from rewrites.engine.strategy import attempt, seq, skip
from rewrites.kernels.register_block import longest_inside, loop_nest, on_reduction, split_innermost
from rewrites.kernels.split_reduction import on_parts
from rewrites.kernels.sums_by_instruction import FUSED, sum_of_parts
from rewrites.kernels.work_group import Staging, levels, spread, work_group
from rewrites.laws.lets import let_view
from rewrites.laws.lower import copy_deep, share, to_local, to_seq
from rewrites.laws.maps import unit_map
from rewrites.laws.reductions import partial_reduce
from rewrites.nest.labels import labels
from rewrites.nest.named_nest import standing
from rewrites.nest.named_views import reordered
from rewrites.nest.normal_form import perfect, simplify
from rewrites.nest.spine import body, inside, nest
from rewrites.number_laws.instructions import lanes_open

COUNTS = (2, 3, 4, 5, 7, 8, 11, 13)  # slices that are tried: some part of most sums


def in_slices(p: Size) -> Strategy:
    """The strategy that turns a sum into p partial sums; it refuses sums that no number of slices
    divides."""

    def run(e: Expr) -> Rewritten | None:
        if not isinstance(e, Reduce):
            return None
        n = size_of(e.xs)
        if isinstance(n, int) and all(n % count for count in COUNTS):
            raise Refused(
                f"expected a sum that falls into {' or '.join(map(str, COUNTS))} equal parts, "
                f"found {n} steps"
            )
        done = partial_reduce(k=exact(n, p))(e)
        if done is None:
            raise Refused(f"expected a fold, whose sum can be taken in parts; found {shown(e)}")
        return done

    return run


def slices(staged: Staging, k: Size) -> Strategy:
    """The strategy in which every slice of a group makes its part of the block, by chunks of k
    steps; `staged` copies these to local memory. Then the sums are completed, column by column."""
    parts = (
        standing("column block", "column items", "row items", "row block", "parts")
        .order("parts", "column items", "row items", "column block", "row block")
        .then(on_reduction(longest_inside), split_innermost(k))
        .into_sum("column block", "row block")
        .around_chunks("parts", "column items", "row items")
    )
    made = seq(perfect, simplify, parts, work_group(3, staged))
    return seq(
        stage("a part of each sum by every slice", on_parts(made)),
        stage("parts meet in local memory", inside(body(_together))),
        stage("sums completed", spread(RESULTS, loop_nest)),
    )


def slices_in_lanes(entry: Entry, tile: Sequence[str], made: Strategy) -> Strategy:
    """The strategy in which every slice of a work-group makes its parts of tiles of sums by the
    strategy `made`, in the lanes of its sub-groups; then the first slice adds the parts, one block
    of columns after another. A tile is a result of the instruction `entry`; `tile` names its
    dimensions."""
    together = partial(_lanes_together, entry, tile)
    tiles = seq(body(inside(sum_of_parts)), BLOCK)
    by_one = seq(unit_map(), inside(seq(body(inside(tiles)), SLICES)))
    rows = seq(body(inside(by_one)), COLUMNS)
    completed = seq(body(inside(seq(attempt(FUSED), simplify, rows))), BLOCK)
    return seq(
        stage("a part of each sum by every slice", on_parts(made)),
        stage("parts meet in local memory", inside(body(together))),
        stage("sums completed, in lanes", inside(completed)),
    )


SLICES, COLUMNS, ROWS = levels(3)[:3]
BLOCK = to_seq(unrolled=True)
RESULTS = (BLOCK, COLUMNS, ROWS, BLOCK)  # column block, column items, row items, row block
PARTS = (SLICES, BLOCK, COLUMNS, ROWS)  # parts, row block, column items, row items
IN_LANES = (COLUMNS, BLOCK, SLICES, ROWS)  # row items, row block, parts, lanes


def _parts(e: Expr) -> Expr:
    """The partial sums over which the nest of maps e goes."""
    xs = nest(e)[0].xs
    return xs.parts[-1] if isinstance(xs, Zip) else xs


def _together(e: Expr) -> Rewritten | None:
    """The partial sums e of a column copied to local memory, where each work-item finds the parts
    of its own results."""
    column = labels("column items", "row items", "row block", "parts")
    copied = seq(copy_deep(), spread(PARTS, skip), to_local())
    made = reordered(column, ("parts", "row block", "column items", "row items"), copied)
    return seq(share(term=_parts(e), name="parts"), of_value(made), attempt(let_view()))(e)


def _lanes_together(entry: Entry, tile: Sequence[str], e: Expr) -> Rewritten | None:
    """The nest of maps e over the partial sums of a block of columns, with these sums copied to
    local memory in the order in which lanes hold results of the instruction `entry`. So each lane
    finds all parts of its own results. `tile` names the dimensions of such a result."""
    column = labels("row items", "row block", *tile, "parts")
    copied = seq(copy_deep(), spread(IN_LANES, skip), to_local())
    held = seq(lanes_open(name=entry.name, level=3), of_array(copied))
    made = reordered(column, ("row items", "row block", "parts", *tile), held)
    return seq(share(term=_parts(e), name="parts"), of_value(made), attempt(let_view()))(e)
