"""Operators that only move numbers: they take parts of tensors, join, transpose and repeat them. An
operator that leaves all numbers where they lie needs no program: its result is its input."""

# key: e the text of a term

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate
from math import prod

import numpy as np

from explore.onnx_model.onnx_graph import Kind, Node
from explore.operators.layouts import BLOCK, Layout
from explore.operators.program_text import flat, number, shaped, under
from explore.operators.site import Site, Step, Tensor
from ir.errors import UserError


def unchanged(site: Site) -> Step:
    """The step of an operator whose first result is its input unchanged, such as `Dropout`."""
    x = site.tensor(0)
    if site.node.operator == "Dropout" and len([n for n in site.node.outputs if n]) > 1:
        raise site.refused(
            "expected that only its first result is used, found that the second, the mask, is, too"
        )
    if site.node.operator == "Dropout" and site.has(2) and site.array(2, "mode").item():
        raise site.refused("expected a model for inference, found training_mode")
    return _as_it_is(site, x.kind)


def _as_it_is(site: Site, kind: Kind) -> Step:
    """The step that gives input 0 the shape of `kind`, with its numbers in the same ONNX order;
    without a program if they are also stored in that order."""
    x = site.tensor(0)
    same = kind.shape == x.shape
    if (same and x.layout is site.layout) or (
        x.layout.as_onnx(x.shape) and site.layout.as_onnx(kind.shape)
    ):
        given = x.name if x.array is None else x.array
        e = site.parameter(x.kind.dtype, (x.kind.elements,), given)
        return Step(
            kind,
            site.layout,
            tuple(site.parameters),
            "" if x.array is None else f"map(a -> a, {e})",
        )
    if same:
        return site.step(kind, site.logical(0))
    return site.step(kind, shaped(flat(site.logical(0), len(x.shape)), kind.shape or (1,)))


def reshape(site: Site) -> Step:
    """The step of a `Reshape`."""
    x = site.tensor(0)
    asked = site.attribute("shape", None)
    if asked is None:
        asked = [int(n) for n in site.array(1, "sizes")]
    return _as_it_is(site, Kind(x.kind.dtype, reshaped(site.node, x.shape, list(asked))))


def reshaped(node: Node, shape: Sequence[int], asked: Sequence[int]) -> tuple[int, ...]:
    """The sizes that a `Reshape` makes of a tensor of this shape: those that are `asked`, with 0
    and -1 replaced; a UserError if they do not fit."""
    keep = not node.attributes.get("allowzero", 0)
    sizes = [
        shape[i] if n == 0 and keep and i < len(shape) else int(n) for i, n in enumerate(asked)
    ]
    known = prod(n for n in sizes if n != -1)
    if sizes.count(-1) == 1 and known and prod(shape) % known == 0:
        sizes[sizes.index(-1)] = prod(shape) // known
    if prod(sizes) != prod(shape) or any(n < 0 for n in sizes):
        raise UserError(f"{node.title}: {list(shape)} cannot be given the shape {list(asked)}")
    return tuple(sizes)


def flatten(site: Site) -> Step:
    """The step of a `Flatten`, whose result is a matrix."""
    x = site.tensor(0)
    axis = int(site.attribute("axis", 1))
    if axis != len(x.shape):
        axis = _axis(site, axis, len(x.shape))
    shape = (prod(x.shape[:axis]), prod(x.shape[axis:]))
    return _as_it_is(site, Kind(x.kind.dtype, shape))


def squeeze(site: Site) -> Step:
    """The step of a `Squeeze`."""
    x = site.tensor(0)
    axes = _axes(site, 1, len(x.shape)) or [i for i, n in enumerate(x.shape) if n == 1]
    if any(x.shape[axis] != 1 for axis in axes):
        raise site.refused(f"expected axes of one element, found axes {axes} of {list(x.shape)}")
    return _as_it_is(
        site, Kind(x.kind.dtype, tuple(n for i, n in enumerate(x.shape) if i not in axes))
    )


