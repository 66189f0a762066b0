"""The layout of a matrix over the lanes of a sub-group, as a permutation view and its inverse.

A fragment names the digits of a lane's number and of an element's place in its registers, and says
which of them count the rows of the matrix and which its columns. So `g t | h r i` with rows `r g`
and columns `h t i` reads: lane 4 g + t holds, at place (h, r, i), the element in row 8 r + g and
column (h, t, i).
"""

# key: xs array, t type

from collections.abc import Callable, Mapping, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from ir.core.frozen import frozen
from ir.core.nodes import AsScalar, AsVector, Expr, Join, Map, Split, Transpose
from ir.core.terms import lam
from ir.core.type_rules import elem_of


@frozen
class Fragment:
    """A layout of a matrix over lanes and their registers. The numbers of a lane, of a place in its
    registers, of a row and of a column are written in digits: `lanes`, `registers`, `rows` and
    `columns` name these, most significant first, and `sizes` says how many values each digit
    has. A ValueError if they are no permutation of each other: the layout would be no bijection."""

    sizes: Mapping[str, int]
    lanes: tuple[str, ...]
    registers: tuple[str, ...]
    rows: tuple[str, ...]
    columns: tuple[str, ...]

    def __post_init__(self) -> None:
        held, seen = (*self.lanes, *self.registers), (*self.rows, *self.columns)
        if sorted(held) != sorted(seen) or len({*held}) < len(held):
            raise ValueError(
                f"expected each digit once in lanes and registers ({' '.join(held)}) and once in "
                f"rows and columns ({' '.join(seen)})"
            )

    @property
    def sides(self) -> tuple[int, int]:
        """The numbers of rows and columns of the matrix."""
        return self.count(self.rows), self.count(self.columns)

    def count(self, digits: Sequence[str]) -> int:
        """The number of combinations of values that these digits of the layout have."""
        return prod(self.sizes[d] for d in digits)


def as_matrix(f: Fragment, xs: Expr) -> Expr:
    """The matrix, as an array of rows, that xs holds in the form of lanes: [T<registers>]lanes ->
    [[T]columns]rows."""
    digits = (*f.lanes, *f.registers)
    placed = _permuted(_divided(AsScalar(xs), f, digits), digits, (*f.rows, *f.columns))
    return Split(f.count(f.columns), _flat(placed, len(digits)))


def as_lanes(f: Fragment, matrix: Expr) -> Expr:
    """The matrix as lanes hold it: [[T]columns]rows -> [T<registers>]lanes."""
    digits = (*f.rows, *f.columns)
    placed = _permuted(_divided(Join(matrix), f, digits), digits, (*f.lanes, *f.registers))
    return AsVector(f.count(f.registers), _flat(placed, len(digits)))


def held(f: Fragment) -> NDArray[np.int64]:
    """The number of the element that each lane holds in each register, in an array of lanes ×
    registers; the elements of the matrix are numbered row by row."""
    digits = (*f.rows, *f.columns)
    numbers = np.arange(f.count(digits), dtype=np.int64).reshape([f.sizes[d] for d in digits])
    order = [digits.index(d) for d in (*f.lanes, *f.registers)]
    return numbers.transpose(order).reshape(f.count(f.lanes), f.count(f.registers))


def same_but_for_steps(layouts: Sequence[Fragment], others: Sequence[Fragment]) -> bool:
    """True if lanes hold the same elements in both layouts of each operand and of the result (the
    last), up to one order of the steps of a sum: the rows of all operands."""
    *operands, result = zip(layouts, others, strict=True)
    pairs = set[tuple[int, int]]()
    for one, other in operands:
        (step, column), (other_step, other_column) = (
            np.divmod(held(f), f.sides[1]) for f in (one, other)
        )
        if not np.array_equal(column, other_column):
            return False
        pairs |= set(zip(step.ravel().tolist(), other_step.ravel().tolist(), strict=True))
    one_to_one = len({a for a, _ in pairs}) == len({b for _, b in pairs}) == len(pairs)
    one, other = result
    return one_to_one and np.array_equal(held(one), held(other))


def _divided(xs: Expr, f: Fragment, digits: Sequence[str]) -> Expr:
    """The flat array xs with a dimension for each of these digits of the layout f."""
    for digit in reversed(digits[1:]):
        xs = Split(f.sizes[digit], xs)
    return xs


def _flat(xs: Expr, dimensions: int) -> Expr:
    for _ in range(dimensions - 1):
        xs = Join(xs)
    return xs


def _permuted(xs: Expr, now: Sequence[str], wanted: Sequence[str]) -> Expr:
    """The array xs with its dimensions permuted from the order `now` to the order `wanted`, by
    exchanges of neighbours."""
    order = list(now)
    for place, digit in enumerate(wanted):
        for at in range(order.index(digit), place, -1):
            order[at - 1], order[at] = order[at], order[at - 1]
            xs = _inside(xs, at - 1, Transpose)
    return xs


def _inside(xs: Expr, depth: int, f: Callable[[Expr], Expr]) -> Expr:
    """The array xs with f applied to each array that lies `depth` dimensions inside."""
    if depth == 0:
        return f(xs)
    return Map(lam("x", elem_of(xs), lambda x: _inside(x, depth - 1, f)), xs)
