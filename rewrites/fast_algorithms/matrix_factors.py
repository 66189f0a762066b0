"""Constant matrices as products of two that take fewer additions: what rows share is added once.

Where two rows are e + o and e - o (those of points p and -p in F(m, r) are), e and o are made
first. Where two columns are alike but for signs, the two numbers that they are multiplied with are
added, and subtracted, first. The numbers in both factors are numbers of the matrix and powers of
two: nothing is rounded.
"""

# key: m matrix, s h its factors, e o halves of rows, i j rows

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations

Row = tuple[float, ...]
Rows = tuple[Row, ...]
Part = tuple[Row, float]  # a row of the second factor, and how often it counts


def is_power(x: Fraction | float) -> bool:
    """True if x is ±2^k: a product by it is exact."""
    return x != 0 and all(n & (n - 1) == 0 for n in abs(Fraction(x)).as_integer_ratio())


def rides(row: Iterable[Fraction | float]) -> bool:
    """True if each product by ±2^k, in a sum of products by the numbers of `row`, can be added to
    another term of the sum, so that a fused multiply-add makes it free.

    That term is one that is not multiplied, or is multiplied by another number than ±2^k.
    """
    return any(abs(x) == 1 or not is_power(x) for x in row if x)


def divided(m: Rows) -> tuple[Rows, Rows] | None:
    """The matrices S and H with S H = M and the fewest additions, if these are fewer than those of
    M; else None."""
    h, s = _halved(transposed(m), scaled=False)
    found = [_halved(m, scaled=True), (transposed(s), transposed(h))]
    fewer = [f for f in found if additions(*f) < additions(m) and product(*f) == m]
    return min(fewer, key=lambda f: additions(*f), default=None)


def additions(*matrices: Rows) -> int:
    """The number of additions that multiplying an array with one matrix after the other takes."""
    return sum(max(0, sum(map(bool, row)) - 1) for m in matrices for row in m)


def transposed(m: Rows) -> Rows:
    return tuple(zip(*m, strict=True))


def product(s: Rows, h: Rows) -> Rows:
    """The product S H of two matrices, exactly."""
    return tuple(tuple(_dot(row, column) for column in transposed(h)) for row in s)


def _dot(xs: Row, ys: Row) -> float:
    terms = (Fraction(x) * Fraction(y) for x, y in zip(xs, ys, strict=True))
    return float(sum(terms, Fraction(0)))


def _halved(m: Rows, scaled: bool) -> tuple[Rows, Rows]:
    """Matrices (S, H) with m = S H. For each pair of rows e + o and e - o of m, H has the rows e
    and o, and S adds and subtracts them; a row is in one pair at most, and others stay.

    With `scaled`, an e or o without a ±1 is divided in H by a power of two that is among its
    numbers, if there is one; S multiplies by it.
    """
    parts: dict[int, list[Part]] = {}
    for i, j in combinations(range(len(m)), 2):
        if both := None if {i, j} & set(parts) else _halves(m[i], m[j]):
            (e, c), (o, d) = (_part(half, scaled) for half in both)
            parts |= {i: [(e, c), (o, d)], j: [(e, c), (o, -d)]}
    rows = [parts.get(i, [(row, 1.0)]) for i, row in enumerate(m)]
    h = tuple(dict.fromkeys(half for row in rows for half, _ in row))
    return tuple(_counts(row, h) for row in rows), h


def _halves(a: Row, b: Row) -> tuple[Row, Row] | None:
    """The rows e and o with a = e + o and b = e - o, no column used by both; None if there are no
    such rows, or they save no addition."""
    if any(abs(x) != abs(y) for x, y in zip(a, b, strict=True)) or sum(map(bool, a)) < 3:
        return None
    e = tuple(x if x == y else 0.0 for x, y in zip(a, b, strict=True))
    o = tuple(x if x != y else 0.0 for x, y in zip(a, b, strict=True))
    return (e, o) if any(e) and any(o) else None


def _part(half: Row, scaled: bool) -> Part:
    powers = [abs(x) for x in half if is_power(x)]
    scale = min(powers, default=1.0) if scaled and 1.0 not in powers else 1.0
    return tuple(x / scale for x in half), scale


def _counts(parts: Iterable[Part], h: Sequence[Row]) -> Row:
    counts = dict(parts)
    return tuple(counts.get(row, 0.0) for row in h)
