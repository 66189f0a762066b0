"""The nest of the family `matrix` whose work-groups stage patches of the image, for all taps at
once.

A group makes `tx` × `ty` neighbouring pixels of `tr` × `sr` tiles of channels, shared by `sr` ×
`sc` sub-groups. For each chunk, `k` times the steps of an instruction, it stages the patch under
its pixels, halo included; constants go straight from memory to lanes. In forms with slices,
sub-groups share the sum instead of the pixels: each makes a part of the sum for all pixels."""

# key: e term, s strategy

from collections.abc import Sequence
from functools import partial
from itertools import takewhile

from ir.core.nodes import Expr, Level, Map, Reduce
from ir.core.size import Size, exact, named
from ir.instructions.entry import Entry
from rewrites.engine.places import of_array, of_part
from rewrites.engine.refused import Refused
from rewrites.engine.rule import Rewritten
from rewrites.engine.stages import stage
from rewrites.engine.strategy import attempt, seq, skip
from rewrites.kernels.both_staged import along_sum, as_it_is_read, as_it_lies, by_rows
from rewrites.kernels.input_patches import patches
from rewrites.kernels.register_block import (
    longest_inside,
    on_reduction,
    outside,
    over,
    split_innermost,
    trips,
    weight,
)
from rewrites.kernels.split_reduction import made_apart
from rewrites.kernels.staged_sums import UNROLLED, Chunks, Slices, Staged, patch, staged_sums
from rewrites.kernels.sums_by_instruction import STEPS
from rewrites.kernels.work_group_slices import slices_in_lanes
from rewrites.laws.planes import chunks_of_planes, fuse_reduce_zip
from rewrites.laws.reductions import join_reduce, partial_reduce
from rewrites.laws.slides import planes_inside
from rewrites.nest.dimensions import Dims, depends, operands, reduction
from rewrites.nest.named_nest import Nest, arranged, standing
from rewrites.nest.normal_form import perfect, simplify
from rewrites.nest.reshape import chunked
from rewrites.nest.spine import nest
from rewrites.number_laws.precision import afresh

TR, SR, SC, TX, TY, TP = map(named, ("tr", "sr", "sc", "tx", "ty", "tp"))
K, RP, P = map(named, ("k", "rp", "p"))

GROUPS = ("batch", "plane tiles", "tiles down", "tiles across", "row tiles")
BLOCKS = ("column items", "row items", "column block", "row block")
TILE = ("rows of a tile", "columns of a tile")


def staged_nest(
    entry: Entry, chunks: Chunks, dims: Dims, e: Expr, neighbours: bool = False
) -> Nest:
    """The nest that lowers the kernel e, whose rows and columns are in `dims`, to the instruction
    `entry`. The patch under a group's pixels is staged chunk by chunk, as `chunks` says. If
    `neighbours`, rows that a lane holds are neighbours, so that it may load them together. Refused
    if `chunks` asks to spell out all sums of a chunk, but these are so few that they are spelled
    out without that."""
    if chunks.both and entry.placed:
        dims = _as_read(entry, dims, e)
    sums, staged = trips(reduction(e)), _columns_operand(dims, e)
    if chunks.spelled and len(sums) <= UNROLLED:
        raise Refused(
            f"expected more than {UNROLLED} sums in a chunk, found {len(sums)}: so few are spelled "
            "out anyway; see the forms without `spelled`"
        )
    tiles = _tiles(entry, dims, _planes(dims, nest(e)), neighbours)
    if chunks.slices is not Slices.NONE:
        return _sliced(entry, chunks, tiles, sums, staged)
    items = (entry.lanes, SR, SC)
    if not chunks.both:
        kept = {staged: patch(items, _side_by_side(entry), RP, chunks.ahead)}
        return _whole(entry, chunks, tiles, len(sums), staged, kept)
    if len(sums) > 1:
        raise Refused(f"expected sums of products of two rows, found {len(sums)} nested sums")
    lie = partial(as_it_lies, items, ahead=chunks.ahead, in_flight=chunks.in_flight)
    numbers = sorted(range(len(operands(reduction(e)))), key=lambda n: n != staged)
    along = {n: along_sum(e, n) for n in numbers}
    both = {n: lie(along=along[n]) for n in numbers}
    if entry.placed:
        read = partial(as_it_is_read, items, ahead=chunks.ahead, in_flight=chunks.in_flight)
        both[staged] = read(along=along[staged], steps=entry.steps)
    loaded = by_rows(entry, [along[n] for n in reversed(numbers)]) if chunks.by_rows else ()
    return _whole(entry, chunks, tiles, len(sums), staged, both, loaded)


