"""Nodes on constants in the form in which ONNX's reference computes them right, and one that it
never computes right."""

# key: n number of an input, x an array

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from explore.onnx_model.onnx_graph import Array, Node
from ir.errors import Unsupported, UserError

MOST_FACTORS = 4  # of an Einsum: how to take more of them in turn is itself a search
AXES = r"[a-zA-Z]*(\.\.\.)?[a-zA-Z]*"
EQUATION = re.compile(f"{AXES}(,{AXES})*(->{AXES})?")


def prepared(node: Node, given: Mapping[str, Array]) -> tuple[Node, Mapping[str, Array]]:
    """The node and the arrays that it is given, by name, in a form that the reference computes as
    ONNX says: a `Pad` that cuts off as a `Pad` of what is left, and the depth of a `OneHot` without
    axes."""
    match node.operator:
        case "Pad":
            return _cropped(node, given)
        case "OneHot" if given[node.inputs[1]].size == 1:
            return _with_inputs(node, given, {1: given[node.inputs[1]].reshape(())})
    return node, given


def _with_inputs(
    node: Node, given: Mapping[str, Array], others: Mapping[int, Array]
) -> tuple[Node, Mapping[str, Array]]:
    """The node with `others` in place of some of its inputs, by number."""
    names = [f"{n}" if name else "" for n, name in enumerate(node.inputs)]
    arrays = [(n, others.get(n, given.get(old))) for n, old in enumerate(node.inputs) if old]
    return replace(node, inputs=tuple(names)), {f"{n}": x for n, x in arrays if x is not None}


def _cropped(node: Node, given: Mapping[str, Array]) -> tuple[Node, Mapping[str, Array]]:
    """A `Pad` without negative amounts, of that part of its input which these leave."""
    x = given[node.inputs[0]]
    by_input = "pads" not in node.attributes
    amounts = given[node.inputs[1]] if by_input else np.asarray(node.attributes["pads"])
    if not (amounts < 0).any():
        return node, given
    axes = given[node.inputs[3]].tolist() if len(node.inputs) > 3 else [*range(x.ndim)]
    if len(amounts) != 2 * len(axes) or len({a % x.ndim for a in axes}) < len(axes):
        raise UserError(f"{node.title}: expected two amounts for each axis once")
    parts = [slice(None)] * x.ndim
    for axis, before, after in zip(axes, *np.split(amounts, 2), strict=True):
        parts[axis] = slice(max(0, -int(before)), x.shape[axis] - max(0, -int(after)))
    left = np.maximum(amounts, 0)
    if not by_input:
        node = replace(node, attributes={**node.attributes, "pads": tuple(left.tolist())})
    return _with_inputs(node, given, {0: x[tuple(parts)]} | ({1: left} if by_input else {}))


def gathered_elements(node: Node, given: Mapping[str, Array]) -> Array:
    """The result of a `GatherElements`, for which the reference repeats places that are too large,
    and takes at most 32 along the axis."""
    x, places = (given[name] for name in node.inputs)
    axis = int(node.attributes.get("axis", 0)) % max(1, x.ndim)
    if x.ndim != places.ndim or any(
        n > most for i, (n, most) in enumerate(zip(places.shape, x.shape, strict=True)) if i != axis
    ):
        raise UserError(
            f"{node.title}: expected places for a part of {list(x.shape)}, found "
            f"{list(places.shape)}"
        )
    part = tuple(slice(None if i == axis else n) for i, n in enumerate(places.shape))
    return np.take_along_axis(x[part], places, axis)


def demand_affordable_form(node: Node, given: Mapping[str, Array]) -> None:
    """Refuse a node whose arrays may make more numbers than its result has, or about which too
    little is known before it is computed."""
    arrays = [given[name] for name in node.inputs if name]
    match node.operator:
        case "LayerNormalization":
            shape = arrays[0].shape
            if np.broadcast_shapes(*(x.shape for x in arrays)) != shape:
                raise UserError(
                    f"{node.title}: expected a scale and a bias that can be repeated to "
                    f"{list(shape)}, found {', '.join(str([*x.shape]) for x in arrays[1:])}"
                )
            if arrays[0].dtype not in (np.float32, np.float64):
                raise Unsupported(
                    f"{node.title}: expected floats of 32 or 64 bits, found {arrays[0].dtype}"
                )
        case "GatherND":
            count = int(node.attributes.get("batch_dims", 0))
            x, places = arrays
            if not 0 <= count < min(x.ndim, places.ndim) or x.shape[:count] != places.shape[:count]:
                raise UserError(
                    f"{node.title}: expected arrays that agree in their first {count} sizes, found "
                    f"{list(x.shape)} and {list(places.shape)}"
                )
        case "Einsum":
            einsum_sizes(node, arrays)


def einsum_sizes(node: Node, arrays: Sequence[Array]) -> tuple[int, int]:
    """The number of products that an `Einsum` of these arrays sums up at most, and the number of
    its results. Refused unless the axes in its equation are those of its arrays."""
    equation = re.sub(r"\s", "", str(node.attributes.get("equation", "")))
    factors, arrow, made = equation.partition("->")
    each = factors.split(",")
    if not EQUATION.fullmatch(equation) or not len(each) == len(arrays) <= MOST_FACTORS:
        raise Unsupported(
            f"{node.title}: expected an equation of at most {MOST_FACTORS} factors, found "
            f"{equation!r} for {len(arrays)}"
        )
    sizes = dict[str, int]()  # of an axis: the largest
    for letters, x in zip(each, arrays, strict=True):
        axes = _axes(letters, x.ndim - len(letters.replace("...", "")))
        if len(axes) != x.ndim:
            raise UserError(f"{node.title}: expected a letter for each axis, found {equation!r}")
        sizes |= {a: max(sizes.get(a, 0), n) for a, n in zip(axes, x.shape, strict=True)}
    others = sum(not a.isalpha() for a in sizes)
    if not arrow:
        made = "..." + "".join(a for a in sizes if factors.count(a) == 1)
    if not sizes.keys() >= {*_axes(made, others)}:
        raise UserError(f"{node.title}: expected letters of its factors, found {equation!r}")
    return prod(sizes.values()), prod(sizes[a] for a in _axes(made, others))


def _axes(letters: str, others: int) -> list[str]:
    """The names of the axes that `letters` stand for: each letter, and, for an ellipsis, so many
    numbers, the last of which is 1."""
    before, dots, after = letters.partition("...")
    between = [f"{n}" for n in range(others, 0, -1)] if dots else []
    return [*before, *between, *after]
