"""Bilinear algorithms: y = A [(G g) ⊙ (B d)], with constant matrices, proved in exact arithmetic.

A bilinear map is a tensor T: y_k = Σ T[k][a][b] g_a d_b. An algorithm computes it with as many
products as its matrices have rows; it is right if Σ_p A[k][p] G[p][a] B[p][b] = T[k][a][b] for all
k, a and b, which is a finite question about rational numbers.
"""

# key: m outputs, r taps, p points and products

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import count, islice
from math import lcm, prod, sqrt
from re import findall
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir.core.frozen import frozen
from rewrites.fast_algorithms.matrix_factors import is_power, rides

Row = tuple[Fraction, ...]
Matrix = tuple[Row, ...]
Tensor = Callable[[int, int, int], float]
Whole = NDArray[Any]  # of whole numbers of any size


@frozen
class Bilinear:
    """The matrices of a bilinear algorithm: `g` and `b` make the two factors of each product, `a`
    makes the results."""

    a: Matrix
    g: Matrix
    b: Matrix

    @property
    def products(self) -> int:
        """The number of products that the algorithm makes."""
        return len(self.g)

    def computes(self, tensor: Tensor) -> bool:
        """True if this algorithm computes the bilinear map of a tensor; checked exactly, and so a
        proof."""
        made, scale = _tensor(self)
        return all(x == scale * tensor(*at) for at, x in np.ndenumerate(made))

    def amplification(self) -> float:
        """The bound on how much rounding errors grow by this algorithm: for each result Σ |A| |G|
        |B|, divided by the same sum Σ |T| of its tensor; the largest of these quotients.

        See Higham, Accuracy and Stability of Numerical Algorithms, ch. 23.
        """
        sizes = [_sum(g) * _sum(b) for g, b in zip(self.g, self.b, strict=True)]
        direct = zip(self.a, self._direct(), strict=True)
        return float(max(_weighted(row, sizes) / terms for row, terms in direct))

    def mean_amplification(self) -> float:
        """The mean growth of errors by this algorithm, in norm, where data and errors are random
        numbers of both signs: the root of Σ A² |G|² |B|² over all results, divided by Σ |T|, for
        tensors T of zeros, ones and minus ones."""
        sizes = [_squares(g) * _squares(b) for g, b in zip(self.g, self.b, strict=True)]
        made = sum(_weighted([x * x for x in row], sizes) for row in self.a)
        return sqrt(made / sum(self._direct()))

    def largest_growth(self) -> float:
        """The factor by which numbers that the algorithm multiplies may be larger than its
        operands."""
        return float(max(_sum(row) for row in (*self.g, *self.b)))

    def _direct(self) -> list[Fraction]:
        """For each result Σ |T|, over the tensor T that the algorithm computes."""
        made, scale = _tensor(self)
        return [Fraction(int(np.abs(part).sum()), scale) for part in made]


@lru_cache(maxsize=64)
def _tensor(w: Bilinear) -> tuple[Whole, int]:
    """The tensor T[k][a][b] that an algorithm computes, times a scale that makes it whole, and the
    scale."""
    (a, of_a), (g, of_g), (b, of_b) = map(_whole, (w.a, w.g, w.b))
    factors = a[:, :, None] * g[None]
    return np.tensordot(factors, b, (1, 0)), of_a * of_g * of_b


def _whole(rows: Matrix) -> tuple[Whole, int]:
    """A matrix times a scale that makes it whole, and the scale; numbers of any size."""
    scale = lcm(*(x.denominator for row in rows for x in row))
    return np.array([[int(x * scale) for x in row] for row in rows], dtype=object), scale


def _sum(xs: Sequence[Fraction]) -> Fraction:
    return sum(map(abs, xs), Fraction(0))


def _squares(xs: Sequence[Fraction]) -> Fraction:
    return sum((x * x for x in xs), Fraction(0))


def _weighted(row: Sequence[Fraction], sizes: Sequence[Fraction]) -> Fraction:
    return sum((abs(x) * s for x, s in zip(row, sizes, strict=True)), Fraction(0))


# ---- correlation: y_i = Σ_a g_a d_{i+a}


def correlation(k: int, a: int, b: int) -> int:
    """The tensor entry T[k][a][b] of a correlation: 1 where b = k + a, else 0."""
    return int(b == k + a)


@lru_cache(maxsize=64)
def cook_toom(m: int, r: int) -> Bilinear:
    """The algorithm F(m, r): m results of a correlation with r taps by m + r - 1 products
    (Winograd).

    A product of polynomials of degrees m - 1 and r - 1, evaluated at m + r - 2 points and at
    infinity, multiplied there, and interpolated; then transposed (Lavin & Gray 2016, Barabasz et
    al. 2020). Lagrange's denominators go to the taps, whose transform is made once; only powers of
    two among them may go to the data or the results (`_folded`).
    """
    points = list(islice(_points(), m + r - 2))
    found = [_product_at(p, points, m, r) for p in points]
    whole, scale = _plain(_roots(points))
    found.append(_folded(_infinity(m), _times(1 / scale, _infinity(r)), whole))
    a, g, b = zip(*found, strict=True)
    return Bilinear(tuple(zip(*a, strict=True)), g, b)


