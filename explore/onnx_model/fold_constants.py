"""Nodes whose inputs are all constants, computed once when a model is read: mostly the arithmetic
on shapes that exporters leave behind."""

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TypeAlias

import numpy as np

from explore.onnx_model.onnx_graph import Array, Node
from explore.onnx_model.tensor_data import MOST_BYTES
from ir.errors import Unsupported, UserError

Fold: TypeAlias = Callable[[Node, Sequence[Array]], Array]


def folded(node: Node, given: Mapping[str, Array]) -> Array | None:
    """The array that a node makes of `given` constants; None if it reads anything else, or is not
    of those that are computed when a model is read."""
    fold = None if node.attributes.get("block_size") else FOLDS.get(node.operator)
    if fold is None or not all(name in given for name in filter(None, node.inputs)):
        return None
    arrays = [given[name] for name in node.inputs if name]
    if node.operator == "Slice" and len(node.inputs) > 4 and not node.inputs[3]:  # all axes
        arrays.insert(3, np.arange(len(arrays[1])))
    try:
        _demand_small(node, arrays)
        return np.asarray(fold(node, arrays))
    except (ValueError, IndexError, TypeError, OverflowError) as error:
        raise UserError(f"{node.title} cannot be computed: {error}") from error


def _demand_small(node: Node, xs: Sequence[Array]) -> None:
    """Refuse a node whose result would have too many numbers: a small file can ask for them."""
    match node.operator:
        case "Concat":
            count = sum(x.size for x in xs)
        case "Gather":
            count = xs[0].size * xs[1].size
        case "ConstantOfShape":
            count = prod(int(n) for n in xs[0])
        case _:
            shapes = [x.shape for x in xs] if node.operator in ARITHMETIC else [xs[0].shape]
            count = prod(np.broadcast_shapes(*shapes))
    if count > MOST_NUMBERS:
        raise UserError(
            f"{node.title}: expected at most {MOST_NUMBERS:,} numbers in a constant, "
            f"found {count:,}"
        )


ARITHMETIC = ("Add", "Sub", "Mul", "Div")
MOST_NUMBERS = MOST_BYTES // 8


def _cast(node: Node, xs: Sequence[Array]) -> Array:
    names = {1: "float32", 2: "uint8", 3: "int8", 6: "int32", 7: "int64", 9: "bool", 11: "float64"}
    to = int(node.attributes.get("to", 0))
    if to not in names:
        raise Unsupported(
            f"{node.title}: expected a cast to one of {', '.join(names.values())}, found ONNX's "
            f"type number {to}"
        )
    return xs[0].astype(names[to])


def _axes(node: Node, xs: Sequence[Array]) -> tuple[int, ...]:
    """The axes that a node is to work on: those of its attribute `axes` (older opsets), or the
    numbers in its second input (newer ones); `xs` are its inputs."""
    given = node.attributes.get("axes", xs[1] if len(xs) > 1 else ())
    return tuple(int(a) for a in np.ravel(np.asarray(given)))


def _unsqueeze(node: Node, xs: Sequence[Array]) -> Array:
    return np.expand_dims(xs[0], _axes(node, xs))


def _squeeze(node: Node, xs: Sequence[Array]) -> Array:
    return np.squeeze(xs[0], _axes(node, xs) or None)


def _filled(node: Node, xs: Sequence[Array]) -> Array:
    shape = tuple(int(n) for n in xs[0])
    value = np.ravel(np.asarray(node.attributes.get("value", np.zeros(1, np.float32))))
    return np.full(shape, value[0], value.dtype)


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


def _reshape(node: Node, xs: Sequence[Array]) -> Array:
    return xs[0].reshape(reshaped(node, xs[0].shape, [int(n) for n in xs[1]]))


def _slice(node: Node, xs: Sequence[Array]) -> Array:
    if len(xs) < 3:  # before opset 10: attributes
        raise Unsupported(
            f"{node.title}: expected the bounds of a slice as inputs, found them as attributes"
        )
    starts, ends = xs[1], xs[2]
    axes = xs[3] if len(xs) > 3 else np.arange(len(starts))
    steps = xs[4] if len(xs) > 4 else np.ones(len(starts), np.int64)
    where = [slice(None)] * xs[0].ndim
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        where[int(axis)] = slice(int(start), int(end), int(step))
    return xs[0][tuple(where)]


def _gather(node: Node, xs: Sequence[Array]) -> Array:
    return np.take(xs[0], xs[1], axis=int(node.attributes.get("axis", 0)))


def _concat(node: Node, xs: Sequence[Array]) -> Array:
    return np.concatenate(xs, axis=int(node.attributes["axis"]))


def _transpose(node: Node, xs: Sequence[Array]) -> Array:
    return np.transpose(xs[0], node.attributes.get("perm"))


def _divided(node: Node, xs: Sequence[Array]) -> Array:
    if np.issubdtype(xs[0].dtype, np.integer):
        if not np.all(xs[1]):
            raise UserError(f"{node.title} divides by 0")
        return np.asarray(np.trunc(xs[0] / xs[1]), xs[0].dtype)
    return np.asarray(xs[0] / xs[1])


def _dequantized(node: Node, xs: Sequence[Array]) -> Array:
    x, scale = xs[:2]
    zero = xs[2] if len(xs) > 2 else np.zeros(scale.shape, x.dtype)
    if scale.ndim:  # one for each element of an axis
        axis = int(node.attributes.get("axis", 1)) % max(1, x.ndim)
        each = [-1 if a == axis else 1 for a in range(x.ndim)]
        scale, zero = scale.reshape(each), zero.reshape(each)
    return np.asarray((x.astype(np.int64) - zero.astype(np.int64)) * scale, scale.dtype)


FOLDS: Mapping[str, Fold] = {
    "Identity": lambda node, xs: xs[0],
    "Cast": _cast,
    "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze,
    "ConstantOfShape": _filled,
    "Reshape": _reshape,
    "Slice": _slice,
    "Gather": _gather,
    "Concat": _concat,
    "Transpose": _transpose,
    "Add": lambda node, xs: xs[0] + xs[1],
    "Sub": lambda node, xs: xs[0] - xs[1],
    "Mul": lambda node, xs: xs[0] * xs[1],
    "Div": _divided,
    "Sqrt": lambda node, xs: np.sqrt(xs[0]),
    "Neg": lambda node, xs: -xs[0],
    "Floor": lambda node, xs: np.floor(xs[0]),
    "DequantizeLinear": _dequantized,
}
"""The operators that are computed on constants."""
