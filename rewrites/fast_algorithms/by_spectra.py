"""Laws that turn rows which slide along each other into products of their spectra."""

# key: x a row, g a kernel's row, acc an accumulator, z its first value, l length

from collections.abc import Sequence
from functools import partial

from ir.core.nodes import (
    Binary,
    Edge,
    Expr,
    Lam,
    Lit,
    Map,
    Pad,
    PadEdge,
    Reduce,
    Slide,
    Var,
    Zip,
)
from ir.core.terms import apply, component, free, lam2, substitute
from ir.core.type_rules import elem_of, size_of, type_of
from ir.core.types import FLOAT
from rewrites.analysis.alpha_equality import alike, bound
from rewrites.analysis.binder_names import name_of
from rewrites.analysis.out_views import adds_anything
from rewrites.engine.rule import rule
from rewrites.fast_algorithms.by_rows import added, slid, zeros
from rewrites.fast_algorithms.dft_terms import (
    COMPLEX,
    complexes,
    conjugate,
    dft,
    each,
    irdft,
    planes,
    rdft,
    times,
)
from rewrites.fast_algorithms.fourier import BACKWARD, STAGE, TO_REAL, source
from rewrites.laws.affine_views import widened
from rewrites.nest.rows_in_windows import length

LONGEST = 1 << 15  # of a transform: products of two of its indices are ints


def product(zs: Expr, ws: Expr) -> Expr:
    """The term z conj w for the complex numbers z of the array zs and w of ws, element by
    element."""
    return each(lambda z, w: times(conjugate(w), z), zs, ws)


@rule(
    "map (w -> reduce (w conj g)) (slide v 1 x)  =  crop . idft (dft (pad x) conj dft (pad g / l))",
    rounding=16.0,
)
def correlate(e: Map) -> Expr | None:
    """A row of x slid along g becomes the inverse transform of the product of their spectra
    (convolution theorem).

    The length l is a power of two, no less than the row, so nothing wraps around. Where the row is
    padded with zeros at both ends, one run of zeros may stand for both: the row without its shorter
    padding is no longer than l. Of real numbers half of a spectrum is enough: rdft, irdft.
    """
    match e:
        case Map(Lam(_, Reduce(_, _, Zip((_, g)))), Slide(_, 1, x)) if _numbers(x, g):
            n, v = size_of(x), size_of(g)
            if not isinstance(n, int) or not isinstance(v, int) or not alike(e, slid(x, g)):
                return None
            left, shared, row = _zeros_around(x)
            l = length(max(n - shared, v, n - v + 1))
            if l > LONGEST:
                return None
            data = _spectrum(_parts(row), l, left)
            taps = _spectrum([_scaled(part, 1 / l) for part in _parts(g)], l)
            both = product(data, taps)
            sums = irdft(both, l) if elem_of(x) == FLOAT else dft(both, l, 1)
            return PadEdge(Edge.ANY, 0, n - v + 1 - l, sums) if n - v + 1 < l else sums
    return None


def _numbers(x: Expr, g: Expr) -> bool:
    """True if x and g are rows of floats or of complex numbers, none from `pad_any`: a transform
    mixes a whole row."""
    same = elem_of(x) == elem_of(g) and elem_of(x) in (FLOAT, COMPLEX)
    return same and not adds_anything(Zip((x, g)))


def _parts(xs: Expr) -> Sequence[Expr]:
    """The arrays of real numbers that xs is made of: itself, or the real and the imaginary
    parts."""
    if elem_of(xs) == FLOAT:
        return [xs]
    return xs.parts if isinstance(xs, Zip) else [each(partial(component, i), xs) for i in (0, 1)]


def _scaled(xs: Expr, by: float) -> Expr:
    return each(lambda y: Binary("*", y, Lit(by, FLOAT)), xs)


def _zeros_around(x: Expr) -> tuple[int, int, Expr]:
    """A triple for the row x: the number of zeros that it begins with, the number that both ends
    have at least, and x without them. It is (0, 0, x) unless x pads both ends with zeros."""
    match x:
        case Pad(int() as l, int() as r, c, xs) if min(l, r) > 0 and alike(c, zeros(type_of(c))):
            return l, min(l, r), xs
    return 0, 0, x


def _spectrum(parts: Sequence[Expr], l: int, left: int = 0) -> Expr:
    """The Fourier transform, as it is stored, of the row that `parts` make up: each is padded with
    zeros to length l, `left` of them before it and the others behind."""
    long = [widened(part, left, l - left - size_of(part)) for part in parts]
    return complexes(planes(rdft(long[0], l) if len(long) == 1 else dft(Zip(tuple(long)), l)))


# ---- what is linear


@rule(
    "reduce 0 (acc + f x)  =  f (reduce 0 (acc + x)),  f a crop or irdft",
    rounding=STAGE,
)
def linear_sum(e: Reduce) -> Expr | None:
    """A sum of f x becomes f of the sum of x, for f a crop or an inverse transform, through all
    sums of a nest."""
    match e:
        case Reduce(z, f, xs) if alike(z, zeros(type_of(z))):
            linear = _linear_term(f)
            if linear is None:
                return None
            inner = _source(linear)
            assert inner is not None
            return _again(linear, _without(zeros(type_of(inner)), f, xs))
    return None


def _linear_term(f: Lam) -> Expr | None:
    """The term g x that a nest of sums, with the function f, adds up, if g is a crop or an inverse
    transform; else None."""
    match f:
        case Lam((Var(acc, _), p), Reduce(Var(a, _), g, xs)) if a == acc:
            mine = bound(Lam(p, xs)) | {acc}
            found = _linear_term(g) if acc not in free(g) | free(xs) else None
            return found if found is not None and mine else None
        case Lam((Var(acc, _) as a, _), Map(_, Zip((Var(b, _), term))) as body) if a.name == b:
            inner = _source(term)
            plain = acc not in free(term) and alike(body, added(a, term))
            return term if inner is not None and plain else None
    return None


def _source(e: Expr) -> Expr | None:
    """The term x of e = f x, where f is a crop or an inverse transform; else None."""
    match e:
        case PadEdge(Edge.ANY, int() as l, int() as r, xs) if max(l, r) <= 0:
            return xs
    found = source(e, TO_REAL) or source(e, BACKWARD)
    return found[0] if found else None


def _again(f: Expr, x: Expr) -> Expr:
    """The term f, a crop or an inverse transform, with x in place of its argument."""
    match f:
        case PadEdge(edge, l, r, _):
            return PadEdge(edge, l, r, x)
    n = size_of(f)
    assert isinstance(n, int)
    return irdft(x, n) if elem_of(f) == FLOAT else dft(x, n, 1)


def _without(acc: Expr, f: Lam, xs: Expr) -> Expr:
    """The nest of sums over xs, beginning with `acc`, that adds up x where the nest of the function
    f adds up g x; g is a crop or an inverse transform."""
    assert isinstance(f.pattern, tuple)
    own, p = f.pattern

    def step(a: Expr, x: Expr) -> Expr:
        match f.body:
            case Reduce(_, g, inner):
                rest = Lam(p, _without(Var("?acc", type_of(acc)), g, inner))
            case Map(_, Zip((_, term))):
                found = _source(term)
                assert found is not None
                rest = Lam(p, added(Var("?acc", type_of(acc)), found))
            case other:
                raise AssertionError(f"not a nest that adds: {type(other).__name__}")
        return substitute(apply(rest, x), {"?acc": a})

    return Reduce(acc, lam2((name_of(own), name_of(p)), (type_of(acc), elem_of(xs)), step), xs)
