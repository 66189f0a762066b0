"""The question whether an array may be written in the place of another: answered by computing, for
every cell, which work-item reads it in the one array and writes it in the other, and when."""

# key: x index

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod

import numpy as np

from codegen.index.index import Index, constant, var
from codegen.proof.accesses import Access, Footprint, Loop, Node, Touch, parts_of
from codegen.proof.evaluate_indices import Array, evaluated

MOST = 1 << 22  # points of an access, each with its cells: about a second
NEVER = np.iinfo(np.int64).max


def read_before_written(found: Footprint, read: str, written: str) -> bool:
    """True if the arrays `read` and `written` can share their storage: each cell that is both read
    and written is written by one work-item only, no other work-item reads it, and all its reads
    come before. False also if there are too many cells to compute."""
    timed = list(_timed(found.root, constant(0)))
    reads = [(a, t * 2) for a, t in timed if a.memory.name == read]
    writes = [(a, t * 2 + 1) for a, t in timed if a.memory.name == written]
    if any(a.writes for a, _ in reads) or not all(a.writes for a, _ in writes):
        return False
    try:
        cells = _Cells(found, max(a.memory.elements for a, _ in (*reads, *writes)))
        return all(cells.takes(*write) for write in writes) and all(
            cells.allows(*one) for one in reads
        )
    except _TooMany:
        return False


class _TooMany(Exception):
    """Raised if there are too many cells to compute."""


def _timed(node: Node, now: Index) -> Iterator[tuple[Access, Index]]:
    """Each access of a node, and the time when a work-item makes it: a number that grows from
    statement to statement and from turn to turn of the loops around. The node begins at the time
    `now`."""
    match node:
        case Touch(accesses):
            yield from ((access, now) for access in accesses)
        case Loop(name, count, body):
            yield from _timed(body, now + var(name, 0, count - 1) * _duration(body))
        case _:
            for part in parts_of(node):
                yield from _timed(part, now)
                now = now + _duration(part)


def _duration(node: Node) -> int:
    """The number of statements with accesses that a work-item carries out in a node, all turns of
    loops counted."""
    match node:
        case Touch():
            return 1
        case Loop(_, count, body):
            return count * _duration(body)
    return sum(map(_duration, parts_of(node)))


@dataclass(slots=True)
class _Cells:
    """The writes to an array of `size` cells: for each cell, the number of the work-item that
    writes it (`writer`, -1: none), and the time of its first write (`first`)."""

    found: Footprint
    size: int
    writer: Array = field(init=False)
    first: Array = field(init=False)

    def __post_init__(self) -> None:
        self.writer = np.full(self.size, -1)
        self.first = np.full(self.size, NEVER)

    def takes(self, access: Access, time: Index) -> bool:
        """True if no other work-item writes one of the cells of this write; the write, made at
        `time`, is recorded."""
        cells, items, times = self._points(access, time, latest=False)
        before = self.writer[cells]
        self.writer[cells] = items
        np.minimum.at(self.first, cells, times)
        return bool(
            ((before < 0) | (before == items)).all() and (self.writer[cells] == items).all()
        )

    def allows(self, access: Access, time: Index) -> bool:
        """True if each cell that a read at `time` accesses is never written, or is written by the
        same work-item and only later."""
        cells, items, times = self._points(access, time, latest=True)
        writer = self.writer[cells]
        own = (writer == items) & (times < self.first[cells])
        return bool(((writer < 0) | own).all())

    def _points(self, access: Access, time: Index, latest: bool) -> tuple[Array, Array, Array]:
        """The cells that an access touches, and for each the number of the work-item and the time.
        Loops on which cells do not depend are not enumerated: their first turn is taken, or with
        `latest` the last."""
        where, ids = access.where, {**self.found.groups, **self.found.locals}
        tests = [*where.given, *(part for c in where.denied for part in c.parts)]
        names = frozenset[str]().union(access.index.names, *(x.names for x in tests))
        loops = {name: n for name, n in where.loops if name in names}
        counts = ids | loops
        if access.half is not None or prod(counts.values()) * access.width > MOST:
            raise _TooMany
        axes = np.meshgrid(*map(np.arange, counts.values()), indexing="ij")
        grid = dict(zip(counts, (axis.reshape(-1) for axis in axes), strict=True))
        rest = {name: np.asarray((n - 1) * latest) for name, n in where.loops if name not in loops}
        item = np.zeros((), np.int64)
        for name, n in ids.items():
            item = item * n + grid[name]
        every = {**grid, **rest}
        count = prod(counts.values())
        reached = np.ones(count, bool)
        for x in where.given:
            reached &= evaluated(x, every) >= 0
        for c in where.denied:
            reached &= ~np.logical_and.reduce([evaluated(x, every) >= 0 for x in c.parts])
        columns = [
            np.repeat(np.broadcast_to(column, (count,))[reached], access.width)
            for column in (evaluated(access.index, every), item, evaluated(time, every))
        ]
        columns[0] += np.tile(np.arange(access.width), int(reached.sum()))
        return columns[0], columns[1], columns[2]
