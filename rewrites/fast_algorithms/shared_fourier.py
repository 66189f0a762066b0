"""Laws of Fourier transforms whose work several work-items share: real transforms as complex ones
of half the length.

Roots of unity come from tables, since the index of a work-item is no constant.
"""

# key: zs complex numbers, xs real numbers, n length, m half of it, w root, k frequency, s sign

from collections.abc import Callable, Sequence
from math import cos, pi, sin

from ir.core.nodes import (
    At,
    Binary,
    Concat,
    Edge,
    Expr,
    Generate,
    Join,
    Lit,
    MakeArray,
    PadEdge,
    Split,
    Transpose,
    Zip,
)
from ir.core.size import Size
from ir.core.terms import component, let
from ir.core.type_rules import type_of
from ir.core.types import FLOAT, INT
from rewrites.engine.rule import rule
from rewrites.fast_algorithms.dft_terms import (
    conjugate,
    dft,
    each,
    indices,
    minus,
    pair,
    plus,
    scaled,
    times,
)
from rewrites.fast_algorithms.fourier import (
    REAL,
    STAGE,
    TO_REAL,
    Transform,
    in_phases,
    mirrored,
    source,
)


@rule("rdft n  =  untangle . dft (n/2) . pairs", rounding=STAGE)
def pair_rdft(e: Generate) -> Expr | None:
    """A transform of n real numbers becomes one of n/2 complex numbers, the (even, odd) pairs,
    untangled.

        X = (Z + conj M) / 2 + w (Z - conj M)

    Z is the transform of the pairs, M_k = Z_(n/2 - k), and w_k = -i/2 exp(-2 pi i k / n).
    """
    found = _even(e, REAL)
    if found is None:
        return None
    xs, m = found
    halves = Transpose(Split(2, xs))
    z = dft(Zip((At(0, halves), At(1, halves))), m)
    ws = _table([-0.5j * w for w in _roots(2 * m, range(m + 1), -1)])

    def untangled(zs: Expr) -> Expr:
        around = PadEdge(Edge.WRAP, 0, 1, zs)
        half = Lit(0.5, FLOAT)
        return each(
            lambda a, b, w: plus(scaled(half, plus(a, conjugate(b))), _turn(w, a, b)),
            around,
            mirrored(around),
            ws,
        )

    return let("spectrum", z, type_of(z), untangled)


@rule("irdft n  =  interleave . dft (n/2) . tangle", rounding=STAGE)
def pair_irdft(e: Generate) -> Expr | None:
    """An inverse transform to n real numbers becomes one of n/2 complex numbers, whose parts are
    (even, odd) results.

        T = (Z + conj M) + i w (Z - conj M)

    Z is the spectrum, M_k = Z_(n/2 - k), and w_k = exp(2 pi i k / n). The first and the last number
    of a spectrum are real: their imaginary part is not read.
    """
    found = _even(e, TO_REAL)
    if found is None:
        return None
    zs, m = found
    low, high = (PadEdge(Edge.ANY, 0, -1, x) for x in (zs, mirrored(zs)))
    ws = _table([1j * w for w in _roots(2 * m, range(m), 1)])

    def tangle(a: Expr, b: Expr, w: Expr, k: Expr) -> Expr:
        a, b = (_real_at_zero(z, k) for z in (a, b))
        return plus(plus(a, conjugate(b)), _turn(w, a, b))

    tangled = each(tangle, low, high, ws, indices(m))
    y = dft(tangled, m, 1)

    def samples(ys: Expr) -> Expr:
        even, odd = each(lambda z: component(0, z), ys), each(lambda z: component(1, z), ys)
        return Join(Transpose(Split(m, Concat(even, odd))))

    return let("pairs", y, type_of(y), samples)


def _even(e: Expr, t: Transform) -> tuple[Expr, int] | None:
    """The array xs and half the length, where e is the transform of kind t of xs, of an even length
    of more than 2; else None."""
    found = source(e, t)
    return (found[0], found[1] // 2) if found and found[1] % 2 == 0 and found[1] > 2 else None


def _real_at_zero(z: Expr, k: Expr) -> Expr:
    inside = Binary("min", Lit(1, INT), k)
    return pair(component(0, z), Binary("*", inside, component(1, z)))


def _turn(w: Expr, a: Expr, b: Expr) -> Expr:
    """The term w (a - conj b) of complex numbers."""
    return times(w, minus(a, conjugate(b)))


@rule(
    "dft (r s)  =  join . transpose . map (dft r) . transpose . table . map (dft s) . phases r",
    rounding=STAGE,
)
def split_dft_tabled(e: Generate, r: Size) -> Expr | None:
    """A transform of length r s becomes r transforms of length s, turned by roots of unity from a
    table, and s of length r."""
    return in_phases(e, r, _turned)


def _turned(f: Callable[[Expr], Expr], columns: Expr, n: int, r: int, s: int) -> Expr:
    """The array of f(column) for each of the columns of the phases' transforms, after element p of
    column k is multiplied by the root of unity exp(s 2 pi i p k / n), from a constant table; a
    column has r elements."""
    ws = [_table(_roots(n, [p * k for p in range(1, r)], s)) for k in range(n // r)]
    turns = (MakeArray(tuple(w.parts[i] for w in ws)) for i in (0, 1))

    def turn(z: Expr, re: Expr, im: Expr) -> Expr:
        first, others = PadEdge(Edge.ANY, 0, 1 - r, z), PadEdge(Edge.ANY, -1, 0, z)
        return f(Concat(first, each(times, Zip((re, im)), others)))

    return each(turn, columns, *turns)


def _table(ws: Sequence[complex]) -> Zip:
    """The complex numbers ws as two constant arrays, of real and of imaginary parts."""
    parts: tuple[Callable[[complex], float], ...] = (lambda w: w.real, lambda w: w.imag)
    return Zip(tuple(MakeArray(tuple(Lit(part(w), FLOAT) for w in ws)) for part in parts))


def _roots(n: int, ks: Sequence[int], s: int) -> list[complex]:
    """The complex numbers exp(s 2 pi i k / n) for each k in `ks`; quarters of a turn are exact."""

    def root(k: int) -> complex:
        quarters, rest = divmod(4 * k % (4 * n), n)
        w = complex(cos(pi / 2 * rest / n), sin(pi / 2 * rest / n)) * 1j**quarters
        return complex(w.real + 0.0, s * w.imag + 0.0)  # no -0

    return [root(k) for k in ks]
