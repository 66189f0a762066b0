"""The settling of small questions about races and bounds by trying every value of the variables.

Where quotients of rounded-up splits meet, ranges see no digits and a solver gets lost; but a tile
has few cells, and a work-group few work-items. All cells that each side touches are computed: two
work-items meet if both sides touch one cell, and more than one work-item does.
"""

# key: x index

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from copy import copy
from functools import reduce
from math import prod

import numpy as np
from numpy.typing import NDArray

from codegen.index.atoms import Var
from codegen.index.condition import substitute_in
from codegen.index.index import Index, summed
from codegen.index.substitute import substitute
from codegen.proof.accesses import Access, Where
from codegen.proof.collision import Collision, Values
from codegen.proof.evaluate_indices import Array, Grid, evaluated, variables_of
from codegen.proof.guard_facts import Range

MOST = 1 << 18  # cells of a side, sorted: some ten milliseconds
LARGEST = (1 << 63) - 1
MOST_APART = 1 << 21  # cells of a side, marked in a map of the memory


def never_meet(collision: Collision) -> bool:
    """True if every value was tried and the two work-items never met in a cell."""
    a, b = collision.meeting.a.access, collision.meeting.b.access
    sides = (_Side(a, collision.left, collision.apart), _Side(b, collision.right, collision.apart))
    agreed = [side.agreed(sides[0].variables.keys() & sides[1].variables.keys()) for side in sides]
    if agreed[0] == agreed[1]:
        sides = (sides[0].without(agreed[0]), sides[1].without(agreed[1]))
    most = max(side.cells for side in sides)
    if a is not b and most <= MOST_APART and _apart(*sides):
        return True
    if most > MOST:
        return False
    shared = sorted(sides[0].variables.keys() & sides[1].variables.keys())
    (left, left_items), (right, right_items) = (side.touched(shared) for side in sides)
    cells = numbered(np.concatenate((left, right), axis=1))
    items = numbered(np.concatenate((left_items, right_items), axis=1))
    here = left.shape[1]
    both = np.intersect1d(cells[:here], cells[here:])
    if not collision.apart:  # one work-item
        return len(both) == 0
    seen = np.isin(cells, both)
    met = np.unique(numbered(np.stack((cells[seen], items[seen]))))
    return len(met) == len(both)


def always_true(goals: Sequence[Index], where: Where, ranges: Mapping[str, Range]) -> bool:
    """True if every value of the variables in their `ranges` was tried, and all goals were ≥ 0 at
    each that reaches the place `where`; False also if they are too many to try."""
    names = frozenset[str]().union(*(x.names for x in goals))
    given = [x for x in where.given if x.names & names]
    names = names.union(*(x.names for x in given))
    if prod([ranges[name][1] - ranges[name][0] + 1 for name in names]) > MOST:
        return False
    axes = [np.arange(ranges[name][0], ranges[name][1] + 1) for name in sorted(names)]
    grid = dict(zip(sorted(names), np.meshgrid(*axes, indexing="ij", sparse=True), strict=True))
    reached = np.asarray(True)
    for x in given:
        reached = reached & (evaluated(x, grid) >= 0)
    for condition in where.denied:
        if condition.names <= names:
            holds = [evaluated(part, grid) >= 0 for part in condition.parts]
            reached = reached & ~reduce(np.logical_and, holds, np.asarray(True))
    return all(bool(((evaluated(x, grid) >= 0) | ~reached).all()) for x in goals)


def _apart(left: "_Side", right: "_Side") -> bool:
    """True if no cell is touched by both sides, at any values of their variables."""
    first, second = (side.touched([])[0][-1] for side in (left, right))
    low = min(first.min(initial=0), second.min(initial=0))
    marked = np.zeros(max(first.max(initial=0), second.max(initial=0)) - low + 1, bool)
    marked[first - low] = True
    return not marked[second - low].any()


