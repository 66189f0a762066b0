"""The nest of the family `matrix` whose groups stage patches of the image, for all taps at once.

A group makes `tx` × `ty` neighbouring pixels of `tr` × `sr` tiles of channels; `sr` × `sc`
sub-groups share them. For each chunk of `k` instructions' steps it stages the patch under its
pixels, halo included; constants go straight from memory to lanes.
"""

# key: e term, s strategy

from functools import partial

from ir.core.nodes import Expr, Level, Reduce
from ir.core.size import named
from ir.instructions.entry import Entry
from rewrites.engine.places import of_array, of_part
from rewrites.engine.refused import Refused
from rewrites.engine.rule import Rewritten
from rewrites.engine.stages import stage
from rewrites.engine.strategy import attempt, seq, skip
from rewrites.kernels.input_patches import patches
from rewrites.kernels.register_block import (
    longest_inside,
    on_reduction,
    outside,
    over,
    split_innermost,
    trips,
)
from rewrites.kernels.staged_sums import UNROLLED, Chunks, patch, staged_sums
from rewrites.kernels.sums_by_instruction import STEPS, Parts
from rewrites.laws.planes import chunks_of_planes, fuse_reduce_zip
from rewrites.nest.dimensions import Dims, depends, operands, reduction
from rewrites.nest.named_nest import Nest, arranged
from rewrites.nest.normal_form import simplify
from rewrites.nest.reshape import chunked
from rewrites.nest.spine import nest
from rewrites.number_laws.precision import afresh

TR, SR, SC, TX, TY, K, RP = map(named, ("tr", "sr", "sc", "tx", "ty", "k", "rp"))

GROUPS = ("batch", "tiles down", "tiles across", "row tiles")
TILE = ("rows of a tile", "columns of a tile")


def staged_nest(entry: Entry, chunks: Chunks, dims: Dims, e: Expr) -> Nest:
    """The strategy that lowers the kernel e, whose rows and columns are given by `dims`, to the
    instruction `entry`, with the patch under a group's pixels staged in chunks, as `chunks` says.
    It refuses to spell out all sums of a chunk where those are spelled out in any case."""
    (steps, _), _ = (f.sides for f in entry.fragments[:2])
    sums, staged = trips(reduction(e)), _columns_operand(dims, e)
    if chunks.spelled and len(sums) <= UNROLLED:
        raise Refused(f"expected more than {UNROLLED} sums in a chunk, found {len(sums)}")
    exact, fresh = chunks.parts is Parts.HIGH_AND_LOW, on_reduction(afresh())
    kept = patch((entry.lanes, SR, SC), steps, RP, chunks.ahead)
    blocks = (
        _tiles(entry, dims)
        .then(on_reduction(longest_inside), split_innermost(steps * K, told_as=f"k times {STEPS}"))
        .then(stage("chunks outermost", on_reduction(outside(len(sums) - 1))))
        .then(split_innermost(steps, told_as=STEPS))
        .then(stage("each chunk summed up afresh", fresh) if exact else skip)
        .into_sum(*TILE)
        .around_chunks("column block", "row block")
        .into_sum("column items", "row items", left=len(sums) + 1)
        .then(stage("a chunk of a patch a step", on_reduction(partial(_by_chunks, staged))))
    )
    return over(blocks, Level.GROUP, GROUPS, staged_sums(entry, staged, kept, chunks))


def _tiles(entry: Entry, dims: Dims) -> Nest:
    """The nest of maps over patches for groups, in which rows and pixels are in tiles of the
    instruction, for sub-groups and for lanes."""
    (_, rows), (_, columns) = (f.sides for f in entry.fragments[:2])
    down, across = dims.columns[-2:-1], dims.columns[-1:]
    chunks = {"down": chunked(TY), "across": chunked(TX)} if down else {"across": chunked(TX)}
    batch = (*dims.batch, *dims.columns[:-2])
    windows = arranged(batch=batch, down=down, across=across, rows=dims.rows).merge("rows")
    tiled = patches(windows, chunks).merge("pixels", "across", "down")
    by_rows = (
        tiled.tile("rows", rows * TR * SR, "row tiles", "rows", told_as="sr * tr tiles of")
        .split("rows", rows * TR, "row items", "rows", told_as="tr tiles of")
        .split("rows", rows, "row block", "rows of a tile", told_as="a tile of")
        .told("rows in tiles, for groups, sub-groups and lanes", since=tiled)
    )
    by_pixels = (
        by_rows.split("pixels", columns * SC, "column block", "pixels", told_as="sc tiles of")
        .split("pixels", columns, "column items", "columns of a tile", told_as="a tile of")
        .told("pixels in tiles, for sub-groups and lanes", since=by_rows)
    )
    blocks = ("column items", "row items", "column block", "row block")
    return by_pixels.order(*GROUPS, *blocks, *TILE)


def _columns_operand(dims: Dims, e: Expr) -> int:
    """The number of the operand of e's sum that depends on the columns, among those that it goes
    over; Refused if not exactly one does."""
    maps, parts = nest(e), operands(reduction(e))
    reached = [n for n, part in enumerate(parts) if {*dims.columns} & depends(maps, part)]
    if len(reached) != 1:
        raise Refused(f"expected one operand that columns reach, to stage it; found {len(reached)}")
    return reached[0]


def _by_chunks(staged: int, e: Expr) -> Rewritten | None:
    """The sum e over chunks with each step reading a part of the patch that has only this chunk's
    channels; `staged` is the number of the patch's operand. None if e is no sum."""
    if not isinstance(e, Reduce):
        return None
    parts = of_array(of_part(staged, chunks_of_planes()))
    return seq(parts, fuse_reduce_zip(), attempt(simplify))(e)
