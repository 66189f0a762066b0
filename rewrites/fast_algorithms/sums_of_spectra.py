"""Laws of sums of products of spectra: complex products made of four real ones, or of three."""

# key: z w complex numbers, zs ws sums of spectra's planes, acc an accumulator, f frequency

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce

from ir.core.nodes import (
    At,
    Binary,
    Concat,
    Expr,
    Get,
    Lam,
    Let,
    Map,
    Reduce,
    Split,
    Zip,
)
from ir.core.terms import lam, lam2, let, subterms
from ir.core.type_rules import elem_of, size_of, type_of
from ir.core.types import FLOAT, depth
from ir.core.views import is_view
from rewrites.analysis.alpha_equality import alike
from rewrites.engine.rule import rule
from rewrites.fast_algorithms.bilinear_algorithms import Matrix, complex_product, gauss
from rewrites.fast_algorithms.by_rows import adding, zeros
from rewrites.fast_algorithms.by_spectra import product
from rewrites.fast_algorithms.constant_matrices import spelled
from rewrites.fast_algorithms.dft_terms import ZERO, complexes, each, pair, planes
from rewrites.laws.affine_views import at_level, permuted


def _conjugate(matrix: Matrix) -> Matrix:
    """The matrix that makes of (re, im) what the given one makes of (re, -im)."""
    return tuple((re, -im) for re, im in matrix)


ONE = Fraction(1)
FOUR: Matrix = ((ONE, 0 * ONE), (0 * ONE, ONE), (0 * ONE, -ONE), (ONE, 0 * ONE))
"""(re w, im w) and (-im w, re w): whose products with (re z, im z) are those of z conj w."""
MATRICES = (FOUR, gauss().b, _conjugate(gauss().g))


def of_planes(a: Expr, b: Expr) -> Expr:
    """The products z conj w of complex numbers that are stored in planes."""
    return product(complexes(a), complexes(b))


def summed_spectra(e: Expr) -> tuple[Expr, Expr, int] | None:
    """The planes zs and ws and the count n, where e is the sum over n dimensions of z conj w; else
    None."""
    match e:
        case Reduce(z, _, Zip((zs, ws))):
            n = depth(type_of(zs)) - 2
            plain = n > 0 and depth(type_of(ws)) == n + 2 and is_view(Zip((zs, ws)))
            if plain and alike(e, adding(z, zs, ws, n, of_planes)):
                return (zs, ws, n) if alike(z, zeros(type_of(z))) else None
    return None


@rule("reduce 0 (acc + z conj w)  =  complexes (map (map (reduce … (reduce (z w')))) rows)")
def real_sums(e: Expr) -> Expr | None:
    """Sums of products z conj w of complex numbers become sums of four real products each, in the
    form of a matrix product: each number w becomes the two rows (re w, im w) and (-im w, re w)."""
    found = summed_spectra(e)
    if found is None:
        return None
    zs, ws, n = found
    both = at_level(n, ws, lambda b: Split(2, combined(FOUR, b)))
    rows = permuted(both, [*range(2, n + 2), 0, n + 2, 1])
    columns = permuted(zs, [*range(1, n + 1), n + 1, 0])

    def part(row: Expr) -> Expr:
        return each(lambda x, y: _nested(ZERO, x, y, n), columns, row)

    return complexes(Map(lam("row", elem_of(rows), part), rows))


@rule(
    "reduce 0 (acc + z conj w)  =  A (map (map (reduce … (reduce (G w' B z)))) (zip …))",
    rounding=2 * gauss().amplification(),
    growth=gauss().amplification(),
)
def three_sums(e: Expr) -> Expr | None:
    """Sums of products z conj w of complex numbers become sums of three real products each (Gauss).

    With the matrices A, G and B of the algorithm `gauss`, each conj w gives three numbers by G,
    each z three numbers by B, and A makes the real and the imaginary part of the three sums of
    their products.
    """
    found = summed_spectra(e)
    if found is None or not (algorithm := gauss()).computes(complex_product):
        return None
    zs, ws, n = found
    data = at_level(n, zs, lambda b: combined(algorithm.b, b))
    taps = at_level(n, ws, lambda b: combined(_conjugate(algorithm.g), b))
    points = (permuted(xs, [*range(2, n + 2), 0, 1]) for xs in (data, taps))
    sums = each(lambda x, y: each(lambda a, b: _nested(ZERO, a, b, n - 1), x, y), *points)

    def results(y: Expr) -> Expr:
        products = [At(i, y) for i in range(algorithm.products)]
        return each(lambda *p: pair(*(spelled(row, p) for row in algorithm.a)), *products)

    return let("sums", sums, type_of(sums), results)


def _nested(acc: Expr, x: Expr, y: Expr, deeper: int) -> Expr:
    """The term acc + Σ x y over the numbers at the same place in two arrays of `deeper` + 1
    dimensions."""
    pairs = Zip((x, y))

    def step(a: Expr, t: Expr) -> Expr:
        if deeper:
            return _nested(a, Get(0, t), Get(1, t), deeper - 1)
        return Binary("+", a, Binary("*", Get(0, t), Get(1, t)))

    return Reduce(acc, lam2(("acc", "product"), (FLOAT, elem_of(pairs)), step), pairs)


# ---- rows made of planes


def combined(matrix: Matrix, b: Expr) -> Expr:
    """The rows that a matrix makes of the planes b: [[re]n, [im]n] -> [c re + d im]n for each of
    its rows (c, d)."""
    rows = [_combination(row, b) for row in matrix]
    return Split(size_of(At(0, b)), reduce(lambda done, row: Concat(done, row), rows))


def _combination(row: Sequence[Fraction], b: Expr) -> Expr:
    kept = [(c, At(i, b)) for i, c in enumerate(row) if c]
    if [c for c, _ in kept] == [1]:
        return kept[0][1]
    return each(lambda *xs: spelled([c for c, _ in kept], xs), *(x for _, x in kept))


def combines(e: Expr) -> bool:
    """True if e is the product of a view of planes with one of the matrices by which this file's
    laws combine planes."""
    if isinstance(e, Split) and isinstance(e.xs, Split):
        return combines(e.xs)
    b = next((t.xs for t in subterms(e) if isinstance(t, At)), None)
    if not isinstance(e, Split) or not isinstance(e.xs, Concat) or b is None or not is_view(b):
        return False
    return any(alike(e, combined(m, b)) for m in MATRICES)


def is_sums(e: Expr) -> bool:
    """True if e has the form of sums of products of spectra: real sums inside two maps, over rows
    and frequencies, or complex numbers kept in planes."""
    match e:
        case Map(Lam(_, Map(Lam(_, Reduce(z, _, Zip((_, _)))), _)), _):
            return z == ZERO
        case Let(_, Reduce(), Split()):
            return True
    return False


@rule("reduce 0 (acc + z conj w)  =  complexes (planes (reduce 0 (acc + z conj w)))")
def sums_in_planes(e: Expr) -> Expr | None:
    """Sums of spectra are kept as memory holds complex numbers: in planes of real and imaginary
    parts."""
    return complexes(planes(e)) if summed_spectra(e) else None
