"""The buffers of a plan on a device: temporaries in one arena, and each of the others by itself.

In checking mode every buffer lies between guard bands, temporaries too: the arena is stretched by a
pair of bands wherever a temporary begins or ends. So temporaries that shared bytes still do, and
while a temporary is needed, no other one that is needed reaches into its bands.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from codegen.plan import Buffer, Plan
from codegen.runtime import buffer_arrays as arrays
from codegen.runtime.queue import Queue
from ir.arena import aligned
from ir.core.frozen import frozen
from ir.errors import UserError

GUARD_BYTES = 1 << 16  # on each side of a buffer, in checking mode


@frozen
class Cell:
    """The bytes of a buffer in an allocation: a guard band from `start`, what kernels see (`view`),
    and a band to `end`."""

    buffer: Buffer
    whole: Any
    view: Any
    start: int
    end: int
    guard: int

    def bands(self) -> Iterator[tuple[int, int]]:
        """The start and size of the guarded bytes on each side."""
        behind = self.start + self.guard + self.buffer.bytes
        if self.guard:
            yield self.start, self.guard
            yield behind, self.end - behind


class DeviceMemory:
    """The buffers of a plan, allocated when they are first asked for.

    Parts of the arena are given back with it, those made last first: NVIDIA's driver crashes where
    a part that overlaps two later ones is given back before them.
    """

    def __init__(self, queue: Queue, plan: Plan, guard: int, apart: bool) -> None:
        """Memory for a plan's buffers, each between bands of `guard` bytes; with `apart`, no two
        temporaries share bytes."""
        self._queue = queue
        self.cells: dict[str, Cell] = {}
        self.peak_bytes = self._held = 0  # bytes: the most at any time, and now
        self._parts: list[Any] = []  # of the arena, in the order in which they were made
        _demand_alignment(queue, plan)
        self._buffers = {buffer.name: buffer for buffer in plan.buffers}
        self._guard = guard
        shared = [b for b in plan.buffers if b.offset is not None and not apart]
        self._places = stretched(shared, 2 * guard)
        self._arena: Any = None

    def __del__(self) -> None:
        self.cells.clear()
        while self._parts:
            self._parts.pop()

    def view(self, name: str) -> Any:
        """The buffer `name` as kernels see it, without bands."""
        return self.cell(name).view

    def cell(self, name: str) -> Cell:
        if name not in self.cells:
            buffer, place = self._buffers[name], self._places.get(name)
            self.cells[name] = self._alone(buffer) if place is None else self._within(buffer, place)
        return self.cells[name]

    @property
    def allocated_bytes(self) -> int:
        """The bytes that the driver was asked for and that are held now; an arena counts once."""
        return sum({id(cell.whole): cell.whole.size for cell in self.cells.values()}.values())

    def free(self, name: str) -> None:
        """Drop a buffer; its memory is released, unless it lies in the arena."""
        cell = self.cells.pop(name)
        if name not in self._places:
            self._held -= cell.end

    def poison(self, name: str, which: int) -> None:
        """Fill the buffer `name` with poison number `which`, and the bands around it with their
        pattern."""
        cell = self.cell(name)
        pattern = arrays.POISONS[which][cell.buffer.scalar]
        self._queue.fill(cell.view, pattern, 0, cell.buffer.bytes)
        self._fill_bands(cell)

    def first_change(self, name: str) -> int | None:
        """The position of the first changed byte in the bands around the buffer `name`, counted
        from the buffer's beginning; None if no byte changed."""
        cell = self.cell(name)
        for start, size in cell.bands():
            band = np.empty(size, np.uint8)
            self._queue.read(band, cell.whole, start)
            at = arrays.first_change(band)
            if at is not None:
                return start + at - cell.start - cell.guard
        return None

    def _alone(self, buffer: Buffer) -> Cell:
        size = buffer.bytes + 2 * self._guard
        whole = self._allocated(size)
        view = self._queue.part(whole, self._guard, buffer.bytes) if self._guard else whole
        cell = Cell(buffer, whole, view, 0, size, self._guard)
        self._fill_bands(cell)
        return cell

    def _allocated(self, size: int) -> Any:
        self._held += size
        self.peak_bytes = max(self.peak_bytes, self._held)
        return self._queue.allocate(size)

    def _within(self, buffer: Buffer, place: tuple[int, int]) -> Cell:
        if self._arena is None:
            self._arena = self._allocated(max(end for _, end in self._places.values()))
        start, end = place
        view = self._queue.part(self._arena, start + self._guard, buffer.bytes)
        self._parts.append(view)
        return Cell(buffer, self._arena, view, start, end, self._guard)

    def _fill_bands(self, cell: Cell) -> None:
        for start, size in cell.bands():
            self._queue.fill(cell.whole, arrays.GUARD, start, size)


def _demand_alignment(queue: Queue, plan: Plan) -> None:
    for buffer in plan.buffers:
        if (buffer.offset or 0) % queue.alignment:
            raise UserError(
                f"expected '{buffer.name}' at a multiple of {queue.alignment} bytes of its arena, "
                f"where parts of a buffer may begin on this device; found it at {buffer.offset}"
            )


def stretched(buffers: Sequence[Buffer], gap: int) -> dict[str, tuple[int, int]]:
    """The start and end, by name, of each temporary together with its bands, where `gap` bytes are
    put into the arena wherever a temporary begins or ends.

    Temporaries that shared no bytes still share none, and those that did still do.
    """
    ranges = {b.name: _range(b, exact=not gap) for b in buffers}
    borders = sorted({place for pair in ranges.values() for place in pair})

    def moved(place: int) -> int:
        return place + gap * bisect_left(borders, place)

    return {name: (moved(start), moved(end)) for name, (start, end) in ranges.items()}


def _range(b: Buffer, exact: bool) -> tuple[int, int]:
    assert b.offset is not None
    end = b.offset + b.bytes
    return b.offset, end if exact else aligned(end)