Column = tuple[Row, Row, Row]
"""How a product counts in the results, and its factors: of taps and of data."""


def _product_at(p: Fraction, points: Sequence[Fraction], m: int, r: int) -> Column:
    """The rows of A, G and B for the product at the point p, one of `points`. They are powers of p,
    for the m results and for the r taps, and, for the data, the coefficients of Lagrange's
    polynomial of p; powers of two are moved between them (`_folded`)."""
    others = [q for q in points if q != p]
    whole, scale = _plain(_roots(others))
    divisor = scale * prod(p - q for q in others)
    sign = -1 if divisor < 0 else 1
    taps = _times(sign / divisor, _powers(p, r))
    return _folded(_powers(p, m), taps, (*_times(sign, whole), Fraction(0)))


def _folded(a: Row, g: Row, b: Row) -> Column:
    """The rows a, g and b (of A, G and B) of one product, with g, the taps' row, divided by the
    least ±2^k in it, so that one tap becomes ±1.

    To make up for that, b, the data's row, is multiplied by the same number if products by powers
    of two are free in it then (`rides`); otherwise a, the results' row, is multiplied.
    """
    least = min(map(abs, filter(is_power, g)), default=Fraction(1))
    taps, data = _times(1 / least, g), _times(least, b)
    return (a, taps, data) if rides(data) else (_times(least, a), taps, b)


def _times(c: Fraction | int, xs: Sequence[Fraction]) -> Row:
    return tuple(c * x for x in xs)


def _points() -> Iterator[Fraction]:
    """The points 0, 1, -1, 2, -2, 1/2, -1/2, 3, … of evaluation: small numbers first, so that
    rounding stays small."""
    yield Fraction(0)
    for n in count(1):
        yield from dict.fromkeys((Fraction(n), Fraction(-n), Fraction(1, n), Fraction(-1, n)))


def _powers(p: Fraction, n: int) -> Row:
    return tuple(p**i for i in range(n))


def _infinity(n: int) -> Row:
    """The row that takes the leading coefficient of a polynomial with n coefficients: its value at
    infinity."""
    return (*([Fraction(0)] * (n - 1)), Fraction(1))


def _roots(points: Sequence[Fraction]) -> list[Fraction]:
    """The coefficients of the polynomial Π (x - p) over these points, the constant first."""
    found = [Fraction(1)]
    for p in points:
        shifted, scaled = [Fraction(0), *found], [*(-p * c for c in found), Fraction(0)]
        found = [a + b for a, b in zip(shifted, scaled, strict=True)]
    return found


def _plain(xs: Sequence[Fraction]) -> tuple[Row, Fraction]:
    """The numbers xs times a scale, and the scale. It makes them whole, and then divides by the
    least ±2^k among them, if there is one, so that this becomes ±1.

    So where a number is multiplied by ±2^k, another of the same sum is not multiplied at all.
    """
    scale = Fraction(lcm(*(x.denominator for x in xs)))
    powers = [abs(x * scale) for x in xs if is_power(x * scale)]
    scale /= min(powers, default=Fraction(1))
    return _times(scale, xs), scale


# ---- products of matrices and of complex numbers


def block_product(c: int, a: int, b: int) -> int:
    """The tensor entry T[c][a][b] of a product of 2 × 2 block matrices C_ij = Σ_k A_ik B_kj: 1
    where c = 2i + j, a = 2i + k and b = 2j + k, else 0."""
    (i, j), (p, k), (q, l) = divmod(c, 2), divmod(a, 2), divmod(b, 2)
    return int(i == p and j == q and k == l)


def strassen() -> Bilinear:
    """Strassen's algorithm (1969): a product of 2 × 2 block matrices by seven products of
    blocks."""
    return Bilinear(
        a=_matrix("1001-101 0010100 0101000 1-110010"),
        g=_matrix("1001 0011 1000 0001 1100 -1010 010-1"),
        b=_matrix("1001 1000 001-1 -1100 0001 1010 0101"),
    )


def complex_product(y: int, a: int, b: int) -> int:
    """The tensor entry T[y][a][b] of a product of complex numbers (a0 + a1 i) (b0 + b1 i): the
    factor of a_a b_b in part y of the result."""
    return (1 if y or not a else -1) * int((a + b) % 2 == y)


def gauss() -> Bilinear:
    """Gauss's algorithm: a complex product by three real products, b0 (a0 + a1), a0 (b1 - b0) and
    a1 (b0 + b1)."""
    return Bilinear(a=_matrix("10-1 110"), g=_matrix("11 10 01"), b=_matrix("10 -11 11"))


def _matrix(rows: str) -> Matrix:
    """The matrix that the text `rows` writes as words of the digits 0, 1 and -1, a word for each
    row."""
    return tuple(tuple(map(Fraction, findall("-?[01]", row))) for row in rows.split())
