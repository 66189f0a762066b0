"""A law of products of matrices of complex numbers: three products of real matrices instead of
four."""

# key: x y rows, z w complex numbers, k i j parts of results and of both factors, p polynomial

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import product

from ir.core.nodes import (
    At,
    Binary,
    Concat,
    Expr,
    Get,
    Lam,
    Let,
    Lit,
    MakeArray,
    MakeTuple,
    Map,
    Reduce,
    Split,
    Unary,
    Var,
    Zip,
)
from ir.core.terms import apply, component, free, lam2, let
from ir.core.type_rules import elem_of, size_of, type_of
from ir.core.types import FLOAT, Array, Tuple, Type, depth
from rewrites.analysis.linearity import NotLinear, is_zero
from rewrites.analysis.out_views import adds_anything
from rewrites.engine.rule import rule
from rewrites.fast_algorithms.bilinear_algorithms import Bilinear, Matrix, gauss
from rewrites.fast_algorithms.block_products import matrix_product
from rewrites.fast_algorithms.constant_matrices import spelled, transformed
from rewrites.fast_algorithms.dft_terms import COMPLEX, each, pair
from rewrites.laws.views import swapped


@rule(
    "map (x -> map (y -> reduce 0 (acc + z w) (zip x y)) ys) xs  =  A [(G xs') ⊗ (B ys')]"
    ",  xs' and ys' their real and imaginary parts, ⊗ the product of matrices",
    rounding=2 * gauss().amplification(),
    growth=gauss().amplification(),
)
def three_products(e: Map) -> Expr | None:
    """A product of complex matrices becomes three products of real ones (Gauss); each factor may be
    conjugated.

    However the product is written, what its sum adds is a tensor. Gauss's algorithm is tried with
    all choices of signs until one is proved to compute that tensor.
    """
    found = _sums(e)
    if found is None or adds_anything(Zip(found[:2])):
        return None
    xs, ys, sums, turned = found
    algorithm = _algorithm(sums)
    if algorithm is None:
        return None
    g, b = (algorithm.b, algorithm.g) if turned else (algorithm.g, algorithm.b)
    return _by_three(replace(algorithm, g=g, b=b), xs, ys)


def _sums(e: Expr) -> tuple[Expr, Expr, Reduce, bool] | None:
    """The parts of e, a map over rows xs of a map over rows ys of a sum: xs, ys, the sum for a pair
    of rows, and whether the row of ys is the first factor in it. None if e is no such term."""
    match e:
        case Map(Lam(Var(x, _), Map(Lam(Var(y, _), Reduce() as sums), ys)), xs):
            match sums.xs:
                case Zip((Var(a, _), Var(b, _))) if {a, b} == {x, y} and x not in free(ys):
                    return xs, ys, sums, a == y
    return None


def _by_three(algorithm: Bilinear, xs: Expr, ys: Expr) -> Expr:
    left, right = transformed([algorithm.g], _parts(xs)), transformed([algorithm.b], _parts(ys))
    step = lam2(("rows", "columns"), (elem_of(left), elem_of(right)), matrix_product)
    sums = Map(step, Zip((left, right)))

    def number(*sums: Expr) -> Expr:
        return pair(*(spelled(row, sums) for row in algorithm.a))

    def numbers(y: Expr) -> Expr:
        rows = [At(n, y) for n in range(algorithm.products)]
        return each(lambda *row: each(number, *row), *rows)

    return let("sums", sums, type_of(sums), numbers)


def _parts(xs: Expr) -> Expr:
    """The matrix xs of complex numbers as its two planes: [[(re, im)]k]n or [[[re, im]]k]n ->
    [[[re]k]n, [[im]k]n]."""
    if depth(type_of(xs)) > 2:
        return swapped(swapped(xs, 1), 0)
    both = (each(partial(each, partial(component, i)), xs) for i in (0, 1))
    return Concat(*(Split(size_of(xs), part) for part in both))


# ---- what is added up


def _algorithm(e: Reduce) -> Bilinear | None:
    """The three products that compute what the sum e adds, if it starts from 0 and adds complex
    products; else None."""
    tensor = _tensor(e) if _numbers(e) and _is_zero(e.init) else None
    if tensor is None:
        return None
    return next((w for w in _signed(gauss()) if w.computes(lambda *at: tensor.get(at, 0))), None)


