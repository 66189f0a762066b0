"""Fourier transforms as programs: sums over roots of unity, written in the language.

A complex number is a pair (re, im). The spectrum of n real numbers is its first n/2 + 1 complex
numbers: the others are conjugates of these.
"""

# key: z w complex numbers, x a real number, k frequency, j position, n length, s sign

from collections.abc import Callable
from functools import partial

from ir.core.nodes import (
    At,
    Binary,
    Concat,
    Expr,
    Generate,
    Get,
    Lam,
    Let,
    Lit,
    MakeTuple,
    Map,
    Reduce,
    Split,
    Unary,
    Var,
    Zip,
)
from ir.core.terms import component, identity, lam, lam2, let
from ir.core.type_rules import elem_of, size_of, type_of
from ir.core.types import FLOAT, INT, Tuple
from ir.core.views import is_view
from rewrites.analysis.binder_names import element_of, joined

COMPLEX = Tuple((FLOAT, FLOAT))
ZERO = Lit(0.0, FLOAT)


# ---- complex numbers


def pair(re: Expr, im: Expr) -> Expr:
    return MakeTuple((re, im))


def plus(z: Expr, w: Expr) -> Expr:
    return _parts("+", z, w)


def minus(z: Expr, w: Expr) -> Expr:
    return _parts("-", z, w)


def _parts(op: str, z: Expr, w: Expr) -> Expr:
    return pair(*(Binary(op, component(i, z), component(i, w)) for i in (0, 1)))


def conjugate(z: Expr) -> Expr:
    return pair(component(0, z), Unary("neg", component(1, z)))


def times(w: Expr, z: Expr) -> Expr:
    (a, b), (x, y) = ((component(0, e), component(1, e)) for e in (w, z))
    re = Binary("-", Binary("*", a, x), Binary("*", b, y))
    return pair(re, Binary("+", Binary("*", a, y), Binary("*", b, x)))


def scaled(x: Expr, z: Expr) -> Expr:
    return pair(*(Binary("*", component(i, z), x) for i in (0, 1)))


def root(n: int, k: Expr, s: int) -> Expr:
    """The complex number exp(s 2 pi i k / n); k should be at most a few times n, to be exact."""
    cos = Unary("cospi", Binary("*", k, Lit(2 / n, FLOAT)))
    return pair(cos, Unary("sinpi", Binary("*", k, Lit(s * 2 / n, FLOAT))))


# ---- arrays


def indices(n: int) -> Expr:
    return Generate(n, identity(INT))


def each(f: Callable[..., Expr], *arrays: Expr) -> Expr:
    """The array of f of the elements of several arrays that stand at the same place."""
    xs = arrays[0] if len(arrays) == 1 else Zip(arrays)
    if len(arrays) == 1:
        return Map(lam(element_of(xs), elem_of(xs), f), xs)
    args, name = range(len(arrays)), joined(list(map(element_of, arrays)))
    return Map(lam(name, elem_of(xs), lambda x: f(*(component(i, x) for i in args))), xs)


def planes(zs: Expr) -> Expr:
    """The planes of complex numbers, as memory holds them: [(re, im)]n -> [[re]n, [im]n]."""

    def laid(z: Expr) -> Expr:
        return Split(size_of(z), Concat(*(each(partial(component, i), z) for i in (0, 1))))

    return let("numbers", zs, type_of(zs), laid)


def complexes(xss: Expr) -> Expr:
    """The complex numbers of two planes: [[re]n, [im]n] -> [(re, im)]n."""
    if is_view(xss):
        return Zip((At(0, xss), At(1, xss)))
    return let("planes", xss, type_of(xss), complexes)


def planes_of(zs: Expr) -> Expr | None:
    """The planes xss, where zs is complexes(xss); else None."""
    match zs:
        case Let(Var(name, _), xss, Zip((At(0, Var(x, _)), At(1, Var(y, _))))) if name == x == y:
            return xss
        case Zip((At(0, xss), At(1, yss))) if xss == yss and size_of(xss) == 2:
            return xss
    return None


# ---- transforms


def dft(zs: Expr, n: int, s: int = -1) -> Expr:
    """The Fourier transform of n complex numbers: [z]n -> [sum over j of exp(s 2 pi i j k / n)
    z_j]n."""
    return Generate(n, _sums(zs, n, lambda z, jk: times(root(n, jk, s), z)))


def rdft(xs: Expr, n: int) -> Expr:
    """The first n/2 + 1 complex numbers of the Fourier transform of n real numbers."""
    return Generate(n // 2 + 1, _sums(xs, n, lambda x, jk: scaled(x, root(n, jk, -1))))


def irdft(zs: Expr, n: int) -> Expr:
    """The n real numbers whose `rdft` is n zs: [z](n/2 + 1) -> [x]n; numbers other than the first
    and the last stand for their conjugates too."""
    half = n // 2

    def term(z: Expr, k: Expr, j: Expr) -> Expr:
        ends = (k, Binary("-", Lit(half, INT), k))
        sides = Binary("+", *(Binary("min", Lit(1, INT), end) for end in ends))
        return Binary("*", sides, component(0, times(root(n, _turned(j, k, n), 1), z)))

    def sample(j: Expr) -> Expr:
        xs = Zip((zs, indices(half + 1)))
        step = lam2(
            ("acc", "number"),
            (FLOAT, elem_of(xs)),
            lambda acc, x: Binary("+", acc, term(Get(0, x), Get(1, x), j)),
        )
        return Reduce(ZERO, step, xs)

    return Generate(n, lam("j", INT, sample))


def _sums(xs: Expr, n: int, term: Callable[[Expr, Expr], Expr]) -> Lam:
    """The function k -> sum over j of term(x_j, j k), for the n elements x_j of xs; j k is taken
    modulo n."""

    def one(k: Expr) -> Expr:
        pairs = Zip((xs, indices(n)))
        step = lam2(
            ("acc", "number"),
            (COMPLEX, elem_of(pairs)),
            lambda acc, x: plus(acc, term(Get(0, x), _turned(Get(1, x), k, n))),
        )
        return Reduce(pair(ZERO, ZERO), step, pairs)

    return lam("k", INT, one)


def _turned(j: Expr, k: Expr, n: int) -> Expr:
    """The product j k modulo n: the angle of a root of unity without whole turns."""
    return Binary("%", Binary("*", j, k), Lit(n, INT))
