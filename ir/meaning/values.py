"""The values of the interpreter: arrays whose every dimension is a group of named axes.

A `map` gives its function elements that keep the axes they were taken along, so a whole map is one
call and no data moves; `split join transpose zip` only regroup axes, `slide` is a strided view.
Products and sums of products stay unevaluated until someone looks (`force`).
"""

# key: n m sizes, r a group of axes, f function on leaves

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from ir.core.frozen import distinct
from ir.errors import UserError
from ir.meaning.named_axes import (
    Axis,
    Named,
    Numbers,
    aligned,
    contract,
    extent,
    over_axis,
    part,
    union,
)

LIMIT = 256 << 20  # bytes of one intermediate array; beyond, maps and reductions go in halves
CEILING = 4 << 30  # bytes of any array; nothing beyond is tried
FACTORS = 4  # how long an unevaluated product may get

Group = tuple[Axis, ...]


class TooBig(Exception):
    """Raised if an intermediate array would be larger than LIMIT; an enclosing map or reduction
    then goes in halves."""


class NotAFold(Exception):
    """Raised if an accumulator is used other than in `acc + g(x)`; the reduction then loops over
    its elements."""


@distinct
class Leaf:
    """An array of numbers: the product of `factors`, summed over the axes `summed`. `dims` has a
    group of axes for each dimension.

    The dimensions are those of all enclosing array types, outermost first, and the lanes of a
    vector last. Axes of the factors in no dimension belong to enclosing maps and reductions; the
    leaf is constant along axes that no factor has.
    """

    factors: tuple[Named, ...]
    dims: tuple[Group, ...] = ()
    summed: Group = ()


@distinct
class Acc:
    """The accumulator of the reduction `owner`, with the deltas that were added to it so far (or
    combined with it by `op`).

    `index` numbers the accumulator's cells and takes part in every layout change, so that it tells
    at the end whether each cell is back in its place.
    """

    owner: object
    index: Leaf
    op: str | None = None
    deltas: tuple[Leaf, ...] = ()


Value = Leaf | Acc | tuple["Value", ...]


def leaves(value: Value) -> Iterator[Leaf]:
    """The leaves that a value is made of."""
    match value:
        case Leaf():
            yield value
        case Acc():
            yield value.index
            yield from value.deltas
        case _:
            for component in value:
                yield from leaves(component)


def each(f: Callable[[Leaf], Leaf], value: Value) -> Value:
    """The value with f applied to every leaf."""
    match value:
        case Leaf():
            return f(value)
        case Acc(owner, index, op, deltas):
            return Acc(owner, f(index), op, tuple(map(f, deltas)))
        case _:
            return tuple(each(f, component) for component in value)


# ---- making data real


def constant(data: Numbers) -> Leaf:
    """A leaf of one number, without dimensions."""
    return Leaf((Named(data, ()),))


def from_array(data: Numbers) -> Leaf:
    """The leaf of a NumPy array, with one axis for each dimension."""
    axes = tuple(map(Axis, data.shape))
    return Leaf((Named(data, axes),), tuple((axis,) for axis in axes))


def to_array(leaf: Leaf) -> Numbers:
    """The NumPy array of a leaf in which no enclosing map or reduction has axes."""
    (found,) = force(leaf).factors
    axes = [axis for group in leaf.dims for axis in group]
    check_ceiling(extent(axes) * found.data.itemsize)
    whole = np.broadcast_to(aligned(found, axes), [axis.size for axis in axes])
    return whole.reshape([extent(group) for group in leaf.dims])


def force(leaf: Leaf) -> Leaf:
    """The leaf with one factor and nothing left to sum."""
    if len(leaf.factors) == 1 and not leaf.summed:
        return leaf
    axes = tuple(axis for axis in union(leaf.factors) if axis not in leaf.summed)
    check_room(axes, leaf.dims, leaf.factors[0].data.itemsize)
    return Leaf((contract(leaf.factors, leaf.summed),), leaf.dims)


def force_small(leaf: Leaf) -> Leaf:
    """The leaf as `force` gives it if that is small; else the leaf itself."""
    axes = tuple(axis for axis in union(leaf.factors) if axis not in leaf.summed)
    small = extent(axes) * leaf.factors[0].data.itemsize * 4 <= LIMIT
    return force(leaf) if small else leaf


def check_room(axes: Sequence[Axis], dims: Sequence[Group], itemsize: int) -> None:
    """Raise TooBig if an array over these axes, of `itemsize` bytes an element, passes LIMIT, and
    an enclosing map or reduction can make it smaller by going in halves. `dims` are the array's own
    dimensions."""
    own = {axis for group in dims for axis in group}
    room = extent(axes) * itemsize
    if room > LIMIT and any(x not in own and x.size > 1 for x in axes):
        raise TooBig
    check_ceiling(room)


def check_ceiling(room: int) -> None:
    """Raise a UserError if an array of `room` bytes is larger than the interpreter makes."""
    if room > CEILING:
        raise UserError(
            f"an array of {room / 2**30:,.1f} GiB would be needed; the interpreter makes none "
            f"beyond {CEILING >> 30} GiB"
        )


# ---- the outermost dimension


def count(value: Value) -> int:
    """The number of elements of an array's outermost dimension."""
    return extent(next(leaves(value)).dims[0])


