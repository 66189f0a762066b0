"""Sums by a matrix instruction whose columns a group stages: a patch of the image for all taps."""

# key: e term, s strategy, t operand

from functools import partial

from ir.core.nodes import Expr, Get, Lam, Level, Map, Reduce, Var
from ir.core.size import Size
from ir.core.type_rules import type_of
from ir.core.types import depth
from ir.instructions.entry import Entry
from rewrites.engine.places import of_array, of_function, of_rest, of_start, of_value
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.stages import stage
from rewrites.engine.strategy import attempt, remembered, seq
from rewrites.kernels.register_block import on_reduction
from rewrites.kernels.sums_by_instruction import by_lanes, in_lanes, loops, results, zeroed
from rewrites.kernels.work_group import Items, flattened, in_rounds
from rewrites.laws.lets import let_view
from rewrites.laws.lower import copy, share, to_local, to_parallel, to_reduce_seq
from rewrites.laws.vectors import vectorize_map
from rewrites.laws.views import room_inner, split_inner
from rewrites.nest.labels import labels
from rewrites.nest.named_views import reordered
from rewrites.nest.spine import body, inside

VECTOR = 4  # floats that a work-item copies at once
UNROLLED = 2  # innermost sums of a chunk that are spelled out: their loads go ahead of products


def staged_sums(entry: Entry, columns: int, staged: Strategy, parts: bool) -> Strategy:
    """A sum over chunks of maps over sub-groups of sums of tiles: `staged` says how what a chunk
    reads of the columns' operand is kept for the group."""
    return seq(
        stage(f"sums by {entry.name}", on_reduction(partial(in_lanes, entry, parts=parts))),
        stage("what is done to results, in lanes", results(over_sub_groups(by_lanes))),
        stage("a chunk staged, then sub-groups", on_reduction(partial(_chunks, columns, staged))),
    )


def over_sub_groups(s: Strategy) -> Strategy:
    """The two outer maps over the sub-groups of a group along columns and rows, s inside."""
    rows = seq(body(s), to_parallel(level=Level.LOCAL, dim=1))
    return seq(body(rows), to_parallel(level=Level.LOCAL, dim=2))


def _chunks(columns: int, staged: Strategy, e: Expr) -> Rewritten | None:
    """A loop over chunks: the patch is staged, then each sub-group makes its sums of it."""
    match e:
        case Reduce(_, Lam((_, Var() as chunk))):
            sums = partial(_staged, staged, Get(columns, chunk))
            return seq(of_start(over_sub_groups(zeroed)), of_function(sums), to_reduce_seq())(e)
    return None


def _staged(staged: Strategy, columns: Expr, e: Expr) -> Rewritten | None:
    """The operand of the columns staged, then a loop for every sub-group."""
    sums = over_sub_groups(_added)
    held = seq(of_value(staged), of_rest(sums))
    return seq(share(term=columns, name="patch"), held, attempt(let_view()))(e)


def _added(e: Expr) -> Rewritten | None:
    """The sums of a chunk as loops; where they are added to others, that is done in lanes."""
    sums = partial(loops, unrolled=UNROLLED)
    if isinstance(e, Map):
        return seq(of_array(on_reduction(sums)), by_lanes)(e)
    return on_reduction(sums)(e)


@remembered
def patch(items: Items, steps: Size, room: Size, ahead: bool) -> Strategy:
    """view  =  views . toLocal . (copied by all work-items of the group) . views

    The steps of one instruction lie side by side, then pixels, then the chunk's other steps: so
    lanes that read neighbouring pixels read all banks. `room`: pixels that a line has room for
    beside its own.
    """

    def run(e: Expr) -> Rewritten | None:
        dims = depth(type_of(e))
        lying = labels(pixels=dims - 1, instructions=1, steps=1)
        vectors = seq(copy(), vectorize_map(v=VECTOR), inside(in_rounds(items)))
        kept = seq(flattened(dims + 1, vectors), to_local(ahead=ahead))
        turned = reordered(lying, ("instructions", "pixels", "steps"), kept)
        lines = seq(split_inner(k=steps, level=dims - 1), of_array(turned))
        if dims < 3:
            return lines(e)
        return seq(room_inner(n=room, level=dims - 2), of_array(lines))(e)

    return run
