"""Functions of one number: nodes that work number by number on one tensor and constants become one
node, such as x·min(max(x + 3, 0), 6)/6."""

import re
from collections.abc import Mapping
from itertools import accumulate
from typing import Any

import numpy as np

from explore.onnx_model.onnx_graph import Array, Node
from explore.operators.activations import ACTIVATIONS, clipped
from explore.operators.number_by_number import BINARY
from explore.operators.program_text import number

FUNCTION = "Function"  # an operator of ours: its attribute `of` is the text of a function of y
OF_SEVERAL = ("Add", "Sub", "Mul", "Div", "Max", "Min")
MOST_TEXT, MOST_DEPTH = 1000, 24
SIMPLE = re.compile(r"[\w.]+|\([^()]*\)")


def function_of_root(
    node: Node,
    makers: Mapping[str, Node],
    constants: Mapping[str, Array],
    ranks: Mapping[str, int],
) -> tuple[str, str] | None:
    """A pair: the name of a tensor, each number of which becomes the number at the same place of
    the node's result, and the text of the function of y that does this; None if the node computes
    no such function of a single tensor.

    Nodes before it that are such functions themselves are taken into the function.
    """
    if node.operator not in OF_SEVERAL and node.operator not in (*ACTIVATIONS, "Clip"):
        return None
    roots, texts = set[str](), list[str]()
    for name in filter(None, node.inputs):
        if name in constants:
            texts.append("")
            continue
        root, text = _looked_through(name, makers, constants)
        roots.add(root)
        texts.append(text)
    if len(roots) != 1:
        return None
    (root,) = roots
    for n, name in enumerate(filter(None, node.inputs)):
        if name in constants:
            scalar = _scalar(constants[name], ranks.get(root))
            if scalar is None:
                return None
            texts[n] = scalar
    made = _applied(node, constants, texts)
    if made is None or len(made) > MOST_TEXT or _depth(made) > MOST_DEPTH:
        return None
    return root, made


def _depth(text: str) -> int:
    """The most brackets that are open at a place of a text."""
    return max(accumulate({"(": 1, ")": -1}.get(c, 0) for c in text))


def _looked_through(
    name: str, makers: Mapping[str, Node], constants: Mapping[str, Array]
) -> tuple[str, str]:
    """A pair: a tensor, and the text of the function that makes each number of the tensor `name`
    from y, the number at the same place of the first tensor. It is the tensor `name` itself and `y`
    if there is no other such tensor."""
    maker = makers.get(name)
    if maker is not None and maker.operator == FUNCTION:
        return maker.inputs[0], maker.attributes["of"]
    if maker is not None and maker.operator in (*ACTIVATIONS, "Clip"):
        text = _applied(maker, constants, ["y"])
        if text is not None:
            return maker.inputs[0], text
    return name, "y"


def _scalar(constant: Array, rank: int | None) -> str | None:
    """The text of the number in a constant that has a single number and adds no axes to a tensor of
    `rank` axes; None for other constants."""
    fits = constant.ndim <= (1 if rank is None else rank)
    if constant.size != 1 or not fits or not np.issubdtype(constant.dtype, np.floating):
        return None
    value = float(constant.item())
    return None if np.isnan(value) else number(value)


def _applied(node: Node, constants: Mapping[str, Array], texts: list[str]) -> str | None:
    """The text of a node's result from the texts of its operands; None if it is a `Clip` whose
    limits are computed."""
    texts = [text if SIMPLE.fullmatch(text) else f"({text})" for text in texts]
    if node.operator in OF_SEVERAL:
        return BINARY[node.operator](texts)
    if node.operator == "Clip":
        limits = clip_limits(node, constants)
        return None if limits is None else clipped(*limits, texts[0])
    return ACTIVATIONS[node.operator].applied(node.attributes, texts[0])


def clip_limits(
    node: Node, constants: Mapping[str, Array]
) -> tuple[float | None, float | None] | None:
    """The least and the largest value that a `Clip` allows, from its attributes or constants (None
    for no limit); None if a limit is computed."""
    found: list[float | None] = []
    for place, n in (("min", 1), ("max", 2)):
        value: Any = node.attributes.get(place)
        if n < len(node.inputs) and node.inputs[n]:
            if node.inputs[n] not in constants:
                return None
            value = constants[node.inputs[n]].item()
        found.append(None if value is None or np.isinf(value) else float(value))
    return found[0], found[1]
