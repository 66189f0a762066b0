"""Masks: sets of elements of arrays, each a product of conditions (factors) over a few axes.

For a padded plane under windows, one factor says which rows of windows lie in the plane, another
which columns; no factor is over both, and none over channels. Operations never add elements that
are not in a set; if a factor would become too large, the result is the empty set.
"""

# key: m mask, f factor

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial, reduce
from string import ascii_letters

import numpy as np
from numpy.typing import NDArray

from ir.core.frozen import distinct
from ir.meaning.named_axes import Axis, Named, aligned, extent, reduce_axes, union

LARGEST = 1 << 26  # elements of a factor

Bools = NDArray[np.bool_]
Places = NDArray[np.int64]
Counts = NDArray[np.float64]


@distinct
class Mask:
    """The set of the elements for which all factors hold."""

    factors: tuple[Named, ...] = ()


EVERY = Mask()
NONE = Mask((Named(np.zeros((), bool), ()),))


@distinct
class View:
    """A view of an array, as a map from places along the axes `new` to an element along the axes
    `old`, or to -1 for none.

    `whole`: every place has an element; `once`: no two places have the same element; `onto`: every
    element of the `old` axes has a place.
    """

    old: tuple[Axis, ...]
    new: tuple[Axis, ...]
    places: Callable[[], Places]
    whole: bool
    once: bool
    onto: bool


def line(holds: Bools, axis: Axis) -> Mask:
    """The mask of the elements along `axis` for which the array `holds` is true."""
    return _mask([Named(holds, (axis,))])


def both(*masks: Mask) -> Mask:
    """The intersection of these masks."""
    if any(m is NONE for m in masks):
        return NONE
    return _mask({id(f): f for m in masks for f in m.factors}.values())


def either(a: Mask, b: Mask) -> Mask:
    """The union of a and b; if that would be too large, the larger of the two."""
    if a is NONE or b is NONE:
        return b if a is NONE else a
    shared = [f for f in a.factors if any(_same(f, g) for g in b.factors)]
    left = [f for f in a.factors if not any(_same(f, g) for g in shared)]
    right = [f for f in b.factors if not any(_same(f, g) for g in shared)]
    axes = union([*left, *right])
    if not left or not right:
        return Mask(tuple(shared))
    if extent(axes) > LARGEST:
        return max(a, b, key=lambda m: count(m, axes))
    holds = _joint(left, axes) | _joint(right, axes)
    return _mask([*shared, Named(holds, axes)])


def anywhere(m: Mask, axes: Iterable[Axis]) -> Mask:
    """The mask over all axes of m but `axes`: it holds at a place if m holds there for some element
    along `axes`."""
    factors = list(m.factors)
    for axis in axes:
        touching = [f for f in factors if axis in f.axes]
        kept = tuple(x for x in union(touching) if x is not axis)
        if extent(kept) > LARGEST:
            return NONE
        factors = [f for f in factors if axis not in f.axes]
        if touching:
            factors.append(Named(_contracted(touching, kept, np.float32) > 0, kept))
    return _mask(factors)


def everywhere(m: Mask, axes: Collection[Axis]) -> Mask:
    """The mask over all axes of m but `axes`: it holds at a place if m holds there for all elements
    along `axes`."""
    own = ([x for x in f.axes if x in axes] for f in m.factors)
    return _mask(map(partial(reduce_axes, np.logical_and), m.factors, own))


def renamed(m: Mask, names: Mapping[Axis, Axis]) -> Mask:
    """The mask m with those of its axes that are keys of `names` renamed to the values."""
    if not any(axis in names for f in m.factors for axis in f.axes):
        return m
    return Mask(tuple(Named(f.data, tuple(names.get(x, x) for x in f.axes)) for f in m.factors))


def through(m: Mask, view: View) -> Mask:
    """The mask of those places of a view that show an element in m, a mask of the array that `view`
    is a view of."""
    touching = [f for f in m.factors if set(f.axes) & set(view.old)]
    if view.whole and not touching:
        return m
    rest = tuple(axis for axis in union(touching) if axis not in view.old)
    if extent((*view.new, *rest)) > LARGEST:
        return NONE
    places = view.places()
    inside = [] if view.whole else [Named(places >= 0, view.new)]
    factors = [f for f in m.factors if f not in touching]
    return _mask([*factors, *(_gathered(f, view, places) for f in touching), *inside])