class _Side:
    """An access by one of the two work-items, in the variables of its side."""

    def __init__(self, access: Access, values: Values, apart: tuple[str, ...]) -> None:
        where = access.where
        half = () if access.half is None else (access.half,)
        self.width = access.width
        self.place = [substitute(x, values) for x in (*half, access.index)]
        self.given = [substitute(x, values) for x in where.given]
        self.denied = [substitute_in(c, values).parts for c in where.denied]
        self.items = [values[name] for name in apart]
        self.variables = self.found()

    def found(self) -> dict[str, Var]:
        """The variables that the side depends on."""
        parts = [part for parts in self.denied for part in parts]
        return variables_of((*self.place, *self.given, *parts, *self.items))

    def agreed(self, shared: AbstractSet[str]) -> list[Index]:
        """The parts of the side's place that depend on the `shared` variables alone."""
        return [summed(tuple([t for t in x.terms if t[0].names <= shared]), 0) for x in self.place]

    def without(self, agreed: Sequence[Index]) -> "_Side":
        """The side with its place less what both sides have `agreed` on, and without guards on what
        neither its place nor its work-items depend on: if anything, it touches more cells."""
        side = copy(self)
        side.place = [x - part for x, part in zip(self.place, agreed, strict=True)]
        names = frozenset[str]().union(*(x.names for x in (*side.place, *side.items)))
        side.given = [x for x in self.given if x.names & names]
        side.denied = [c for c in self.denied if any(part.names & names for part in c)]
        side.variables = side.found()
        return side

    @property
    def cells(self) -> float:
        return self.width * prod([_count(v) for v in self.variables.values()])

    def touched(self, shared: list[str]) -> tuple[Array, Array]:
        """Two arrays with a column for each cell that the access touches, at each point of its
        variables: the values of the `shared` variables and the cell, and the ids of the
        work-item."""
        axes = np.meshgrid(*map(_values, self.variables.values()), indexing="ij")
        grid = dict(zip(self.variables, [axis.reshape(-1) for axis in axes], strict=True))
        grid = {name: column[self.runs(grid)] for name, column in grid.items()}
        count = len(next(iter(grid.values()))) if grid else 1
        place = [*(grid[name] for name in shared), *(evaluated(x, grid) for x in self.place)]
        items = [evaluated(x, grid) for x in self.items]
        cells = np.repeat(_rows(place, count), self.width, axis=1)
        cells[-1] += np.tile(np.arange(self.width), count)
        return cells, np.repeat(_rows(items, count), self.width, axis=1)

    def runs(self, grid: Grid) -> NDArray[np.bool_]:
        """True at each point of the grid where the access is reached."""
        found = np.ones(len(next(iter(grid.values()))), bool)
        for x in self.given:
            found &= evaluated(x, grid) >= 0
        for parts in self.denied:
            found &= ~np.logical_and.reduce([evaluated(part, grid) >= 0 for part in parts])
        return found


def _count(v: Var) -> float:
    return float("inf") if v.lo is None or v.hi is None else v.hi - v.lo + 1


def _values(v: Var) -> Array:
    assert v.lo is not None
    assert v.hi is not None
    return np.arange(v.lo, v.hi + 1)


def _rows(columns: list[Array], count: int) -> Array:
    """The columns, each of `count` numbers, as the rows of one array; a row of zeros if there are
    none."""
    wide = [np.broadcast_to(column, (count,)) for column in columns]
    return np.stack(wide) if wide else np.zeros((1, count), np.int64)


def numbered(columns: Array) -> Array:
    """A number for each column of an array, equal for equal columns alone: its entries are the
    digits, if numbers of 64 bits have room for them."""
    if not columns.size:
        return np.zeros(columns.shape[1], np.int64)
    digits = columns - columns.min(axis=1, keepdims=True)
    sizes = [int(most) + 1 for most in digits.max(axis=1)]
    if prod(sizes) > LARGEST:
        _, numbers = np.unique(columns, axis=1, return_inverse=True)
        return np.asarray(numbers.reshape(-1))
    found: Array = digits[0]
    for row, size in zip(digits[1:], sizes[1:], strict=True):
        found = found * size + row
    return found
