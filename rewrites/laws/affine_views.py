"""The construction of a view of an array `base` from the cells that it shows, base[a i + b j + c]:
the view has a dimension for each of the loop indices i, j, …."""

# key: e term, i index, k coefficient

from collections.abc import Callable, Sequence
from functools import partial

from ir.core.nodes import At, Edge, Expr, Join, Map, Pad, PadEdge, Slide, Split, Var
from ir.core.size import Size
from ir.core.terms import lam
from ir.core.type_rules import elem_of, size_of, type_of
from ir.core.types import Scalar, leaves
from ir.meaning.inputs import shape_of
from rewrites.analysis.affine_access import Access, Affine, Index, NoAccess, index
from rewrites.analysis.binder_names import element_of
from rewrites.analysis.folds import number
from rewrites.analysis.out_views import crops
from rewrites.laws.views import swapped


def gather(base: Expr, coordinates: tuple[Affine, ...], order: tuple[Index, ...]) -> Expr:
    """The array with a dimension for each index of `order`, outermost first, whose elements are the
    cells of `base` at `coordinates`. NoAccess if `base` is read backwards, or if an index is not in
    exactly one coordinate.

    Dimensions of `base` without a coordinate stay innermost.
    """
    e, found = base, list[Index]()
    for level, at in reversed(list(enumerate(coordinates))):
        e = at_level(level, e, partial(_reached, at=at))
    for level in reversed(range(len(coordinates))):
        own = sorted(coordinates[level].terms, key=lambda term: -term[1])
        if any(k < 1 for _, k in own):
            raise NoAccess("expected an array that is read forwards, found one read backwards")
        e = at_level(level, e, partial(_cells, terms=own))
        found = [i for i, _ in own] + found
    if sorted(found, key=repr) != sorted(order, key=repr):
        raise NoAccess(
            "expected each loop's index in one dimension of an operand, found it in none or in two"
        )
    return permuted(e, [order.index(i) for i in found])


def at_level(level: int, e: Expr, f: Callable[[Expr], Expr]) -> Expr:
    """The term that applies f to each array `level` dimensions inside e (map^level f e), or e
    itself where f changes nothing."""
    if level == 0:
        return f(e)
    row = Var("_", elem_of(e))
    if at_level(level - 1, row, f) == row:
        return e
    return Map(lam(element_of(e), elem_of(e), lambda r: at_level(level - 1, r, f)), e)


def unjoined(a: Access, sums: Sequence[Index]) -> Access:
    """The access `a`, but with some dimensions split: where several of the indices `sums` are the
    digits of one coordinate, its dimension becomes one for each of these indices."""
    base, coordinates = a.base, list[Affine]()
    for c, size in zip(a.coordinates, shape_of(type_of(a.base)), strict=False):
        digits = _digits(c, sums, size)
        base = at_level(len(coordinates), base, partial(_split, sizes=[i.size for i in digits]))
        coordinates += map(index, digits) if digits else [c]
    return Access(base, tuple(coordinates))


def _digits(c: Affine, sums: Sequence[Index], size: int) -> list[Index]:
    """The indices that are the digits of the coordinate c, the most significant first: c takes each
    value from 0 to size - 1 once. An empty list if c is no such number, has one index only, or has
    an index that is not in `sums`."""
    terms, n = sorted(c.terms, key=lambda term: -term[1]), 1
    for i, k in reversed(terms):
        if k != n or i not in sums:
            return []
        n *= i.size
    whole = n == size and not c.constant and not c.loose
    return [i for i, _ in terms] if whole and len(terms) > 1 else []


def _split(xs: Expr, sizes: Sequence[int]) -> Expr:
    """The array xs as nested arrays of these sizes, the outermost first."""
    for size in reversed(sizes[1:]):
        xs = Split(size, xs)
    return xs


def _reached(xs: Expr, at: Affine) -> Expr:
    """The array of the elements of xs that the coordinate `at` reaches: xs with zeros added, or
    elements cropped, at both ends."""
    return widened(xs, -at.constant, at.last + 1 - size_of(xs))


def _cells(xs: Expr, terms: list[tuple[Index, int]]) -> Expr:
    """The array xs with its outermost dimension replaced by one for each index in `terms`, as
    windows in windows; if `terms` is empty, element 0 of xs. `terms` are the loop indices of a
    coordinate with their factors."""
    return _nested(xs, terms) if terms else At(0, xs)


def widened(xs: Expr, left: Size, right: Size) -> Expr:
    """The array xs with `left` zeros before it and `right` zeros behind it; where a number is
    negative, so many elements are cropped instead."""
    if left == right == 0:
        return xs
    if crops(left, right):
        return PadEdge(Edge.ANY, left, right, xs)
    scalar = next(iter(leaves(elem_of(xs))))
    assert isinstance(scalar, Scalar)
    zero, n = number(0, scalar), size_of(xs)
    lost = -min(left, right) if isinstance(left, int) and isinstance(right, int) else 0
    if isinstance(n, int) and lost >= n:  # zeros alone are left: a crop may not take all there is
        assert isinstance(left, int)
        assert isinstance(right, int)
        padded = Pad(max(left, 0), max(right, 0), zero, xs)
        return PadEdge(Edge.ANY, min(left, 0), min(right, 0), padded)
    return Pad(left, right, zero, xs)


def _nested(xs: Expr, terms: list[tuple[Index, int]]) -> Expr:
    (_, k), *rest = terms
    if not rest:
        return xs if k == 1 else Join(Slide(1, k, xs))
    windows = Slide(1 + sum(k * (i.size - 1) for i, k in rest), k, xs)
    if [k for _, k in rest] == [1]:
        return windows
    return Map(lam("window", elem_of(windows), lambda w: _nested(w, rest)), windows)


def permuted(e: Expr, ranks: list[int]) -> Expr:
    """The array e with its outer dimensions in another order: dimension n comes to place
    ranks[n]."""
    ranks = list(ranks)
    for end in reversed(range(len(ranks))):
        for n in range(end):
            if ranks[n] > ranks[n + 1]:
                ranks[n], ranks[n + 1] = ranks[n + 1], ranks[n]
                e = swapped(e, n)
    return e