def _gathered(f: Named, view: View, places: Places) -> Named:
    at = np.unravel_index(places.clip(0), _shape(view.old))
    here = {axis: i for axis, i in zip(view.old, at, strict=True) if axis in f.axes}
    rest = tuple(axis for axis in f.axes if axis not in here)
    return Named(aligned(f, (*here, *rest))[tuple(here.values())], (*view.new, *rest))


def behind(m: Mask, view: View) -> Mask:
    """The mask of those elements of an array that its `view` shows at the places in m."""
    touching = [f for f in m.factors if set(f.axes) & set(view.new)]
    factors = [f for f in m.factors if f not in touching]
    if view.onto and not touching:
        return m
    largest = max(extent(view.new), extent(view.old))
    if largest > LARGEST:
        return NONE
    places = view.places().reshape(-1)
    for several in [[f] for f in touching] if view.once and touching else [touching]:
        rest = tuple(axis for axis in union(several) if axis not in view.new)
        if largest * extent(rest) > LARGEST:
            return NONE
        holds = _joint(several, (*view.new, *rest)).reshape(len(places), -1)
        factors.append(_scattered(holds, view, places, rest))
    return _mask(factors)


def _scattered(holds: Bools, view: View, places: Places, rest: tuple[Axis, ...]) -> Named:
    found = np.zeros((extent(view.old), holds.shape[1]), bool)
    here, there = np.nonzero(holds & (places >= 0)[:, None])
    found[places[here], there] = True
    return Named(found.reshape(_shape((*view.old, *rest))), (*view.old, *rest))


def count(m: Mask, axes: Collection[Axis]) -> int:
    """The number of elements of m over `axes`, which must include those of its factors."""
    free = [axis for axis in axes if axis not in union(m.factors)]
    return extent(free) * round(float(_contracted(m.factors, (), np.float64)))


def _contracted(factors: Sequence[Named], kept: tuple[Axis, ...], dtype: type) -> Counts:
    """The number of elements where all factors hold, for each place along the axes `kept`; numbers
    are counted in the type `dtype`."""
    if not factors:
        return np.ones(())
    letters = dict(zip(union(factors), ascii_letters, strict=False))
    terms = ",".join("".join(letters[x] for x in f.axes) for f in factors)
    result = "".join(letters[x] for x in kept)
    data: list[Counts] = [f.data.astype(dtype) for f in factors]
    return np.asarray(np.einsum(f"{terms}->{result}", *data, optimize=True))


def _joint(factors: Sequence[Named], axes: tuple[Axis, ...]) -> Bools:
    """An array over these axes that is true where all factors hold."""
    whole = np.ones(_shape(axes), bool)
    return reduce(np.logical_and, (aligned(f, axes) for f in factors), whole)


def _mask(factors: Iterable[Named]) -> Mask:
    """The mask of these factors, each without the axes along which it is constant."""
    found: dict[frozenset[Axis], Named] = {}
    for f in map(_trimmed, factors):
        others = [g for g in (found.get(frozenset(f.axes)),) if g is not None]
        found[frozenset(f.axes)] = Named(_joint([f, *others], f.axes), f.axes) if others else f
    if not all(f.data.any() for f in found.values()):
        return NONE
    return Mask(tuple(f for f in found.values() if f.axes))


def _trimmed(f: Named) -> Named:
    """The factor f without the axes along which it is constant."""
    data, axes = np.asarray(f.data, bool), list(f.axes)
    for axis in f.axes:
        at = axes.index(axis)
        if data.any(at).sum() == data.all(at).sum():
            data = data.take(0, at)
            axes.remove(axis)
    return Named(data, tuple(axes)) if len(axes) < len(f.axes) else f


def _same(f: Named, g: Named) -> bool:
    return f is g or (set(f.axes) == set(g.axes) and np.array_equal(aligned(f, g.axes), g.data))


def _shape(axes: Sequence[Axis]) -> tuple[int, ...]:
    return tuple(axis.size for axis in axes)
