"""Arrays with named axes, and sums of products of them that never build the whole product."""

# key: a b arrays with named axes, k number of pieces

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from itertools import combinations, pairwise
from math import prod
from string import ascii_letters
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ir.core.frozen import distinct
from ir.errors import UserError

Numbers = NDArray[np.generic]

MOST = 64  # axes of an array
SCRATCH = 128 << 20  # bytes of an operand copied for a matrix product; beyond, piece by piece


@distinct
class Axis:
    """An axis, identified by its object: arrays that share an axis are indexed together along
    it."""

    size: int


@distinct
class Named:
    """An array whose axes have names; along every other axis it is constant."""

    data: Numbers
    axes: tuple[Axis, ...]


def extent(axes: Iterable[Axis]) -> int:
    """The number of elements along these axes: the product of their sizes."""
    return prod(axis.size for axis in axes)


def union(arrays: Iterable[Named]) -> tuple[Axis, ...]:
    """The axes of some arrays, each once."""
    return few(tuple(dict.fromkeys(axis for a in arrays for axis in a.axes)))


def few(axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
    """The axes themselves; a UserError if they are more than a NumPy array may have."""
    if len(axes) > MOST:
        raise UserError(
            f"an array of {len(axes)} dimensions would be needed; "
            f"the interpreter makes none beyond {MOST}"
        )
    return axes


def aligned(a: Named, axes: Sequence[Axis]) -> Numbers:
    """The data of a with its dimensions in the order of `axes`, of length 1 for axes that a does
    not have."""
    data = a.data.transpose([a.axes.index(axis) for axis in axes if axis in a.axes])
    return data[tuple(slice(None) if axis in a.axes else None for axis in axes)]


def elementwise(f: Callable[..., object], arrays: Sequence[Named]) -> Named:
    """The array of f applied element by element; each array is repeated along the axes that it
    lacks."""
    axes = union(arrays)
    return Named(np.asarray(f(*(aligned(a, axes) for a in arrays))), axes)


def over_axis(
    a: Named, axis: Axis, new: tuple[Axis, ...], f: Callable[[Numbers, int], Numbers]
) -> Named:
    """The array a with `axis` replaced by the axes `new`, its data changed by f(data, dimension); a
    itself if it lacks the axis."""
    if axis not in a.axes:
        return a
    at = a.axes.index(axis)
    axes = few((*a.axes[:at], *new, *a.axes[at + 1 :]))
    return Named(f(a.data, at), axes)


def part(a: Named, axis: Axis, new: Axis, start: int) -> Named:
    """The part of a that begins at index `start` along `axis` and is as long as `new`, the axis
    that takes the place of `axis`."""
    return over_axis(a, axis, (new,), lambda data, at: _slice(data, at, start, start + new.size))


def _slice(data: Numbers, at: int, start: int, stop: int) -> Numbers:
    return data[(slice(None),) * at + (slice(start, stop),)]


def contract(factors: Sequence[Named], summed: Sequence[Axis]) -> Named:
    """The product of all factors, summed over the axes `summed`."""
    absent = [axis for axis in summed if axis not in union(factors)]
    parts = [_sum_own(a, factors, summed) for a in factors]
    inside = [a for a in parts if any(axis in summed for axis in a.axes)]
    result = [a for a in parts if not any(axis in summed for axis in a.axes)]
    if inside:
        result.append(_inside(inside, [axis for axis in summed if axis in union(inside)]))
    if absent:
        repeats = np.asarray(extent(absent)).astype(factors[0].data.dtype)
        result.append(Named(repeats, ()))
    return reduce(lambda a, b: elementwise(np.multiply, (a, b)), sorted(result, key=_volume))


def _volume(a: Named) -> int:
    return extent(a.axes)


def _sum_own(a: Named, factors: Sequence[Named], summed: Sequence[Axis]) -> Named:
    """The array a summed over those axes of `summed` that no other factor has."""
    others = union(b for b in factors if b is not a)
    repeated = sum(b is a for b in factors) > 1
    own = [axis for axis in a.axes if axis in summed and axis not in others and not repeated]
    return reduce_axes(np.add, a, own)


def reduce_axes(f: np.ufunc, a: Named, axes: Sequence[Axis]) -> Named:
    """The array a reduced by f over those of its axes that are in `axes`."""
    if not axes:
        return a
    places = tuple(a.axes.index(axis) for axis in axes)
    data = f.reduce(a.data, axis=places, dtype=a.data.dtype)
    return Named(np.asarray(data), tuple(axis for axis in a.axes if axis not in axes))


def _inside(factors: Sequence[Named], summed: Sequence[Axis]) -> Named:
    """The sum over `summed` of the product of factors that share every summed axis; the pair with
    the smallest product is multiplied first."""
    if len(factors) == 1:
        return reduce_axes(np.add, factors[0], [x for x in factors[0].axes if x in summed])
    if len(factors) == 2:
        return _pair(factors[0], factors[1], summed)
    i, j = min(
        combinations(range(len(factors)), 2),
        key=lambda ij: extent(union((factors[ij[0]], factors[ij[1]]))),
    )
    pair = (factors[i], factors[j])
    wide = union(pair)
    if (k := _pieces(extent(wide), pair[0])) > 1:
        return _by_pieces(factors, summed, _widest(wide, summed), k)
    rest = [a for at, a in enumerate(factors) if at not in (i, j)]
    return contract([elementwise(np.multiply, pair), *rest], summed)


def _pair(a: Named, b: Named, summed: Sequence[Axis]) -> Named:
    """The product of a and b summed over `summed`: a matrix product, batched over shared axes that
    are kept."""
    over = [axis for axis in a.axes if axis in summed]
    batch = [axis for axis in a.axes if axis in b.axes and axis not in over]
    rows = [axis for axis in a.axes if axis not in b.axes]
    columns = [axis for axis in b.axes if axis not in a.axes]
    if batch and 1 in (extent(rows), extent(columns)):
        return _einsum(a, b, (*batch, *rows, *columns))
    big = max(a, b, key=_volume)
    if (k := _pieces(_volume(big), big)) > 1:
        return _by_pieces((a, b), summed, _widest(big.axes, summed), k)
    n, m = extent(batch), extent(over)
    left = aligned(a, (*batch, *rows, *over)).reshape(n, extent(rows), m)
    right = aligned(b, (*batch, *over, *columns)).reshape(n, m, extent(columns))
    axes = (*batch, *rows, *columns)
    return Named(np.matmul(left, right).reshape([axis.size for axis in axes]), axes)


def _einsum(a: Named, b: Named, axes: tuple[Axis, ...]) -> Named:
    letter = dict(zip(union((a, b)), ascii_letters, strict=False))
    left, right, out = ("".join(letter[axis] for axis in some) for some in (a.axes, b.axes, axes))
    x, y = cast("NDArray[np.float64]", a.data), cast("NDArray[np.float64]", b.data)
    return Named(np.asarray(np.einsum(f"{left},{right}->{out}", x, y)), axes)


def _pieces(elements: int, like: Named) -> int:
    return -(-elements * like.data.itemsize // SCRATCH)


def _widest(axes: Sequence[Axis], summed: Sequence[Axis]) -> Axis:
    """The longest axis along which to cut a contraction: one that is not summed, if there is
    any."""
    kept = [axis for axis in axes if axis not in summed and axis.size > 1]
    return max(kept or axes, key=lambda axis: axis.size)


def _by_pieces(factors: Sequence[Named], summed: Sequence[Axis], axis: Axis, k: int) -> Named:
    """The contraction computed in k pieces along `axis`; the pieces are added if it is summed, else
    put side by side."""
    bounds = sorted({axis.size * i // k for i in range(k + 1)})
    total: Named | None = None
    for start, stop in pairwise(bounds):
        new = Axis(stop - start)
        renamed = [new if x is axis else x for x in summed]
        piece = contract([part(a, axis, new, start) for a in factors], renamed)
        if axis in summed:
            total = piece if total is None else elementwise(np.add, (total, piece))
            continue
        if total is None:
            total = _room_for(piece, new, axis)
        target = part(total, axis, new, start)
        target.data[...] = aligned(piece, target.axes)
    assert total is not None
    return total


def _room_for(piece: Named, new: Axis, axis: Axis) -> Named:
    axes = tuple(axis if x is new else x for x in piece.axes)
    return Named(np.empty([x.size for x in axes], piece.data.dtype), axes)
