"""The tiling of a variant as data for pictures: which work-item of a group makes which results, and
which loads work-items share. It is read from the text of the kernels that run."""

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codegen.plan import Buffer, Kernel, Plan
from codegen.text_proof.touched_cells import Touched, touched_cells
from codegen.text_reader.c_tokens import NotRead
from codegen.text_reader.c_words import SIZES, STORED_AS
from codegen.text_reader.read_kernel import read_kernel
from codegen.tree.statements import Space

SIDE = 48  # cells of a picture's side at most

Array = NDArray[np.int64]


@lru_cache(maxsize=256)
def tiling(plan: Plan) -> list[dict[str, Any]]:
    """What one group of each kernel of an inference makes and loads, as JSON data; a kernel whose
    text cannot be read is left out."""
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
            made = [t for t in touched if t.writes and t.memory.space is Space.GLOBAL]
            if made:
                break
    except NotRead:
        return None
    read = [t for t in touched if not t.writes]
    counted = {t.memory.name for t in read}
    return {
        "kernel": launch.name,
        "items": list(launch.local_size),
        "groups": [x, y, z],
        "group": list(group),
        "made": [_made(t, named[t.memory.name]) for t in made],
        "read": [_read(t, named.get(t.memory.name)) for t in read],
        "left": [named[p.name].name for p in text.parameters if p.const and p.name not in counted],
    }


def _made(t: Touched, buffer: Buffer) -> dict[str, Any]:
    """What a group makes of a buffer: how much, and a picture with the work-item of each cell."""
    each = np.bincount(t.items)
    return {
        "buffer": buffer.name,
        "cells": int(t.cells.size),
        "each": _range(each[each > 0]),
        "block": _block(t, buffer.shape),
        **_picture(t.cells, t.items, buffer.shape),
    }


def _read(t: Touched, buffer: Buffer | None) -> dict[str, Any]:
    """What a group reads of a buffer, or of local memory where there is none: how many cells, by
    how many of its work-items each, and a picture with these numbers."""
    cells, items = t.items_of_cells()
    shape = (t.memory.elements,) if buffer is None else buffer.shape
    return {
        "buffer": t.memory.name if buffer is None else buffer.name,
        "local": buffer is None,
        "cells": int(cells.size),
        "loads": int(t.cells.size),
        "by": _range(items),
        **_picture(cells, items, shape),
    }


def _range(numbers: Array) -> list[int]:
    return [int(numbers.min()), int(numbers.max())]


def _block(t: Touched, shape: Sequence[int]) -> list[int]:
    """The sides of the block of cells that the first of these work-items touches; empty if they
    are no block."""
    mine = t.cells[t.items == t.items.min()]
    sides = [len(np.unique(axis)) for axis in _coordinates(mine, shape)]
    return sides if prod(sides) == mine.size else []


def _coordinates(cells: Array, shape: Sequence[int]) -> tuple[Array, ...]:
    return tuple(np.unravel_index(cells, tuple(shape) or (1,)))


def _picture(cells: Array, values: Array, shape: Sequence[int]) -> dict[str, Any]:
    """The picture of values in cells, along the two dimensions in which the cells extend most,
    where the others are as at the first cell; -1 where no cell is."""
    axes = _coordinates(cells, shape)
    lows = [int(axis.min()) for axis in axes]
    extents = [int(axis.max()) - low + 1 for axis, low in zip(axes, lows, strict=True)]
    widest = sorted(range(len(axes)), key=lambda d: (-extents[d], -d))[:2]
    chosen = sorted(widest)
    first = cells.argmin()
    fixed = {d: int(axes[d][first]) for d in range(len(axes)) if d not in chosen}
    shown = np.ones(cells.size, bool)
    for d, at in fixed.items():
        shown &= axes[d] == at
    for d in chosen:
        shown &= axes[d] < lows[d] + SIDE
    sides = [min(SIDE, extents[d]) for d in chosen]
    picture = np.full(sides, -1, np.int64)
    picture[tuple(axes[d][shown] - lows[d] for d in chosen)] = values[shown]
    return {
        "shape": list(shape),
        "axes": chosen,
        "from": lows,
        "extents": extents,
        "at": [fixed.get(d) for d in range(len(axes))],
        "picture": np.atleast_2d(picture).tolist(),
    }
