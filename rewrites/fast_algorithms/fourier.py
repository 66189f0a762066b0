"""Laws of Fourier transforms: a long one from short ones (Cooley and Tukey), and the shortest
spelled out.

The laws hold of exact numbers; in floating point each stage of a transform adds its rounding.
"""

# key: zs complex numbers, xs real numbers, n length, r radix, s sign, k frequency

from collections.abc import Callable
from functools import partial, reduce

from ir.core.frozen import frozen
from ir.core.nodes import (
    At,
    Binary,
    Concat,
    Edge,
    Expr,
    Generate,
    Join,
    Lam,
    Lit,
    MakeArray,
    Map,
    PadEdge,
    Reduce,
    Reorder,
    Split,
    Transpose,
    Zip,
)
from ir.core.size import Size
from ir.core.terms import component, free, lam, let
from ir.core.type_rules import elem_of, size_of, type_of
from ir.core.types import FLOAT, INT, Type
from rewrites.analysis.alpha_equality import alike, bound
from rewrites.engine.rule import rule
from rewrites.fast_algorithms.dft_terms import (
    COMPLEX,
    ZERO,
    conjugate,
    dft,
    each,
    indices,
    irdft,
    minus,
    pair,
    plus,
    rdft,
    root,
    times,
)


@frozen
class Transform:
    """A kind of Fourier transform: make(xs, n) is the term that transforms xs, `elem` the type of
    the elements of xs, and length(size) the length n of the transform for an array xs of that
    size."""

    make: Callable[[Expr, int], Expr]
    elem: Type
    length: Callable[[int], int] = lambda size: size


STAGE = 8.0  # machine epsilons that a stage may add

FORWARD = Transform(partial(dft, s=-1), COMPLEX)
BACKWARD = Transform(partial(dft, s=1), COMPLEX)
REAL = Transform(rdft, FLOAT)
TO_REAL = Transform(irdft, COMPLEX, lambda size: 2 * size - 2)


def source(e: Expr, t: Transform) -> tuple[Expr, int] | None:
    """The array xs and the length n, where e is the transform of kind t of xs; else None."""
    match e:
        case Generate(_, Lam(_, Reduce(_, _, Zip((xs, _)))) as f) if not bound(f) & free(xs):
            size = size_of(xs)
            if isinstance(size, int) and size > 1 and elem_of(xs) == t.elem:
                n = t.length(size)
                return (xs, n) if alike(e, t.make(xs, n)) else None
    return None


# ---- complex transforms


@rule(
    "dft (r s)  =  join . transpose . map (dft r) . transpose . twiddle . map (dft s) . phases r",
    rounding=STAGE,
)
def split_dft(e: Generate, r: Size) -> Expr | None:
    """A transform of length r s becomes r transforms of length s, turned by roots of unity, and s
    of length r."""
    return in_phases(e, r, _turned)


Turned = Callable[[Callable[[Expr], Expr], Expr, int, int, int], Expr]


