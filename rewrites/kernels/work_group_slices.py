"""Slices of a work-group: each makes a part of every sum, and the parts meet in local memory."""

# key: e term, s strategy, p slices, k steps

from ir.core.nodes import Expr, Reduce, Zip
from ir.core.size import Size, exact
from ir.core.type_rules import size_of
from rewrites.engine.places import of_value
from rewrites.engine.refused import Refused, shown
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.stages import stage
from rewrites.engine.strategy import attempt, seq, skip
from rewrites.kernels.over_work_items import spread
from rewrites.kernels.register_block import longest_inside, loop_nest, on_reduction, split_innermost
from rewrites.kernels.split_reduction import on_parts
from rewrites.kernels.work_group import Staging, levels, work_group
from rewrites.laws.lets import let_view
from rewrites.laws.lower import copy_deep, share, to_local, to_seq
from rewrites.laws.reductions import partial_reduce
from rewrites.nest.labels import labels
from rewrites.nest.named_nest import standing
from rewrites.nest.named_views import reordered
from rewrites.nest.normal_form import perfect, simplify
from rewrites.nest.spine import body, inside, nest

COUNTS = (2, 3, 4, 5, 7, 8, 11, 13)  # slices that are tried: some part of most sums


def in_slices(p: Size) -> Strategy:
    """The strategy that makes a sum p partial sums; it refuses sums that no number of slices
    divides."""

    def run(e: Expr) -> Rewritten | None:
        if not isinstance(e, Reduce):
            return None
        n = size_of(e.xs)
        if isinstance(n, int) and all(n % count for count in COUNTS):
            raise Refused(
                f"expected a sum of {' or '.join(map(str, COUNTS))} equal parts, found {n} steps"
            )
        done = partial_reduce(k=exact(n, p))(e)
        if done is None:
            raise Refused(f"expected a fold, whose sum can be taken in parts; found {shown(e)}")
        return done

    return run


def slices(staged: Staging, k: Size) -> Strategy:
    """The strategy in which every slice of a group makes its part of the block, then the sums are
    completed by columns."""
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


SLICES, COLUMNS, ROWS = levels(3)[:3]
BLOCK = to_seq(unrolled=True)
RESULTS = (BLOCK, COLUMNS, ROWS, BLOCK)  # column block, column items, row items, row block
PARTS = (SLICES, BLOCK, COLUMNS, ROWS)  # parts, row block, column items, row items


def _together(e: Expr) -> Rewritten | None:
    """The partial sums e of a column copied to local memory, where each work-item finds the parts
    of its own results."""
    rows = nest(e)[0].xs
    parts = rows.parts[-1] if isinstance(rows, Zip) else rows
    column = labels("column items", "row items", "row block", "parts")
    copied = seq(copy_deep(), spread(PARTS, skip), to_local())
    made = reordered(column, ("parts", "row block", "column items", "row items"), copied)
    return seq(share(term=parts, name="parts"), of_value(made), attempt(let_view()))(e)
