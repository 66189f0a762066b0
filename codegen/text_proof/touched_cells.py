"""The cells of memory that the work-items of one group touch, found by trying every value of the
variables in a kernel's text."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from math import prod

import numpy as np

from codegen.proof.accesses import Access, Footprint
from codegen.proof.evaluate_indices import Array, Grid, evaluated
from codegen.text_proof.text_footprint import text_footprint
from codegen.text_proof.work_item_ids import Size
from codegen.text_reader.c_syntax import KernelText
from codegen.tree.memories import Memory, Space
from ir.core.frozen import frozen

MOST = 1 << 21  # cells that are computed of a kernel's accesses of one kind: some 0.1 s
ORDER = (2, 1, 0)  # of the dimensions of ids, the one that varies fastest last


@frozen
class Touched:
    """The cells of a memory that the work-items of a group touch: each pair of a work-item's number
    in the group (`items`) and a cell (`cells`) once."""

    memory: Memory
    writes: bool
    items: Array
    cells: Array

    def items_of_cells(self) -> tuple[Array, Array]:
        """The cells that are touched, each once, and how many work-items touch each."""
        return np.unique(self.cells, return_counts=True)


def touched_cells(
    text: KernelText,
    elements: Mapping[str, int],
    groups: Size,
    group: Size,
    *,
    reads: bool = True,
) -> Iterator[Touched]:
    """The cells that the work-items of one group touch, for each global or local memory, reads and
    writes apart; without `reads`, only what they write. `group` is the group's ids, `groups` how
    many groups there are, and `elements` the length of each array. A memory is left out if its
    accesses touch too many cells to compute."""
    x, y, z = text.group_size
    found = text_footprint(text, dict(elements), (x, y, z), groups)
    items = _items(found, (x, y, z), group)
    shared = [a for a in found.accesses if a.memory.space in (Space.GLOBAL, Space.LOCAL)]
    shared = sorted((a for a in shared if reads or a.writes), key=_kind)
    for _, same in groupby(shared, _kind):
        accesses = [*same]
        if sum(_points(a, items) for a in accesses) <= MOST:
            joined = _joined(accesses, items, x * y * z)
            if joined.cells.size:  # there are groups beyond the last result
                yield joined


def _kind(a: Access) -> tuple[str, bool]:
    return a.memory.name, a.writes


def _items(found: Footprint, size: Size, group: Size) -> dict[str, Array]:
    """The values of the ids of a group's work-items, by name, in arrays with an axis for each
    dimension of the group; `size` is the group's size and `group` its ids."""
    axes = {}
    for axis, d in enumerate(ORDER):
        shape = [-1 if other == axis else 1 for other in range(len(ORDER))]
        mine = np.arange(size[d]).reshape(shape)
        axes[f"lid{d}"] = mine
        axes[f"gid{d}"] = mine + group[d] * size[d]
        axes[f"grp{d}"] = np.full((1, 1, 1), group[d])
    return {name: axis for name, axis in axes.items() if name in (*found.groups, *found.locals)}


def _loops(a: Access) -> list[tuple[str, int]]:
    """The variables and trip counts of the loops around an access on which its cell or its guards
    depend."""
    denied = (part for condition in a.where.denied for part in condition.parts)
    names = frozenset[str]().union(*(x.names for x in (a.index, *a.where.given, *denied)))
    return [(name, count) for name, count in a.where.loops if name in names]


def _points(a: Access, items: Grid) -> int:
    sizes = np.broadcast_shapes(*(ids.shape for ids in items.values()))
    return a.width * prod(sizes) * prod(count for _, count in _loops(a))


def _joined(accesses: list[Access], items: Grid, count: int) -> Touched:
    first = accesses[0]
    pairs = np.unique(np.concatenate([_pairs(a, items, count) for a in accesses]))
    return Touched(first.memory, first.writes, pairs % count, pairs // count)


def _pairs(a: Access, items: Grid, count: int) -> Array:
    """The pairs of a cell and one of `count` work-items that touches it by an access, each pair as
    one number: cell · count + work-item."""
    loops = _loops(a)
    grid = {name: ids.reshape(*ids.shape, *(1 for _ in loops)) for name, ids in items.items()}
    for n, (name, trips) in enumerate(loops):
        grid[name] = np.arange(trips).reshape(
            [-1 if k == 3 + n else 1 for k in range(3 + len(loops))]
        )
    shape = np.broadcast_shapes(*(values.shape for values in grid.values()))
    reached = np.broadcast_to(np.asarray(True), shape)
    for x in a.where.given:
        reached = reached & (evaluated(x, grid) >= 0)
    for condition in a.where.denied:
        holds = [evaluated(part, grid) >= 0 for part in condition.parts]
        reached = reached & ~np.logical_and.reduce(np.broadcast_arrays(*holds))
    cells = np.broadcast_to(evaluated(a.index, grid), shape)[reached]
    size = shape[:3]
    numbers = np.arange(prod(size)).reshape(*size, *(1 for _ in loops))
    numbers = np.broadcast_to(numbers, shape)[reached]
    wide = np.add.outer(cells, np.arange(a.width)).reshape(-1)
    return np.asarray(wide * count + np.repeat(numbers, a.width))
