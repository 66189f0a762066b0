"""Laws of sums of products over windows: fewer products, by transforms that are constant matrices
(Winograd)."""

# key: m results, r taps, d data, g taps' values, w window, z initial value

from collections.abc import Set
from math import prod

from ir.core.frozen import frozen
from ir.core.nodes import (
    Expr,
    Lam,
    MakeTuple,
    Map,
    Reduce,
    Slide,
    Transpose,
    Var,
    Zip,
)
from ir.core.size import Size
from ir.core.terms import apply, free, lam2
from ir.core.type_rules import elem_of, type_of
from ir.core.types import FLOAT, Array, Type
from rewrites.analysis.linearity import added, bilinear, is_zero, opened
from rewrites.analysis.out_views import adds_anything
from rewrites.engine.rule import rule
from rewrites.fast_algorithms.bilinear_algorithms import (
    cook_toom,
    correlation,
)
from rewrites.fast_algorithms.constant_matrices import transformed

Sides = tuple[int, ...]  # along each dimension


@frozen
class Correlation:
    """A sum of products over windows of `data` with `taps`, by the bilinear `product` of their
    elements; `sizes` are those of a window, the outermost dimension first."""

    data: Expr
    taps: Expr
    sizes: Sides  # of the windows, outermost first
    product: Lam  # (x, h) -> x ⊗ h


def growth(m: Sides, r: Sides) -> float:
    """The factor by which errors of products grow at most by F(m, r), with the m and r of each
    dimension."""
    return prod(cook_toom(*sides).amplification() for sides in zip(m, r, strict=True))


def rounded(m: Sides, r: Sides) -> float:
    """The machine epsilons, relative to the products, that rounding in the transforms of F(m, r)
    loses."""
    return 2 * growth(m, r)


@rule(
    "map (w -> reduce 0 (+ ⊗) (zip w g)) (slide r 1 d)  =  A [(G g) ⊗ (B d)],  A, G, B of F(m, r)",
    rounding=rounded,
    growth=growth,
)
def fewer_products(e: Expr, m: Sides, r: Sides) -> Expr | None:
    """Sums of products over windows of r become m results a side by the algorithm F(m, r), in one
    dimension or two.

    The product ⊗ may be any bilinear map of what windows and taps hold, the same for all windows
    and taps. F(m, r) is proved to be the correlation of m + r - 1 numbers with r taps before it is
    used. It mixes all data of a tile, so all must be numbers.
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
    """True if F(m, r) has fewer than m r products, as it does if m and r are known and greater than
    1."""
    return isinstance(m, int) and isinstance(r, int) and min(m, r) > 1


def _sizes(t: Type, dims: int) -> tuple[Size, ...]:
    """The lengths of the `dims` outer dimensions of an array type."""
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
    """The correlation `found` itself, if its product uses none of the variables `windows`, so that
    it may leave the maps over windows; else None."""
    return None if free(found.product) & windows else found


def _ordered(parts: tuple[Expr, ...], w: str) -> int | None:
    """The index of that one of two `parts` which is just the window w, if the other does not use w;
    else None."""
    for i in (0, 1):
        if isinstance(parts[i], Var) and free(parts[i]) == {w} and w not in free(parts[1 - i]):
            return i
    return None


def _product(f: Lam, window: int) -> Lam | None:
    """The function (x, h) -> x ⊗ h of a fold f over pairs that adds x ⊗ h, where x is the part
    number `window` of a pair; None if f is no such fold."""
    found = opened(f, window)
    if found is None:
        return None
    acc, x, h, body = found
    term = added(body, acc.name)
    return Lam((x, h), term) if term is not None and bilinear(term, x, h) else None


def _inner(f: Lam, window: int) -> Lam | None:
    """The function (x, h) -> x ⊗ h, where f folds over pairs of a row of a window and a row of
    taps, and adds up x ⊗ h over the elements x and h of both; `window` is the place of the window's
    row in a pair. None for other functions f."""
    found = opened(f, window)
    if found is None:
        return None
    acc, x, h, body = found
    match body:
        case Reduce(Var(name, _), g, Zip((_, _) as parts)) if name == acc.name:
            if parts[window] == x and parts[1 - window] == h:
                product = _product(g, window)
                outer = {acc.name, x.name, h.name}
                return None if product is None or free(product) & outer else product
    return None


def _products(f: Lam, data: Expr, taps: Expr, dims: int) -> Expr:
    """The products f x h of data and taps, element by element in `dims` dimensions."""
    pairs = Zip((data, taps))
    t, u = elem_of(data), elem_of(taps)
    if dims == 1:
        step = lam2(("datum", "tap"), (t, u), lambda x, h: apply(f, MakeTuple((x, h))))
    else:
        step = lam2(("data", "taps"), (t, u), lambda x, h: _products(f, x, h, dims - 1))
    return Map(step, pairs)