def _numbers(e: Reduce) -> bool:
    """True if e sums up products of two complex numbers: pairs, or arrays of two floats."""
    t = elem_of(e.xs)
    factors = t.parts if isinstance(t, Tuple) else ()
    known = len(factors) == 2 and all(part in (COMPLEX, Array(FLOAT, 2)) for part in factors)
    return known and type_of(e) == COMPLEX


def _is_zero(z: Expr) -> bool:
    return isinstance(z, MakeTuple) and all(map(is_zero, z.parts))


def _signed(w: Bilinear) -> Iterator[Bilinear]:
    """The variants of an algorithm with each factor and the result conjugated or not, and negated
    or not."""
    columns = tuple(zip(*w.a, strict=True))
    for a, g, b in product(*map(_signs, (columns, w.g, w.b))):
        yield Bilinear(tuple(zip(*a, strict=True)), g, b)


def _signs(m: Matrix) -> list[Matrix]:
    """The matrices that m becomes by each choice of signs for its two columns."""
    return [tuple((s * x, t * y) for x, y in m) for s, t in product((1, -1), repeat=2)]


Polynomial = dict[tuple[str, ...], float]  # how often each product of variables counts
Value = Polynomial | tuple["Value", ...]


def _tensor(e: Reduce) -> dict[tuple[int, int, int], float] | None:
    """The tensor of the product of two complex numbers that e adds: for (k, i, j), how often part i
    of one factor times part j of the other enters part k. None if e adds anything else."""
    factors = elem_of(e.xs)
    assert isinstance(factors, Tuple)
    kinds = (type_of(e), *factors.parts)
    acc, z, w = (_pair(name, t) for name, t in zip("azw", kinds, strict=True))
    try:
        parts = _value(apply(e.f, MakeTuple((acc, MakeTuple((z, w))))))
    except NotLinear:
        return None
    found: dict[tuple[int, int, int], float] = {}
    for k, part in enumerate(parts):
        assert isinstance(part, dict)
        if part.pop((f"a.{k}",), 0) != 1:
            return None
        at: dict[tuple[str, ...], tuple[int, int, int]]
        at = {(f"w.{j}", f"z.{i}"): (k, i, j) for i, j in product((0, 1), repeat=2)}
        if not part.keys() <= at.keys():
            return None
        found |= {at[names]: n for names, n in part.items()}
    return found


def _pair(name: str, t: Type) -> Expr:
    parts = tuple(Var(f"{name}.{i}", FLOAT) for i in (0, 1))
    return MakeTuple(parts) if isinstance(t, Tuple) else MakeArray(parts)


def _value(e: Expr) -> Value:
    match e:
        case Var(name, _) if "." in name:
            return {(name,): 1}
        case Lit(value, _):
            return {(): float(value)}
        case MakeTuple(parts) | MakeArray(parts):
            return tuple(map(_value, parts))
        case Get(int(i), inner) | At(int(i), inner):
            found = _value(inner)
            assert isinstance(found, tuple)
            return found[i]
        case Let(p, value, body):
            return _value(apply(Lam(p, body), value))
        case Unary("neg", a):
            return _times({(): -1}, _polynomial(a))
        case Binary("+", a, b):
            return _plus(_polynomial(a), _polynomial(b))
        case Binary("-", a, b):
            return _plus(_polynomial(a), _times({(): -1}, _polynomial(b)))
        case Binary("*", a, b):
            return _times(_polynomial(a), _polynomial(b))
    raise NotLinear


def _polynomial(e: Expr) -> Polynomial:
    found = _value(e)
    assert isinstance(found, dict)
    return found


def _plus(p: Polynomial, q: Polynomial) -> Polynomial:
    total = {names: p.get(names, 0) + q.get(names, 0) for names in p | q}
    return {names: n for names, n in total.items() if n}


def _times(p: Polynomial, q: Polynomial) -> Polynomial:
    if len(p) * len(q) > MOST_TERMS:
        raise NotLinear
    total: Polynomial = {}
    for (a, n), (b, m) in product(p.items(), q.items()):
        total = _plus(total, {tuple(sorted((*a, *b))): n * m})
    return total


MOST_TERMS = 64
"""More are in no product of complex numbers; a program may multiply as often as it likes."""