def unsqueeze(site: Site) -> Step:
    """The step of an `Unsqueeze`."""
    x = site.tensor(0)
    given = _given_axes(site, 1)
    axes = {_axis(site, a, len(x.shape) + len(given)) for a in given}
    sizes = iter(x.shape)
    rank = len(x.shape) + len(given)
    shape = tuple(1 if i in axes else next(sizes) for i in range(rank))
    return _as_it_is(site, Kind(x.kind.dtype, shape))


def _given_axes(site: Site, n: int) -> list[int]:
    found = site.attribute("axes", None)
    if found is None and site.has(n):
        found = np.ravel(site.array(n, "axes"))
    return [int(a) for a in found] if found is not None else []


def _axes(site: Site, n: int, rank: int) -> list[int]:
    """The node's axes, from its attribute or input n; negative ones, which count from the end, are
    made positive."""
    return [_axis(site, a, rank) for a in _given_axes(site, n)]


def _axis(site: Site, axis: int, rank: int) -> int:
    if not -rank <= axis < max(rank, 1):
        raise site.refused(f"expected one of {rank} axes, found axis {axis}")
    return axis % max(rank, 1)


def transposed(site: Site) -> Step:
    """The step of a `Transpose`."""
    x = site.tensor(0)
    rank = len(x.shape)
    order = tuple(int(a) for a in site.attribute("perm", tuple(reversed(range(rank)))))
    if sorted(order) != list(range(rank)):
        raise site.refused(f"perm is {list(order)}: expected each of {rank} axes once")
    kind = Kind(x.kind.dtype, tuple(x.shape[axis] for axis in order))
    return site.step(kind, site.arranged(0, order))


def concatenated(site: Site) -> Step:
    """The step of a `Concat`. All axes before the joined one are taken as one axis, and all from it
    on as another, along which lists are joined."""
    tensors = [site.tensor(n) for n in range(len(site.inputs))]
    first = tensors[0]
    rank = len(first.shape)
    axis = _axis(site, int(site.attribute("axis", 1)), rank)
    for t in tensors:
        rest = [n for i, n in enumerate(t.shape) if i != axis]
        if (
            rest != [n for i, n in enumerate(first.shape) if i != axis]
            or t.kind.dtype != first.kind.dtype
        ):
            raise site.refused(
                f"expected tensors of one type that differ along axis {axis} alone, found "
                f"{first.kind.dtype} {list(first.shape)} and {t.kind.dtype} {list(t.shape)}"
            )
    size = sum(t.shape[axis] for t in tensors)
    kind = Kind(first.kind.dtype, (*first.shape[:axis], size, *first.shape[axis + 1 :]))
    place = site.layout.place(axis, rank)
    stored = site.layout.stored(kind.shape)
    outer, inner = prod(stored[:place]), prod(stored[place + 1 :])
    if any(_turned(t, site.layout) for t in tensors):
        return site.step(kind, _joined(axis, [site.logical(n) for n in range(len(tensors))]))
    each = [site.layout.stored(t.shape)[place] * inner for t in tensors]
    parts = [_part(site, t, (outer, n)) for t, n in zip(tensors, each, strict=True)]
    if len(parts) == 1:
        return site.as_stored(
            kind, under(0 if outer == 1 else 1, lambda e: f"map(a -> a, {e})", parts[0])
        )
    step = site.as_stored(kind, _joined(0 if outer == 1 else 1, parts))
    return replace(step, lengths=tuple(each))


def _turned(t: Tensor, layout: Layout) -> bool:
    """True if the numbers of an input of a `Concat` do not lie as they do in a result in this
    layout."""
    if layout is Layout.BLOCKS:
        return t.layout is not layout if t.array is None else t.shape[1] % BLOCK > 0
    alike = t.layout.as_onnx(t.shape) and layout.as_onnx(t.shape)
    return t.array is None and t.layout is not layout and not alike


def _part(site: Site, t: Tensor, dims: tuple[int, int]) -> str:
    """The text of the input t of a `Concat`, as one list or a list of lists with the sizes `dims`,
    in the order in which the result's axes lie."""
    shape = dims if dims[0] > 1 else dims[1:]
    if t.array is None:
        return site.parameter(t.kind.dtype, shape, t.name)
    return site.constant(site.layout.lies(t.array).reshape(shape))