def _as_read(entry: Entry, dims: Dims, e: Expr) -> Dims:
    """The rows and columns of the kernel e, in `dims`, or exchanged: so that the columns' operand
    lies in memory as the instruction `entry` reads it. Refused if neither operand lies so."""
    exchanged = Dims(dims.batch, dims.columns, dims.rows)
    for each in (dims, exchanged):
        if along_sum(e, _columns_operand(each, e)) == entry.reads_along:
            return each
    wanted, found = ("steps", "columns") if entry.reads_along else ("columns", "steps")
    raise Refused(
        f"expected an operand with its {wanted} side by side in memory for {entry.name}, found "
        f"both with their {found} so"
    )


def _side_by_side(entry: Entry) -> int:
    """The number of steps that lie side by side where columns of the instruction `entry` are
    staged: all of its steps, or those of a piece that it reads itself."""
    columns = entry.brought[1]
    held = columns.count(columns.registers)
    return held if any(p.operand == 1 for p in entry.placed) else entry.steps


def _whole(
    entry: Entry,
    chunks: Chunks,
    tiles: Nest,
    sums: int,
    varying: int,
    kept: Staged,
    loaded: tuple[str | None, ...] = (),
) -> Nest:
    """The nest `tiles`, lowered: each sub-group makes whole sums by the instruction `entry`, from
    chunks of the operands in `kept`, by their numbers, which these strategies copy to local memory.
    `varying` is the number of the operand that depends on columns, and `sums` is the number of sums
    that the program has inside each other. `loaded` are the names of the instructions that load the
    instruction's operands from local memory (none: lanes load them by themselves)."""
    steps, columns = entry.brought[1].sides
    fresh = stage("each chunk summed up afresh", on_reduction(afresh()))
    by_pixels = (
        tiles.split("pixels", columns * SC, "column block", "pixels", told_as="sc tiles of")
        .split("pixels", columns, "column items", "columns of a tile", told_as="a tile of")
        .told("pixels in tiles, for sub-groups and lanes", since=tiles)
    )
    blocks = (
        by_pixels.order(*GROUPS, *BLOCKS, *TILE)
        .then(on_reduction(longest_inside), split_innermost(steps * K, told_as=f"k times {STEPS}"))
        .then(stage("chunks outermost", on_reduction(outside(sums - 1))))
        .then(split_innermost(steps, told_as=STEPS))
        .then(fresh if chunks.parts.count > 1 and not chunks.running else skip)
        .into_sum(*TILE)
        .around_chunks("column block", "row block")
        .into_sum("column items", "row items", left=sums + 1)
        .then(stage("a chunk of a patch a step", on_reduction(partial(_by_chunks, varying))))
    )
    return over(blocks, Level.GROUP, GROUPS, staged_sums(entry, kept, chunks, loaded))


def _sliced(entry: Entry, chunks: Chunks, pixels: Nest, sums: Sequence[Size], staged: int) -> Nest:
    """The nest `pixels`, lowered: each slice of a group makes parts of sums by the instruction
    `entry`, from chunks of the operand number `staged`, and then the parts are added; `sums` are
    the lengths of the program's sums, from the outermost."""
    steps, columns = entry.brought[1].sides
    by_taps = chunks.slices is Slices.TAPS
    shorter = sorted(range(len(sums)), key=lambda n: (weight(sums[n]), -n))[:-1]
    if by_taps and not shorter:
        raise Refused(
            "expected a sum beside the longest, for slices to share; found one sum alone: see the "
            "forms without `by-taps`"
        )
    slices = P * sums[min(shorter)] if by_taps else P
    inner = len(sums) + (1 if by_taps else 2)  # sums inside a chunk
    taps = stage("slices by taps, too", on_reduction(seq(join_reduce(), simplify)))
    tiles = (
        pixels.split("pixels", columns, "column block", "columns of a tile", told_as="a tile of")
        .order(*GROUPS, "column block", "row items", "row block", *TILE)
        .then(on_reduction(longest_inside), split_innermost(steps * K, told_as=f"k times {STEPS}"))
        .then(split_innermost(steps * exact(K, P), told_as=f"k / p times {STEPS}"))
        .then(split_innermost(steps, told_as=STEPS))
        .then(stage("slices outermost", on_reduction(outside(len(sums)))))
        .then(taps if by_taps else skip)
    )
    parts = (
        standing("column block", "row items", "row block", *TILE, "parts")
        .order("parts", "row items", "column block", "row block", *TILE)
        .then(stage("chunks outermost", on_reduction(outside(inner - 2))))
        .into_sum(*TILE)
        .around_chunks("column block", "row block")
        .into_sum("parts", "row items", left=inner)
        .then(stage("a chunk of a patch a step", on_reduction(partial(_by_chunks, staged))))
    )
    kept = patch((entry.lanes, SR, slices), steps, RP, chunks.ahead)
    made = seq(perfect, simplify, parts, staged_sums(entry, {staged: kept}, chunks))
    apart = made_apart(tiles, GROUPS, partial_reduce(k=1)).into_sum(*TILE)
    return over(apart, Level.GROUP, GROUPS, slices_in_lanes(entry, TILE, made))


