"""The tiling of a variant as data for pictures: which work-item of a group makes which results, and
which loads work-items share. It is read from the text of the kernels that run.

Where groups have one work-item each, the results of neighbouring groups are drawn.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations, product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codegen.plan import Buffer, Kernel, Plan
from codegen.text_proof.touched_cells import Touched, touched_cells
from codegen.text_proof.work_item_ids import Size
from codegen.text_reader.c_syntax import KernelText
from codegen.text_reader.c_tokens import NotRead
from codegen.text_reader.c_words import SIZES, STORED_AS
from codegen.text_reader.read_kernel import read_kernel
from codegen.tree.memories import Space

SIDE = 48  # cells of a picture's side at most

Array = NDArray[np.int64]


@lru_cache(maxsize=256)
def tiling(plan: Plan) -> list[dict[str, Any]]:
    """The data, as JSON, for each kernel of an inference: on the results that one group makes, and
    on the cells that it loads. A kernel is left out if its text cannot be read, or if it touches
    cells outside of its buffers, as one from a changed record may."""
    buffers = {b.name: b for b in plan.buffers}
    kernels = [k for k in plan.kernels if not k.prepack]
    return [told for k in kernels if (told := _kernel(k, [buffers[n] for n in k.arguments]))]


def _kernel(launch: Kernel, arguments: Sequence[Buffer]) -> dict[str, Any] | None:
    try:
        text = read_kernel(launch.source)
        elements = [b.bytes // SIZES[STORED_AS.get(b.scalar, b.scalar)] for b in arguments]
        named = dict(zip((p.name for p in text.parameters), arguments, strict=True))
        known = dict(zip(named, elements, strict=True))
        x, y, z = (n // m for n, m in zip(launch.global_size, launch.local_size, strict=True))
        for group in ((x // 2, y // 2, z // 2), (0, 0, 0)):  # the first may have nothing to do
            touched = [*touched_cells(text, known, (x, y, z), group)]
            if any(t.writes and t.memory.space is Space.GLOBAL for t in touched):
                break
        around = [group]
        if prod(launch.local_size) == 1:
            around = [*_neighbours(group, (x, y, z))]
        made = _made_by(text, known, (x, y, z), around)
    except NotRead:
        return None
    if not all(_inside(t, named.get(t.memory.name)) for t in (*touched, *made)):
        return None
    read = [t for t in touched if not t.writes]
    counted = {t.memory.name for t in read}
    return {
        "kernel": launch.name,
        "items": list(launch.local_size),
        "groups": [x, y, z],
        "group": list(group),
        "around": len(around),
        "made": [_made(t, named[t.memory.name]) for t in made],
        "read": [_read(t, named.get(t.memory.name)) for t in read],
        "left": [named[p.name].name for p in text.parameters if p.const and p.name not in counted],
    }


def _neighbours(group: Size, groups: Size) -> Iterator[Size]:
    """The ids of a work-group and of the groups next to it along each dimension, in ascending
    order; `groups` is how many groups there are."""
    near = (range(max(0, g - 1), min(n, g + 2)) for g, n in zip(group, groups, strict=True))
    yield from product(*near)


def _made_by(
    text: KernelText, known: Mapping[str, int], groups: Size, some: Sequence[Size]
) -> list[Touched]:
    """The cells of each array in global memory that the groups `some` write, and by which of their
    work-items; these are numbered from the first group to the last. `known` has the length of each
    array, and `groups` how many groups there are."""
    parts, items = defaultdict[str, list[Touched]](list), prod(text.group_size)
    for n, group in enumerate(some):
        for t in touched_cells(text, known, groups, group, reads=False):
            if t.memory.space is Space.GLOBAL:
                parts[t.memory.name].append(replace(t, items=t.items + n * items))
    return [
        Touched(
            each[0].memory,
            True,
            np.concatenate([t.items for t in each]),
            np.concatenate([t.cells for t in each]),
        )
        for each in parts.values()
    ]


def _made(t: Touched, buffer: Buffer) -> dict[str, Any]:
    """The data on the cells of a buffer that a group writes: how many there are, and a picture with
    the number of the work-item that makes each cell."""
    each = np.bincount(t.items)
    return {
        "buffer": buffer.name,
        "cells": int(t.cells.size),
        "each": _range(each[each > 0]),
        "block": _block(t, buffer.shape),
        **_picture(t.cells, t.items, buffer.shape),
    }


def _read(t: Touched, buffer: Buffer | None) -> dict[str, Any]:
    """The data on the cells of a buffer (None: of local memory) that a group reads: how many there
    are, by how many of its work-items each is read, and a picture with these numbers."""
    cells, items = t.items_of_cells()
    return {
        "buffer": t.memory.name if buffer is None else buffer.name,
        "local": buffer is None,
        "cells": int(cells.size),
        "loads": int(t.cells.size),
        "by": _range(items),
        **_picture(cells, items, _shape(t, buffer)),
    }


def _shape(t: Touched, buffer: Buffer | None) -> tuple[int, ...]:
    """The shape of the array that `t` touches: of a buffer, or (None) of local memory."""
    return (t.memory.elements,) if buffer is None else buffer.shape


def _inside(t: Touched, buffer: Buffer | None) -> bool:
    low, high = int(t.cells.min()), int(t.cells.max())
    return low >= 0 and high < prod(_shape(t, buffer))


def _range(numbers: Array) -> list[int]:
    return [int(numbers.min()), int(numbers.max())]


def _block(t: Touched, shape: Sequence[int]) -> list[int]:
    """The sides of the block of cells that the first work-item of `t` touches, in an array of this
    shape; empty if the cells are no block."""
    mine = t.cells[t.items == t.items.min()]
    sides = [len(np.unique(axis)) for axis in _coordinates(mine, shape)]
    return sides if prod(sides) == mine.size else []


def _coordinates(cells: Array, shape: Sequence[int]) -> tuple[Array, ...]:
    return tuple(np.unravel_index(cells, tuple(shape) or (1,)))


def _picture(cells: Array, values: Array, shape: Sequence[int]) -> dict[str, Any]:
    """The picture, as JSON data, of values in cells of an array, along the two dimensions that show
    the most different values (and, of several, the most cells). Along the other dimensions it is
    cut at the first cell. It has -1 where there is no cell."""
    axes = _coordinates(cells, shape)
    lows = [int(axis.min()) for axis in axes]
    extents = [int(axis.max()) - low + 1 for axis, low in zip(axes, lows, strict=True)]
    first, every = int(cells.argmin()), range(len(axes))

    def shown(chosen: Sequence[int]) -> NDArray[np.bool_]:
        inside = [axes[d] < lows[d] + SIDE for d in chosen]
        fixed = [axes[d] == axes[d][first] for d in every if d not in chosen]
        mask = np.logical_and.reduce([np.ones(cells.size, bool), *inside, *fixed])
        return np.asarray(mask)

    def worth(chosen: Sequence[int]) -> tuple[int, int, Sequence[int]]:
        mask = shown(chosen)
        return len(np.unique(values[mask])), int(mask.sum()), chosen

    chosen = max(combinations(every, min(2, len(axes))), key=worth)
    mask = shown(chosen)
    picture = np.full([min(SIDE, extents[d]) for d in chosen], -1, np.int64)
    picture[tuple(axes[d][mask] - lows[d] for d in chosen)] = values[mask]
    return {
        "shape": list(shape),
        "axes": list(chosen),
        "from": lows,
        "extents": extents,
        "at": [None if d in chosen else int(axes[d][first]) for d in every],
        "picture": np.atleast_2d(picture).tolist(),
    }
