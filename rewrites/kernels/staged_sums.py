"""Sums by a matrix instruction whose columns a group stages: a patch of the image for all taps."""

# key: e term, s strategy, t operand

import sys
from collections.abc import Mapping
from enum import Enum
from functools import partial

from ir.core.frozen import frozen
from ir.core.nodes import Expr, Get, Lam, Level, Map, Reduce, Var
from ir.core.size import Size
from ir.core.type_rules import type_of
from ir.core.types import depth
from ir.instructions.entry import Entry
from rewrites.engine.places import of_array, of_function, of_rest, of_start, of_value
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.stages import stage
from rewrites.engine.strategy import attempt, choice, remembered, seq, skip
from rewrites.kernels.register_block import on_reduction
from rewrites.kernels.sums_by_instruction import (
    Parts,
    by_lanes,
    in_lanes,
    loops,
    results,
    zeroed,
)
from rewrites.kernels.work_group import Items, flattened, in_rounds
from rewrites.laws.functions_of_elements import let_mapped, map_after_view
from rewrites.laws.lets import let_view
from rewrites.laws.lower import copy, share, to_local, to_parallel, to_reduce_seq
from rewrites.laws.vectors import vectorize_map
from rewrites.laws.views import room_inner, split_inner
from rewrites.nest.labels import labels
from rewrites.nest.named_views import reordered
from rewrites.nest.spine import body, inside

Staged = Mapping[int, Strategy]  # how the operands with these numbers are staged
VECTOR = 4  # floats that a work-item copies at once
UNROLLED = 2  # innermost sums of a chunk that are spelled out: their loads go ahead of products


class Slices(Enum):
    """The part of every sum that each slice of a work-group makes."""

    NONE = "all of it: there are no slices"
    STEPS = "some steps of each chunk"
    TAPS = "some steps of each chunk, at one place of the outermost of the shorter sums"


@frozen
class Chunks:
    """The choices in how the chunks of a sum are staged and summed up.

    `parts`: which parts of numbers are multiplied. `ahead`: so many next chunks are loaded while
    this one is used. `spelled`: all sums of a chunk are spelled out, not only the innermost.
    `slices`: which part of a sum each slice of a group makes. `through`: the loop over chunks is
    spelled out, too.
    `running`: sums of products of high and low parts go on from chunk to chunk; without it, the sum
    of each chunk is begun afresh. `both`: rows are staged, too, and both operands as they lie in
    memory; `in_flight`: by copies that are begun and awaited. `by_rows`: lanes load operands from
    there by an instruction to which each gives a row.
    """

    parts: Parts = Parts.WHOLE  # what of numbers is multiplied
    ahead: int = 0  # so many next chunks are loaded while this one is used
    spelled: bool = False  # all sums of a chunk are spelled out, not only the innermost
    slices: Slices = Slices.NONE  # what of a sum each slice of a group makes
    through: bool = False  # the loop over chunks is spelled out, too
    running: bool = False  # sums of products of parts go on from chunk to chunk
    both: bool = False  # rows are staged, too, and both operands as they lie in memory
    in_flight: bool = False  # copies to local memory are begun, and awaited together
    by_rows: bool = False  # lanes load operands by an instruction to which each gives a row
    steps_ahead: bool = False  # operands are loaded from there a step before they are multiplied


def staged_sums(
    entry: Entry, staged: Staged, chunks: Chunks, loaded: tuple[str | None, ...] = ()
) -> Strategy:
    """The strategy that lowers a sum over chunks, whose tiles sub-groups make, to the instruction
    `entry`, as `chunks` says. `staged` has for each operand that is staged, by its number, the
    strategy that copies a chunk of it to local memory. `loaded` are the names of the instructions
    that load the instruction's operands from there (none: lanes load them by themselves)."""
    parts, unrolled = chunks.parts, sys.maxsize if chunks.spelled else UNROLLED
    kept = (staged, parts.of_number(entry), unrolled, chunks.through, chunks.steps_ahead)
    made = partial(in_lanes, entry, parts=parts, in_order=chunks.both, loaded=loaded)
    return seq(
        stage(f"sums by {entry.name}", on_reduction(made)),
        stage("what is done to results, in lanes", results(over_sub_groups(by_lanes))),
        stage("a chunk staged, then sub-groups", on_reduction(partial(_chunks, *kept))),
    )


def over_sub_groups(s: Strategy) -> Strategy:
    """The strategy that puts the two outer maps over the sub-groups of a group, along columns and
    along rows, and applies s inside them."""
    rows = seq(body(s), to_parallel(level=Level.LOCAL, dim=1))
    return seq(body(rows), to_parallel(level=Level.LOCAL, dim=2))


def _chunks(
    staged: Staged, f: Lam | None, unrolled: int, through: bool, ahead: bool, e: Expr
) -> Rewritten | None:
    """The sum e over chunks as a loop. In each turn the strategies `staged` copy the turn's chunks
    of the operands with these numbers, with f (if given) applied to their numbers; then each
    sub-group adds what it makes of them, with the `unrolled` innermost loops unrolled. With
    `through` the loop itself is spelled out. None if e is no sum."""
    match e:
        case Reduce(_, Lam((_, Var() as chunk))):
            sums: Strategy = over_sub_groups(partial(_added, unrolled))
            for n, by in staged.items():
                sums = partial(_staged, by, f, Get(n, chunk), sums)
            return seq(
                of_start(over_sub_groups(zeroed)),
                of_function(sums),
                to_reduce_seq(unrolled=through, ahead=ahead)
                if ahead
                else to_reduce_seq(unrolled=through),
            )(e)
    return None


def _staged(
    staged: Strategy, f: Lam | None, columns: Expr, sums: Strategy, e: Expr
) -> Rewritten | None:
    """The term e with the operand `columns`, or f of each of its numbers, copied by the strategy
    `staged` and called `patch`, and with the strategy `sums` applied to the term that uses it."""
    held = seq(of_value(staged), of_rest(sums))
    shared = seq(share(term=columns, name="patch"), skip if f is None else let_mapped(f=f))
    return seq(shared, held, attempt(let_view()))(e)


def _added(unrolled: int, e: Expr) -> Rewritten | None:
    """The sums e of a chunk as loops, with the `unrolled` innermost ones unrolled. If e is a map,
    which adds these sums to others, its elements are shared among lanes."""
    sums = partial(loops, unrolled=unrolled)
    if isinstance(e, Map):
        return seq(of_array(on_reduction(sums)), by_lanes)(e)
    return on_reduction(sums)(e)


@remembered
def patch(items: Items, steps: Size, room: Size, ahead: int) -> Strategy:
    """The strategy that copies a view to local memory, by all work-items `items` of the group, and
    reads the copy through views; so many chunks `ahead` are copied while one is used.

    The steps of one instruction, `steps` in number, lie side by side, then pixels, then the chunk's
    other steps, so that lanes which read neighbouring pixels read all banks. A line has room for
    `room` pixels more than it holds.
    """

    def run(e: Expr) -> Rewritten | None:
        dims = depth(type_of(e))
        lying = labels(pixels=dims - 1, instructions=1, steps=1)
        made = choice(map_after_view(), copy())
        vectors = seq(made, vectorize_map(v=VECTOR), inside(in_rounds(items)))
        kept = seq(flattened(dims + 1, vectors), to_local(ahead=ahead))
        turned = reordered(lying, ("instructions", "pixels", "steps"), kept)
        lines = seq(split_inner(k=steps, level=dims - 1), of_array(turned))
        if dims < 3:
            return lines(e)
        return seq(room_inner(n=room, level=dims - 2), of_array(lines))(e)

    return run