def _joined(depth: int, parts: Sequence[str]) -> str:
    """The text that joins the arrays `parts` (texts) along the dimension that lies `depth` levels
    inside."""
    if depth == 0:
        return f"concat({', '.join(parts)})"
    names = [f"c{depth}_{i}" for i in range(len(parts))]
    inner = _joined(depth - 1, names)
    return f"map(({', '.join(names)}) -> {inner}, zip({', '.join(parts)}))"


def padded(site: Site) -> Step:
    """The step of a `Pad`."""
    x = site.tensor(0)
    rank = len(x.shape)
    amounts = site.attribute("pads", None)
    if amounts is None:
        amounts = site.array(1, "amounts")
    amounts, value = [int(n) for n in amounts], site.attribute("value", 0.0)
    axes = list(range(rank))
    if site.has(3):
        axes = [_axis(site, int(a), rank) for a in site.array(3, "axes")]
    if site.has(2):
        value = site.array(2, "value").item()
    if len(amounts) != 2 * len(axes):
        raise site.refused(f"expected {2 * len(axes)} amounts of padding, found {len(amounts)}")
    mode = site.attribute("mode", "constant")
    if mode not in (*PADS, "reflect"):
        raise site.refused(f"expected a mode of {', '.join(PADS)}, reflect; found {mode}")
    e, shape = site.logical(0), list(x.shape)
    for axis, before, after in zip(axes, amounts[: len(axes)], amounts[len(axes) :], strict=True):
        if not (before or after):
            continue
        if mode == "reflect":
            e = under(axis, _reflected(site, (before, after), shape[axis]), e)
        else:
            told = f"{number(before)}, {number(after)}"
            e = under(axis, partial(PADS[mode], told, _value(x, value)), e)
        shape[axis] += before + after
    return site.step(Kind(x.kind.dtype, tuple(shape)), e)


def _reflected(site: Site, amounts: tuple[int, int], n: int) -> Callable[[str], str]:
    """The function that takes the text of an array of n elements and gives it with so many of them
    before and after it as in a mirror that stands on its first, and on its last element."""
    before, after = amounts
    if not (0 <= before < n and 0 <= after < n):
        raise site.refused(f"expected less than {n} to be reflected, found {before} and {after}")
    sides = range(1, before + 1), range(n - 1 - after, n - 1)

    def of(e: str) -> str:
        first, last = (f"reversed({_places(side, n)(e)})" if side else "" for side in sides)
        return f"concat({', '.join(filter(None, (first, e, last)))})"

    return of


def _value(x: Tensor, value: float) -> str:
    return number(float(value) if x.kind.dtype.startswith("float") else int(value))


PADS = {
    "constant": lambda amounts, value, e: f"pad({amounts}, {value}, {e})",
    "edge": lambda amounts, value, e: f"pad_clamp({amounts}, {e})",
    "wrap": lambda amounts, value, e: f"pad_wrap({amounts}, {e})",
}


def sliced(site: Site) -> Step:
    """The step of a `Slice`; Refused for steps below 1 and for empty slices."""
    x = site.tensor(0)
    rank = len(x.shape)
    if site.has(1):
        starts, ends = (site.array(n, "places").tolist() for n in (1, 2))
        axes = site.array(3, "axes").tolist() if site.has(3) else range(len(starts))
        steps = site.array(4, "steps").tolist() if site.has(4) else [1] * len(starts)
    else:
        starts, ends = site.attribute("starts", ()), site.attribute("ends", ())
        axes, steps = site.attribute("axes", range(len(starts))), [1] * len(starts)
    e, shape = site.logical(0), list(x.shape)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        axis = _axis(site, int(axis), rank)
        places = range(shape[axis])[slice(start, end, step)]
        if step < 1 or not places:
            raise site.refused(
                f"expected steps from 1 on and at least one element, found {start} to {end} in "
                f"steps of {step}"
            )
        e = under(axis, _places(places, shape[axis]), e)
        shape[axis] = len(places)
    return site.step(Kind(x.kind.dtype, tuple(shape)), e)


