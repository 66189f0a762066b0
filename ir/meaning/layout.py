"""The layout primitives on values of the interpreter: NumPy views if strides allow, else copies."""

# key: n m sizes, l r amounts left and right

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from ir.core.nodes import Edge
from ir.core.types import RANGES
from ir.errors import UserError
from ir.meaning.arithmetic import unify
from ir.meaning.conversions import WHOLE
from ir.meaning.named_axes import Axis, Named, Numbers, aligned, extent, part, union
from ir.meaning.values import (
    Acc,
    Leaf,
    NotAFold,
    Value,
    check_room,
    constant,
    force,
    merge,
    on_axis,
    on_factors,
    split,
)


def join(leaf: Leaf) -> Leaf:
    """The leaf with its two outer dimensions as one: [[T]m]n -> [T](n*m)."""
    outer, inner, *rest = leaf.dims
    return replace(leaf, dims=(outer + inner, *rest))


def transpose(leaf: Leaf) -> Leaf:
    """The leaf with its two outer dimensions exchanged: [[T]n]m -> [[T]m]n."""
    outer, inner, *rest = leaf.dims
    return replace(leaf, dims=(inner, outer, *rest))


def slide(leaf: Leaf, size: int, step: int, strict: bool) -> Leaf:
    """The leaf of windows: [T]n -> [[T]size]((n-size)/step+1); a UserError if the windows do not
    fit, or, if `strict`, do not reach the end."""
    n = extent(leaf.dims[0])
    if size < 1 or step < 1 or size > n:
        raise UserError(
            f"slide: expected windows of 1 to {n} elements, the array's size, at least 1 apart; "
            f"found windows of {size}, {step} apart"
        )
    if strict and (n - size) % step:
        raise UserError(
            f"slide_strict: expected windows of {size} elements, {step} apart, to end with the "
            f"array of {n}; found {(n - size) % step} elements behind the last"
        )
    leaf = merge(leaf)
    (axis,) = leaf.dims[0]
    windows, window = Axis((n - size) // step + 1), Axis(size)

    def view(data: Numbers, at: int) -> Numbers:
        stride = data.strides[at]
        return as_strided(
            data,
            (*data.shape[:at], windows.size, size, *data.shape[at + 1 :]),
            (*data.strides[:at], stride * step, stride, *data.strides[at + 1 :]),
            writeable=False,
        )

    leaf = on_axis(leaf, axis, (windows, window), view)
    return replace(leaf, dims=((windows,), (window,), *leaf.dims[1:]))


def as_vector(leaf: Leaf, width: int) -> Leaf:
    """The leaf of vectors, whose lanes become the last dimension: [T]n -> [T<v>](n/v)."""
    outer, lanes, *rest = (leaf := split(leaf, width)).dims
    return replace(leaf, dims=(outer, *rest, lanes))


def as_scalar(leaf: Leaf) -> Leaf:
    """The leaf of a vector's scalars, in order: [T<v>]n -> [T](n*v)."""
    outer, *rest, lanes = leaf.dims
    return replace(leaf, dims=(outer + lanes, *rest))


def at(leaf: Leaf, k: int) -> Leaf:
    """The leaf of the element at place k: [T]n -> T."""
    if not 0 <= k < extent(leaf.dims[0]):
        raise UserError(f"at: no element {k} in an array of {extent(leaf.dims[0])}")
    for axis in reversed(leaf.dims[0]):
        k, i = divmod(k, axis.size)
        leaf = on_axis(leaf, axis, (), partial(_element, i))
    return replace(leaf, dims=leaf.dims[1:])


def _element(i: int, data: Numbers, axis: int) -> Numbers:
    return np.asarray(data.take(i, axis))


# ---- copies


def gather(leaf: Leaf, index: NDArray[np.int64]) -> Leaf:
    """The leaf r with r[i] = leaf[index[i]], along the outermost dimension."""
    leaf = merge(leaf)
    (axis,) = leaf.dims[0]
    new = Axis(len(index))
    for a in leaf.factors:
        if axis in a.axes:
            axes = tuple(new if x is axis else x for x in a.axes)
            check_room(axes, ((new,), *leaf.dims[1:]), a.data.itemsize)
    leaf = on_axis(leaf, axis, (new,), lambda data, place: data.take(index, place))
    return replace(leaf, dims=((new,), *leaf.dims[1:]))


def gather_each(leaf: Leaf, index: Leaf) -> Leaf:
    """The leaf r with r[i] = leaf[index[i]], where the index differs between elements of enclosing
    maps."""
    leaf, index = force(merge(leaf)), force(merge(index))
    (old,), (new,) = leaf.dims[0], index.dims[0]
    (a,), (b,) = leaf.factors, index.factors
    axes = tuple(x for x in union((a, b)) if x not in (old, new))
    dims = ((new,), *leaf.dims[1:])
    check_room((*axes, new), dims, a.data.itemsize)
    shape = [x.size for x in axes]
    whole = np.broadcast_to(aligned(a, (*axes, old)), [*shape, old.size])
    places = np.broadcast_to(aligned(b, (*axes, new)), [*shape, new.size]).astype(np.int64)
    return Leaf((Named(np.take_along_axis(whole, places, -1), (*axes, new)),), dims)


def beside(pieces: Sequence[Leaf]) -> Leaf:
    """The leaf of the array whose elements are these pieces, in order."""
    merged = [merge(piece) for piece in pieces]
    outer = tuple(piece.dims[0][0] for piece in merged)
    inner = unify([replace(piece, dims=piece.dims[1:]) for piece in merged])
    found = [force(piece).factors[0] for piece in inner]
    axes = tuple(axis for axis in union(found) if axis not in outer)
    new, dims = Axis(sum(axis.size for axis in outer)), inner[0].dims
    check_room((new, *axes), ((new,), *dims), found[0].data.itemsize)
    whole = np.empty([new.size, *(axis.size for axis in axes)], found[0].data.dtype)
    start = 0
    for a, own in zip(found, outer, strict=True):
        whole[start : start + own.size] = aligned(a, (own, *axes))
        start += own.size
    return Leaf((Named(whole, (new, *axes)),), ((new,), *dims))


def crop(leaf: Leaf, start: int, stop: int) -> Leaf:
    """The leaf of the elements from `start` up to, not including, `stop` of the outermost
    dimension."""
    leaf = merge(leaf)
    (axis,) = leaf.dims[0]
    new = Axis(stop - start)
    leaf = on_factors(leaf, lambda a: part(a, axis, new, start))
    return replace(leaf, dims=((new,), *leaf.dims[1:]))


# ---- the primitives that move data


def concat(a: Value, b: Value) -> Value:
    """The array b behind the array a: [T]n, [T]m -> [T](n+m)."""
    match a, b:
        case Leaf(), Leaf():
            return beside((a, b))
        case tuple(), tuple():
            return tuple(map(concat, a, b))
        case Acc(), Acc() if (a.owner, a.op, len(a.deltas)) == (b.owner, b.op, len(b.deltas)):
            deltas = tuple(beside(pair) for pair in zip(a.deltas, b.deltas, strict=True))
            return Acc(a.owner, beside((a.index, b.index)), a.op, deltas)
    raise NotAFold


def pad(l: int, r: int, value: Value, xs: Value) -> Value:
    """The array padded with a value: l, r, v : T or its scalar, [T]n -> [T](l+n+r); negative
    amounts crop."""
    match xs, value:
        case Leaf(), Leaf():
            return _pad(l, r, value, xs)
        case tuple(), tuple():
            return tuple(pad(l, r, v, x) for v, x in zip(value, xs, strict=True))
        case tuple(), _:
            return tuple(pad(l, r, value, x) for x in xs)
    raise NotAFold


def _pad(l: int, r: int, value: Leaf, xs: Leaf) -> Leaf:
    middle = crop(xs, max(-l, 0), extent(xs.dims[0]) - max(-r, 0))
    around = [replace(value, dims=((Axis(n),), *value.dims)) for n in (max(l, 0), max(r, 0))]
    pieces = (around[0], middle, around[1])
    return beside([piece for piece in pieces if extent(piece.dims[0])])


def pad_edge(edge: Edge, l: int, r: int, xs: Leaf) -> Leaf:
    """The array padded as `edge` says: l, r, [T]n -> [T](l+n+r); with ANY, the added elements are
    poison."""
    n = extent(xs.dims[0])
    if edge is Edge.ANY or (l <= 0 and r <= 0):
        return _pad(l, r, _poison(xs), xs)
    return gather(xs, edge_places(edge, np.arange(-l, n + r), n))


def edge_places(edge: Edge, wanted: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """The index, in an array of n elements, of the element that padding by `edge` puts at each
    wanted index, which may be outside; -1 for none."""
    match edge:
        case Edge.ANY:
            return np.where((wanted >= 0) & (wanted < n), wanted, -1)
        case Edge.CLAMP:
            return wanted.clip(0, n - 1)
        case Edge.WRAP:
            return wanted % n
        case Edge.MIRROR:  # the edge itself is repeated, as in LIFT
            folded = wanted % (2 * n)
            return np.minimum(folded, 2 * n - 1 - folded)


def _poison(xs: Leaf) -> Leaf:
    """The poison for the elements of xs: NaN for reals, else a whole number from `poison_of`."""
    dtype = xs.factors[0].data.dtype
    real = any(a.data.dtype.kind == "f" for a in xs.factors)
    return constant(np.asarray(np.nan if real else poison_of(dtype), dtype))


def poison_of(dtype: "np.dtype[np.generic]") -> int:
    """The poison of a whole type: its least number if it has a sign, else its largest."""
    least, largest = next(RANGES[name] for name, whole in WHOLE.items() if dtype == whole)
    return least or largest


def reorder(xs: Leaf, index: Leaf) -> Leaf:
    """The array r with r[i] = xs[index[i]]; a UserError if the index is no permutation."""
    index = merge(force(index))
    (found,), (axis,) = index.factors, index.dims[0]
    others = tuple(x for x in found.axes if x is not axis)
    shape = [*(x.size for x in others), axis.size]
    places = np.broadcast_to(aligned(found, (*others, axis)), shape).astype(np.int64)
    if not np.array_equal(np.sort(places, axis=-1), np.broadcast_to(np.arange(axis.size), shape)):
        raise UserError(
            f"reorder: expected a bijection on 0 … {axis.size - 1}, found a function that is not a "
            "bijection"
        )
    if others:
        return gather_each(xs, index)
    return _strided(xs, places) if _is_stride(places) else gather(xs, places)


def _is_stride(places: NDArray[np.int64]) -> bool:
    n = len(places)
    s = int(places[1]) if n > 1 else 1
    return s > 0 and n % s == 0 and np.array_equal(places, np.arange(n).reshape(-1, s).T.ravel())


def _strided(xs: Leaf, places: NDArray[np.int64]) -> Leaf:
    return join(transpose(split(xs, int(places[1])))) if len(places) > 1 else xs