def in_phases(e: Expr, r: Size, turned: Turned) -> Expr | None:
    """The transform e of length n made from those of its r phases (every r-th element), of length n
    / r each. turned(f, columns, n, r, s), with the sign s of the exponent, multiplies columns by
    roots of unity and applies f, the transform of length r, to each.

    None if e is no complex transform, or r is no number between 1 and n that divides n.
    """
    forward = source(e, FORWARD)
    found = forward or source(e, BACKWARD)
    if found is None:
        return None
    (zs, n), s = found, -1 if forward else 1
    if not isinstance(r, int) or not 1 < r < n or n % r:
        return None
    phases = Transpose(Split(r, zs))
    short = Map(lam("phase", elem_of(phases), lambda p: dft(p, n // r, s)), phases)

    def across(column: Expr) -> Expr:
        return let("column", column, type_of(column), lambda t: dft(t, r, s))

    def joined(spectra: Expr) -> Expr:
        return Join(Transpose(turned(across, Transpose(spectra), n, r, s)))

    return let("spectra", short, type_of(short), joined)


def _turned(f: Callable[[Expr], Expr], columns: Expr, n: int, r: int, s: int) -> Expr:
    """The array of f(column) for each of the columns of the phases' transforms, after element p of
    column k is multiplied by the root of unity exp(s 2 pi i p k / n); a column has r elements."""

    def turn(column: Expr, k: Expr) -> Expr:
        ps = indices(r)
        return f(each(lambda z, p: times(root(n, Binary("*", p, k), s), z), column, ps))

    return each(turn, columns, indices(n // r))


@rule("dft 2 [x, y]  =  [x + y, x - y]")
def dft_of_two(e: Generate) -> Expr | None:
    found = source(e, FORWARD) or source(e, BACKWARD)
    if found is None or found[1] != 2:
        return None
    x, y = At(0, found[0]), At(1, found[0])
    return Concat(_one(plus(x, y)), _one(minus(x, y)))


def _one(e: Expr) -> Expr:
    """The array of the one element e."""
    return Generate(1, lam("one", INT, lambda _: e))


# ---- real transforms


@rule(
    "rdft n  =  (e + w o, mirrored conj (e - w o)),  e, o = rdft (n/2) of even and odd",
    rounding=STAGE,
)
def split_rdft(e: Generate) -> Expr | None:
    """A transform of n real numbers becomes two of n/2, of the even and the odd elements, and their
    combination."""
    found = source(e, REAL)
    if found is None or found[1] % 4:
        return None
    xs, n = found
    phases = Transpose(Split(2, xs))
    halves = Map(lam("phase", elem_of(phases), lambda p: rdft(p, n // 2)), phases)
    return let("spectra", halves, type_of(halves), lambda y: _joined(y, n))


def _joined(halves: Expr, n: int) -> Expr:
    even, odd = At(0, halves), At(1, halves)
    turned = each(lambda z, k: times(root(n, k, -1), z), odd, indices(n // 4 + 1))

    def both(t: Expr) -> Expr:
        below = each(lambda z, w: conjugate(minus(z, w)), _first(even, 1), _first(t, 1))
        return Concat(each(plus, even, t), mirrored(below))

    return let("turned", turned, type_of(turned), both)


def _first(xs: Expr, fewer: int) -> Expr:
    """The array xs without its last elements, `fewer` of them."""
    return PadEdge(Edge.ANY, 0, -fewer, xs)


def mirrored(xs: Expr) -> Expr:
    last = size_of(xs) - 1
    assert isinstance(last, int)
    return Reorder(lam("index", INT, lambda i: Binary("-", Lit(last, INT), i)), xs)


@rule("rdft 2 [x, y]  =  [x + y, x - y]")
def rdft_of_two(e: Generate) -> Expr | None:
    found = source(e, REAL)
    if found is None or found[1] != 2:
        return None
    x, y = At(0, found[0]), At(1, found[0])
    return Concat(*(_one(pair(Binary(op, x, y), ZERO)) for op in "+-"))


@rule(
    "rdft 4 [a, b, c, d]  =  [s + t, (a - c, d - b), s - t],  s, t = a + c, b + d",
    rounding=STAGE,
)
def rdft_of_four(e: Generate) -> Expr | None:
    """A transform of four real numbers is spelled out as sums and differences."""
    found = source(e, REAL)
    if found is None or found[1] != 4:
        return None
    a, b, c, d = (At(i, found[0]) for i in range(4))
    sums = _row(Binary("+", a, c), Binary("+", b, d))
    turned = pair(Binary("-", a, c), Binary("-", d, b))

    def row(s: Expr) -> Expr:
        first, last = (pair(Binary(op, At(0, s), At(1, s)), ZERO) for op in "+-")
        return _row(first, turned, last)

    return let("sums", sums, type_of(sums), row)


def _row(*parts: Expr) -> Expr:
    """The array of these elements."""
    return reduce(Concat, map(_one, parts))


@rule(
    "irdft n zs  =  even, odd = irdft (n/2) of z + conj m and w (z - conj m),  m = mirrored zs",
    rounding=STAGE,
)
def split_irdft(e: Generate) -> Expr | None:
    found = source(e, TO_REAL)
    if found is None or found[1] % 4:
        return None
    zs, n = found
    low, high = _first(zs, n // 4), _first(mirrored(zs), n // 4)
    even = each(lambda z, m: plus(z, conjugate(m)), low, high)
    turned = each(
        lambda z, m, k: times(root(n, k, 1), minus(z, conjugate(m))), low, high, indices(n // 4 + 1)
    )
    halves = Split(n // 4 + 1, Concat(even, turned))

    def samples(y: Expr) -> Expr:
        return Join(Transpose(Map(lam("half", elem_of(y), lambda h: irdft(h, n // 2)), y)))

    return let("halves", halves, type_of(halves), samples)


@rule("irdft 2 [x, y]  =  [re x + re y, re x - re y]")
def irdft_of_two(e: Generate) -> Expr | None:
    found = source(e, TO_REAL)
    if found is None or found[1] != 2:
        return None
    x, y = (component(0, At(i, found[0])) for i in (0, 1))
    return Concat(_one(Binary("+", x, y)), _one(Binary("-", x, y)))


@rule(
    "irdft 4 [x, y, z]  =  [s + 2 re y, t - 2 im y, s - 2 re y, t + 2 im y],  s, t = re x ± re z",
    rounding=STAGE,
)
def irdft_of_four(e: Generate) -> Expr | None:
    found = source(e, TO_REAL)
    if found is None or found[1] != 4:
        return None
    x, y, z = (At(k, found[0]) for k in range(3))
    ends = _row(*(Binary(op, component(0, x), component(0, z)) for op in "+-"))

    def row(s: Expr) -> Expr:
        twice = ((2.0, 0), (-2.0, 1), (-2.0, 0), (2.0, 1))
        products = [(i, Binary("*", Lit(c, FLOAT), component(i, y))) for c, i in twice]
        return MakeArray(tuple(Binary("+", At(i, s), product) for i, product in products))

    return let("ends", ends, type_of(ends), row)
