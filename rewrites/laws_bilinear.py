"""Laws of bilinear maps: fewer products, by transforms that are constant matrices."""

# key: m results, r taps, d data, g taps' values, w window, z initial value

from collections.abc import Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from ir.nat import Size
from ir.nodes import (
    At,
    Binary,
    Expr,
    Get,
    Lam,
    Lit,
    MakeArray,
    MakeTuple,
    Map,
    Reduce,
    Slide,
    Transpose,
    Unary,
    Var,
    Zip,
)
from ir.terms import apply, free, fresh, lam, lam2
from ir.types import FLOAT, Array, Type
from ir.typing import elem_of, type_of
from ir.views import is_table
from rewrites.bilinear import (
    Matrix,
    cook_toom,
    correlation,
)
from rewrites.laws_view import swapped
from rewrites.linear import added, bilinear
from rewrites.rule import rule
from rewrites.shape import adds_anything

Sides = tuple[int, ...]  # along each dimension


@dataclass(frozen=True, slots=True)
class Correlation:
    """Windows of data d, each multiplied with taps g and summed: `product` of the innermost two."""

    data: Expr
    taps: Expr
    sizes: Sides  # of the windows, outermost first
    product: Lam  # (x, h) -> x ⊗ h


def growth(m: Sides, r: Sides) -> float:
    """What rounding may come to, in machine epsilons: relative to it, products are this large."""
    return 2 * prod(cook_toom(*sides).amplification() for sides in zip(m, r, strict=True))


@rule(
    "map (w -> reduce 0 (+ ⊗) (zip w g)) (slide r 1 d)  =  A [(G g) ⊗ (B d)],  A, G, B of F(m, r)",
    rounding=growth,
)
def fewer_products(e: Expr, m: Sides, r: Sides) -> Expr | None:
    """m results of windows of r, in one dimension or two; ⊗ is any bilinear map of what windows
    and taps hold, the same for all windows and taps.

    F(m, r) is proved to be the correlation of m + r - 1 numbers with r taps before it is used. It
    mixes all data of a tile, so all must be numbers.
    """
    found = _one(e) or _two(e)
    if found is None or type_of(found.product.body) != FLOAT or adds_anything(found.data):
        return None
    if found.sizes != r or _sizes(type_of(e), len(r)) != m or not any(map(_saves, m, r)):
        return None
    algorithms = [cook_toom(*sides) for sides in zip(m, r, strict=True)]
    if not all(w.computes(correlation) for w in algorithms):
        return None
    taps = transformed([w.g for w in algorithms], found.taps)
    data = transformed([w.b for w in algorithms], found.data)
    return transformed([w.a for w in algorithms], _products(found.product, data, taps, len(r)))


def _saves(m: Size, r: Size) -> bool:
    """Whether F(m, r) has fewer than m r products; F(1, 1) stands where windows do not extend."""
    return isinstance(m, int) and isinstance(r, int) and min(m, r) > 1


def _sizes(t: Type, dims: int) -> tuple[Size, ...]:
    """The outer sizes of an array."""
    if dims == 0:
        return ()
    assert isinstance(t, Array)
    return (t.size, *_sizes(t.elem, dims - 1))


def _one(e: Expr) -> Correlation | None:
    match e:
        case Map(Lam(Var(w, _), Reduce(z, f, Zip((_, _) as parts))), Slide(int(r), 1, d)):
            ordered = _ordered(parts, w)
            if ordered is None or not is_zero(z):
                return None
            product = _product(f, ordered)
            return (
                _apart(Correlation(d, parts[1 - ordered], (r,), product), {w}) if product else None
            )
    return None


def _two(e: Expr) -> Correlation | None:
    match e:
        case Map(
            Lam(
                Var(rows, _),
                Map(
                    Lam(Var(w, _), Reduce(z, f, Zip((_, _) as parts))),
                    Transpose(Map(Lam(Var(x, _), Slide(int(s), 1, Var(y, _))), Var(v, _))),
                ),
            ),
            Slide(int(r), 1, d),
        ) if rows == v and x == y:
            ordered = _ordered(parts, w)
            if ordered is None or not is_zero(z) or rows in free(parts[1 - ordered]):
                return None
            product = _inner(f, ordered)
            taps = parts[1 - ordered]
            return _apart(Correlation(d, taps, (r, s), product), {rows, w}) if product else None
    return None


def _apart(found: Correlation, windows: Set[str]) -> Correlation | None:
    """A correlation whose product is the same for all windows: it leaves their maps."""
    return None if free(found.product) & windows else found


def is_zero(z: Expr) -> bool:
    return isinstance(z, Lit) and z.value == 0


def _ordered(parts: tuple[Expr, ...], w: str) -> int | None:
    """Which of two parts is the window, the other not using it."""
    for i in (0, 1):
        if isinstance(parts[i], Var) and free(parts[i]) == {w} and w not in free(parts[1 - i]):
            return i
    return None