def _planes(dims: Dims, maps: Sequence[Map]) -> tuple[int, ...]:
    """The position, in the nest `maps`, of the map over planes that each have windows down and
    across, such as channels of their own; an empty tuple where windows are no views of single
    planes."""
    planes = dims.columns[-3:-2]
    return tuple(d for d in planes if planes_inside()(maps[d]) is not None)


def _tiles(entry: Entry, dims: Dims, planes: tuple[int, ...], neighbours: bool) -> Nest:
    """The nest of maps over patches for work-groups. The maps at the positions `planes` are tiled,
    and rows are in tiles of the instruction, for sub-groups and lanes, each of which holds
    `neighbours` or not."""
    (_, rows), _ = (f.sides for f in entry.fragments[:2])
    down, across = dims.columns[-2:-1], dims.columns[-1:]
    chunks = {"down": chunked(TY), "across": chunked(TX)} if down else {"across": chunked(TX)}
    batch = (*dims.batch, *(d for d in dims.columns[:-2] if d not in planes))
    arrays = arranged(batch=batch, planes=planes, down=down, across=across, rows=dims.rows)
    windows = (
        arrays.merge("rows")
        .tile("planes", TP, "plane tiles", "planes")
        .exchange("planes", "down", planes_inside())
        .exchange("planes", "across", skip)  # the law has done that, too
    )
    tiled = patches(windows, chunks).merge("pixels", "across", "down", "planes")
    items = tiled.tile(
        "rows", rows * TR * SR, "row tiles", "rows", told_as="sr * tr tiles of"
    ).split("rows", rows * TR, "row items", "rows", told_as="tr tiles of")
    held = _held_rows(entry) if neighbours else 1
    if held == 1:
        blocks = items.split("rows", rows, "row block", "rows of a tile", told_as="a tile of")
    else:
        blocks = (
            items.split("rows", held * TR, "lanes", "rows", told_as="a lane's")
            .split("rows", held, "row block", "held", told_as="a lane's of a tile")
            .exchange("lanes", "row block")
            .exchange("lanes", "held")
            .merge("rows of a tile", "held", "lanes")
        )
    return blocks.told("rows in tiles, for groups, sub-groups and lanes", since=tiled)


def _held_rows(entry: Entry) -> int:
    """The number of rows of a tile that a lane holds, where lanes beside each other hold rows
    beside each other; else 1."""
    f = entry.brought[0]
    held = [*takewhile(lambda digit: digit in f.registers, f.columns)]
    return f.count(held) if {*f.columns[len(held) :]} <= {*f.lanes} else 1


def _columns_operand(dims: Dims, e: Expr) -> int:
    """The number of the operand of e's sum that depends on the columns, among those that it goes
    over; Refused if not exactly one does."""
    maps, parts = nest(e), operands(reduction(e))
    reached = [n for n, part in enumerate(parts) if {*dims.columns} & depends(maps, part)]
    if len(reached) != 1:
        raise Refused(
            "expected one operand that depends on columns (pixels), to stage it; found "
            f"{len(reached)} such operands"
        )
    return reached[0]


def _by_chunks(staged: int, e: Expr) -> Rewritten | None:
    """The sum e over chunks with each step reading a part of the patch that has only this chunk's
    channels; `staged` is the number of the patch's operand. None if e is no sum."""
    if not isinstance(e, Reduce):
        return None
    parts = of_array(of_part(staged, chunks_of_planes()))
    return seq(parts, fuse_reduce_zip(), attempt(simplify))(e)