def _places(places: range, n: int) -> Callable[[str], str]:
    """The function that takes the text of an array of n elements and gives the text of its elements
    at `places`."""

    def of(e: str) -> str:
        before, after = places[0], n - 1 - places[-1]
        if before or after:
            e = f"pad({number(-before)}, {number(-after)}, 0, {e})"
        return e if places.step == 1 else f"join(slide(1, {places.step}, {e}))"

    return of


def split_parts(site: Site, which: int) -> Step:
    """The step of the result number `which` of a `Split`."""
    x = site.tensor(0)
    axis = _axis(site, int(site.attribute("axis", 0)), len(x.shape))
    n, parts = x.shape[axis], len(site.node.outputs)
    sizes = site.attribute("split", None)
    if sizes is None:
        if site.has(1):
            sizes = site.array(1, "sizes").tolist()
        else:
            each = -(-n // parts)
            sizes = [each] * (parts - 1) + [n - each * (parts - 1)]
    if sum(sizes) != n or len(sizes) != parts or min(sizes) < 1:
        raise site.refused(
            f"expected {parts} parts with {n} elements in all, none without; found parts of "
            f"{list(sizes)}"
        )
    begin = list(accumulate(sizes, initial=0))[which]
    places = range(begin, begin + sizes[which])
    shape = (*x.shape[:axis], len(places), *x.shape[axis + 1 :])
    return site.step(Kind(x.kind.dtype, shape), under(axis, _places(places, n), site.logical(0)))


def resized(site: Site) -> Step:
    """The step of a `Resize` or `Upsample` that repeats each element a whole number of times;
    Refused for any other way of resizing."""
    x = site.tensor(0)
    mode = site.attribute("mode", "nearest")
    if mode != "nearest":
        raise site.refused(f"expected the mode nearest, found {mode}")
    policy = site.attribute("keep_aspect_ratio_policy", "stretch")
    if policy != "stretch":
        raise site.refused(f"expected the policy stretch, found {policy}")
    times = _times(site, x)
    if any(t < 1 or t != int(t) for t in times):
        raise site.refused(f"expected whole numbers as scales, found {list(times)}")
    _demand_repeats(site)
    e = site.logical(0)
    for axis, t in enumerate(times):
        if t > 1:
            e = under(axis, partial(_repeated, int(t)), e)
    return site.step(
        Kind(x.kind.dtype, tuple(int(n * t) for n, t in zip(x.shape, times, strict=True))), e
    )


def _repeated(times: int, e: str) -> str:
    return f"repeated({times}, {e})"


def _demand_repeats(site: Site) -> None:
    """Refuse a `Resize` whose way to choose the nearest element does not repeat each element
    equally often."""
    way = site.attribute("coordinate_transformation_mode", "half_pixel")
    nearest = site.attribute("nearest_mode", "round_prefer_floor")
    if site.node.operator == "Upsample":
        return
    floors = way == "asymmetric" and nearest == "floor"
    halves = way in ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel")
    if not floors and not (halves and nearest.startswith("round")):
        raise site.refused(
            f"expected modes that repeat each element equally often, found {way}, {nearest}"
        )


def _times(site: Site, x: Tensor) -> list[float]:
    """How often each axis of x is repeated, as the node's scales or sizes say."""
    if site.attribute("scales", None) is not None:
        return [float(s) for s in site.attribute("scales", ())]
    rank = len(x.shape)
    axes = [_axis(site, int(a), rank) for a in site.attribute("axes", range(rank))]
    if len({*axes}) < len(axes):
        raise site.refused(f"expected each axis once, found axes {axes}")
    for n, what in ((3, "sizes"), (2, "scales"), (1, "scales")):
        if site.has(n) and site.tensor(n).kind.elements == len(axes):
            pairs = zip(axes, site.array(n, what).tolist(), strict=True)
            told = {axis: t / x.shape[axis] if n == 3 else t for axis, t in pairs}
            return [told.get(axis, 1.0) for axis in range(rank)]
    raise site.refused("expected constant scales or sizes, found none")
