"""Laws of products with constant matrices: as two products that take fewer additions, and spelled
out as sums."""

# key: xs array, c coefficient, M S H matrices

from collections.abc import Sequence
from fractions import Fraction

from ir.core.nodes import (
    At,
    Binary,
    Expr,
    Get,
    Lam,
    Lit,
    MakeArray,
    Map,
    Reduce,
    Transpose,
    Unary,
    Var,
    Zip,
)
from ir.core.terms import free, lam, lam2
from ir.core.type_rules import elem_of, type_of
from ir.core.types import FLOAT, Array
from ir.core.views import is_table
from rewrites.analysis.linearity import is_zero, opened
from rewrites.engine.rule import rule
from rewrites.fast_algorithms.bilinear_algorithms import Matrix
from rewrites.fast_algorithms.matrix_factors import Rows, divided, is_power
from rewrites.laws.views import swapped


def transformed(matrices: Sequence[Matrix], xs: Expr) -> Expr:
    """The array xs multiplied with the matrices, the first along its outermost dimension, the next
    along the next; elements inside these dimensions may be arrays themselves."""
    dims = len(matrices)
    inner = type_of(xs)
    for _ in range(dims):
        assert isinstance(inner, Array)
        inner = inner.elem
    if isinstance(inner, Array):
        apart = xs
        for level in reversed(range(dims)):
            apart = swapped(apart, level)
        done: Expr = Map(lam("plane", elem_of(apart), lambda c: transformed(matrices, c)), apart)
        for level in range(dims):
            done = swapped(done, level)
        return done
    if dims == 1:
        return times(matrices[0], xs)
    rows = Map(lam("row", elem_of(xs), lambda row: transformed(matrices[1:], row)), xs)
    columns = Transpose(rows)
    return Transpose(Map(lam("column", elem_of(columns), lambda c: times(matrices[0], c)), columns))


def times(matrix: Sequence[Sequence[float | Fraction]], xs: Expr) -> Expr:
    """The product of a constant matrix with an array: map (row -> dot row xs) matrix."""
    table = MakeArray(tuple(MakeArray(tuple(Lit(float(x), FLOAT) for x in row)) for row in matrix))
    return Map(lam("row", elem_of(table), lambda row: dot(row, xs)), table)


def dot(row: Expr, xs: Expr) -> Expr:
    """The sum Σ c x over the pairs of a row of numbers and an array of numbers or of vectors."""
    pairs = Zip((row, xs))
    step = lam2(
        ("acc", "factor_term"),
        (elem_of(xs), elem_of(pairs)),
        lambda acc, p: Binary("+", acc, Binary("*", Get(0, p), Get(1, p))),
    )
    return Reduce(Lit(0.0, FLOAT), step, pairs)


@rule("map (row -> dot row xs) M  =  map (row -> dot row (map (row -> dot row xs) H)) S,  S H = M")
def divide_matrix(e: Map) -> Expr | None:
    """A product with a constant matrix becomes products with two that take fewer additions; None if
    none do."""
    found = constant_rows(e)
    factors = divided(found[0]) if found else None
    if found is None or factors is None:
        return None
    s, h = factors
    return times(s, times(h, found[1]))


@rule("map (row -> reduce 0 (+ *) (zip row xs)) [[c]]  =  [c · x + …],  without 0 x and 1 x")
def spell_rows(e: Map) -> Expr | None:
    """A product with a constant matrix becomes a list of its elements, each spelled out as a sum: 0
    x is left out, and 1 x is x."""
    found = constant_rows(e)
    if found is None:
        return None
    rows, xs = found
    return MakeArray(tuple(_spelled(row, xs) for row in rows))


def constant_rows(e: Expr) -> tuple[Rows, Expr] | None:
    """The matrix M and the array xs, where e is the product of a constant M with xs; else None."""
    match e:
        case Map(
            Lam(Var(row, _), Reduce(z, f, Zip((Var(other, _), xs)))), MakeArray() as table
        ) if row == other and row not in free(xs) and is_table(table):
            if is_zero(z) and sums_products(f):
                return tuple(map(_numbers, table.parts)), xs
    return None


def sums_products(f: Lam) -> bool:
    """True if f is (acc, (c, x)) -> acc + c * x, in any order."""
    found = opened(f, 0)
    if found is None:
        return False
    acc, c, x, body = found
    products = (Binary("*", c, x), Binary("*", x, c))
    return any(body in (Binary("+", acc, p), Binary("+", p, acc)) for p in products)


def _numbers(row: Expr) -> tuple[float, ...]:
    assert isinstance(row, MakeArray)
    return tuple(float(part.value) for part in row.parts if isinstance(part, Lit))


def _spelled(row: Sequence[float], xs: Expr) -> Expr:
    """The sum Σ c x of a row of numbers with the elements of the array xs."""
    return spelled(row, [At(k, xs) for k in range(len(row))])


def spelled(row: Sequence[float | Fraction], xs: Sequence[Expr]) -> Expr:
    """The sum Σ c x of numbers c, the `row`, times the terms xs. Terms that are not multiplied come
    first, then products by small numbers, to keep sums small; products by 0 are left out.

    If every term is multiplied, a product by ±2^k is not the first: added to another, it is free.
    """
    terms = [(c, x) for c, x in zip(row, xs, strict=True) if c]
    if not terms:
        return Lit(0.0, FLOAT)
    plain = any(abs(c) == 1 for c, _ in terms)
    terms.sort(key=lambda t: (t[0] != 1, abs(t[0]) != 1, not plain and is_power(t[0]), abs(t[0])))
    c, x = terms[0]
    total = x if c == 1 else Unary("neg", x) if c == -1 else _times(c, x)
    for c, x in terms[1:]:
        if abs(c) == 1:
            total = Binary("+" if c == 1 else "-", total, x)
        else:
            total = Binary("+", total, _times(c, x))
    return total


def _times(c: float | Fraction, x: Expr) -> Expr:
    return Binary("*", Lit(float(c), FLOAT), x)