def _opened(f: Lam, window: int) -> tuple[Var, Var, Var, Expr] | None:
    """acc, x, h and the body of a folding function, x the window's element."""
    assert isinstance(f.pattern, tuple)
    acc, pair = f.pattern
    if not isinstance(acc, Var):
        return None
    if isinstance(pair, tuple):
        first, second = pair
        if isinstance(first, Var) and isinstance(second, Var):
            return acc, (first, second)[window], (first, second)[1 - window], f.body
        return None
    t = pair.type
    names: list[str] = []
    for hint in ("x", "h"):
        names.append(fresh(hint, free(f.body) | {acc.name, *names}))
    x, h = Var(names[0], t.parts[window]), Var(names[1], t.parts[1 - window])  # type: ignore[union-attr]
    both = (x, h) if window == 0 else (h, x)
    return acc, x, h, apply(f, MakeTuple((acc, MakeTuple(both))))


def _product(f: Lam, window: int) -> Lam | None:
    """(x, h) -> x ⊗ h, for a fold that adds it."""
    opened = _opened(f, window)
    if opened is None:
        return None
    acc, x, h, body = opened
    term = added(body, acc.name)
    return Lam((x, h), term) if term is not None and bilinear(term, x, h) else None


def _inner(f: Lam, window: int) -> Lam | None:
    """The same for a fold over rows of windows and rows of taps."""
    opened = _opened(f, window)
    if opened is None:
        return None
    acc, x, h, body = opened
    match body:
        case Reduce(Var(name, _), g, Zip((_, _) as parts)) if name == acc.name:
            if parts[window] == x and parts[1 - window] == h:
                product = _product(g, window)
                outer = {acc.name, x.name, h.name}
                return None if product is None or free(product) & outer else product
    return None


def _products(f: Lam, data: Expr, taps: Expr, dims: int) -> Expr:
    """map^dims ⊗ (zip data taps)"""
    pairs = Zip((data, taps))
    t, u = elem_of(data), elem_of(taps)
    if dims == 1:
        step = lam2(("x", "h"), (t, u), lambda x, h: apply(f, MakeTuple((x, h))))
    else:
        step = lam2(("x", "h"), (t, u), lambda x, h: _products(f, x, h, dims - 1))
    return Map(step, pairs)


# ---- constant matrices


def transformed(matrices: Sequence[Matrix], xs: Expr) -> Expr:
    """One matrix along each outer dimension of xs; whatever the elements hold, each for itself."""
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


def times(matrix: Matrix, xs: Expr) -> Expr:
    """map (row -> dot row xs) matrix"""
    table = MakeArray(tuple(MakeArray(tuple(Lit(float(x), FLOAT) for x in row)) for row in matrix))
    return Map(lam("row", elem_of(table), lambda row: dot(row, xs)), table)


def dot(row: Expr, xs: Expr) -> Expr:
    """Σ c x over a zip"""
    pairs = Zip((row, xs))
    step = lam2(
        ("acc", "p"),
        (FLOAT, elem_of(pairs)),
        lambda acc, p: Binary("+", acc, Binary("*", Get(0, p), Get(1, p))),
    )
    return Reduce(Lit(0.0, FLOAT), step, pairs)


@rule("map (row -> reduce 0 (+ *) (zip row xs)) [[c]]  =  [c · x + …],  without 0 x and 1 x")
def spell_rows(e: Map) -> Expr | None:
    """A constant matrix times an array, element by element: 0 is left out, 1 and -1 only add."""
    match e:
        case Map(
            Lam(Var(row, _), Reduce(z, f, Zip((Var(other, _), xs)))), MakeArray() as table
        ) if row == other and row not in free(xs) and is_table(table):
            if not is_zero(z) or not sums_products(f):
                return None
            return MakeArray(tuple(_spelled(_numbers(r), xs) for r in table.parts))
    return None


def sums_products(f: Lam) -> bool:
    """(acc, (c, x)) -> acc + c * x"""
    opened = _opened(f, 0)
    if opened is None:
        return False
    acc, c, x, body = opened
    return body == Binary("+", acc, Binary("*", c, x))


def _numbers(row: Expr) -> list[float]:
    assert isinstance(row, MakeArray)
    return [part.value for part in row.parts if isinstance(part, Lit)]


def _spelled(row: Sequence[float], xs: Expr) -> Expr:
    """Σ c x of an array's elements"""
    return spelled(row, [At(k, xs) for k in range(len(row))])


def spelled(row: Sequence[float | Fraction], xs: Sequence[Expr]) -> Expr:
    """Σ c x, beginning with what needs no sign."""
    terms = [(c, x) for c, x in zip(row, xs, strict=True) if c]
    if not terms:
        return Lit(0.0, FLOAT)
    terms.sort(key=lambda term: (term[0] != 1, abs(term[0]) == 1))
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