def enter(value: Value) -> tuple[Value, Group]:
    """The elements of an array, all as one value, and the group of axes that tell them apart."""
    sizes = _common([leaf.dims[0] for leaf in leaves(value)])
    group = tuple(map(Axis, sizes))

    def element(leaf: Leaf) -> Leaf:
        leaf = _conform(leaf, sizes)
        return _rename(replace(leaf, dims=leaf.dims[1:]), leaf.dims[0], group)

    return each(element, value), group


def leave(value: Value, group: Group) -> Value:
    """The array of the elements that `value` holds along the axes `group`: the inverse of
    `enter`."""
    return each(lambda leaf: replace(leaf, dims=(group, *leaf.dims)), value)


def halves(value: Value) -> tuple[Value, Value]:
    """The two halves of an array, cut along its outermost axis."""
    elements, group = enter(value)
    first, *rest = group
    cut = first.size // 2

    def piece(start: int, new: Axis) -> Value:
        cropped = each(
            lambda leaf: on_factors(leaf, lambda a: part(a, first, new, start)), elements
        )
        return leave(cropped, (new, *rest))

    return piece(0, Axis(cut)), piece(cut, Axis(first.size - cut))


def _common(groups: Sequence[Group]) -> tuple[int, ...]:
    """The sizes of axes, outermost first, into which every group can be cut; if the groups have no
    such sizes in common, a single one, the number of elements of each group."""
    total = extent(groups[0])
    cuts = {1, total}
    for group in groups:
        assert extent(group) == total, "arrays of different sizes taken together"
        cuts |= {extent(group[i:]) for i in range(len(group))}
    chain = sorted(cuts, reverse=True)
    if any(big % small for big, small in pairwise(chain)):
        return (total,)
    return tuple(big // small for big, small in pairwise(chain))


def _conform(leaf: Leaf, sizes: tuple[int, ...]) -> Leaf:
    """The leaf with its outermost dimension made of one axis for each of these sizes."""
    if tuple(axis.size for axis in leaf.dims[0]) == sizes:
        return leaf
    rest = leaf.dims[1:]
    for n in reversed(sizes):
        leaf = merge(split(leaf, n), 1)
    dims = _drop_ones(leaf).dims
    found = dims[1 : len(dims) - len(rest)]
    return replace(_drop_ones(leaf), dims=(tuple(g[0] for g in found), *rest))


def _rename(leaf: Leaf, old: Group, new: Group) -> Leaf:
    names = dict(zip(old, new, strict=True))
    return on_factors(leaf, lambda a: Named(a.data, tuple(names.get(x, x) for x in a.axes)))


def on_factors(leaf: Leaf, f: Callable[[Named], Named]) -> Leaf:
    """The leaf with f applied to every factor."""
    return replace(leaf, factors=tuple(map(f, leaf.factors)))


def on_axis(leaf: Leaf, axis: Axis, new: Group, f: Callable[[Numbers, int], Numbers]) -> Leaf:
    """The leaf with `axis` replaced by the axes `new` in every factor that has it; f(data,
    dimension) gives the new data of such a factor."""
    return on_factors(leaf, lambda a: over_axis(a, axis, new, f))


def _drop_ones(leaf: Leaf) -> Leaf:
    """The leaf without axes of one element in its outermost dimension."""
    for axis in leaf.dims[0]:
        if axis.size == 1:
            leaf = on_axis(leaf, axis, (), lambda data, at: data.squeeze(at))
    kept = tuple(axis for axis in leaf.dims[0] if axis.size != 1)
    return replace(leaf, dims=(kept, *leaf.dims[1:]))


def merge(leaf: Leaf, at: int = 0) -> Leaf:
    """The leaf with the group of axes of dimension `at` made one axis: a copy if strides allow no
    view."""
    group = leaf.dims[at]
    if len(group) == 1:
        return leaf
    new = Axis(extent(group))
    dims = (*leaf.dims[:at], (new,), *leaf.dims[at + 1 :])
    if not any(axis in a.axes for a in leaf.factors for axis in group):
        return replace(leaf, dims=dims)
    (found,) = force(leaf).factors
    others = tuple(axis for axis in found.axes if axis not in group)
    check_room((*others, *group), leaf.dims, found.data.itemsize)
    whole = aligned(found, (*others, *group))
    shape = [axis.size for axis in others]
    whole = np.broadcast_to(whole, [*shape, *(axis.size for axis in group)])
    return Leaf((Named(whole.reshape([*shape, new.size]), (*others, new)),), dims)


def split(leaf: Leaf, m: int) -> Leaf:
    """The leaf with its outermost dimension cut: [T]n -> [[T]m](n/m)."""
    if m < 1 or extent(leaf.dims[0]) % m:
        raise UserError(f"split: {m} does not divide {extent(leaf.dims[0])}")
    leaf = _drop_ones(leaf)
    outer, inner, wanted = list(leaf.dims[0]), list[Axis](), m
    while wanted > 1:
        axis = outer.pop()
        if wanted % axis.size == 0:
            inner.insert(0, axis)
            wanted //= axis.size
        elif axis.size % wanted == 0:
            high, low = Axis(axis.size // wanted), Axis(wanted)
            leaf = on_axis(leaf, axis, (high, low), partial(_cut, wanted))
            outer.append(high)
            inner.insert(0, low)
            wanted = 1
        else:
            return split(merge(leaf), m)
    return replace(leaf, dims=(tuple(outer), tuple(inner), *leaf.dims[1:]))


def _cut(m: int, data: Numbers, at: int) -> Numbers:
    return data.reshape((*data.shape[:at], data.shape[at] // m, m, *data.shape[at + 1 :]))
