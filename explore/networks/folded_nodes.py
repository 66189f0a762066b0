"""Nodes folded into those before them: batch normalisation into a convolution's weights, a sum of
two images and functions of a number into the convolution that makes one of them."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from explore.onnx_model.fold_constants import folded
from explore.onnx_model.onnx_graph import Array, Graph, Node
from explore.operators.activations import ACTIVATIONS

TAKE_FUNCTIONS = ("Conv", "ConvTranspose", "Gemm")


@dataclass(slots=True)
class _Folding:
    """The graph while it is folded: nodes so far by the tensor that they make, and how often each
    tensor is read."""

    constants: dict[str, Array]
    read: Counter[str]
    makers: dict[str, Node]
    nodes: list[Node]

    def take(self, node: Node) -> None:
        """Add a node, or fold it into one that is there. One that nobody reads is left out."""
        if not any(node.outputs):
            return
        found = folded(node, self.constants)
        if found is not None:
            self.constants[node.outputs[0]] = found
            return
        for fold in (self._normalised, self._activated, self._added):
            grown = fold(node)
            if grown is not None:
                old, new = grown
                self.nodes.remove(old)
                node = new
                break
        self.nodes.append(node)
        self.makers[node.outputs[0]] = node

    def _before(self, name: str, operators: tuple[str, ...]) -> Node | None:
        """The node that makes a tensor, if it is one of these operators and nobody else reads what
        it makes."""
        node = self.makers.get(name)
        good = node is not None and node.operator in operators and self.read[name] == 1
        return node if good else None

    def _normalised(self, node: Node) -> tuple[Node, Node] | None:
        if node.operator != "BatchNormalization" or any(node.outputs[1:]):
            return None
        conv = self._before(node.inputs[0], ("Conv",))
        if conv is None or conv.attributes.get("epilogue") or len(conv.inputs) > 3:
            return None
        arrays = [self.constants.get(name) for name in (*node.inputs[1:], *conv.inputs[1:3])]
        if any(a is None for a in arrays):
            return None
        scale, bias, mean, variance, weights, *biases = (np.asarray(a, np.float64) for a in arrays)
        factor = scale / np.sqrt(variance + float(node.attributes.get("epsilon", 1e-5)))
        shift = bias + ((biases[0] if biases else 0) - mean) * factor
        made = {
            f"{node.outputs[0]}.weights": weights * factor.reshape(-1, *(1,) * (weights.ndim - 1)),
            f"{node.outputs[0]}.biases": shift,
        }
        self.constants |= {name: a.astype(np.float32) for name, a in made.items()}
        return conv, replace(conv, inputs=(conv.inputs[0], *made), outputs=node.outputs)

    def _activated(self, node: Node) -> tuple[Node, Node] | None:
        if node.operator not in (*ACTIVATIONS, "Clip") or not node.inputs:
            return None
        before = self._before(node.inputs[0], TAKE_FUNCTIONS)
        function = self._function(node)
        if before is None or function is None:
            return None
        functions = (*before.attributes.get("epilogue", ()), function)
        return before, replace(
            before,
            outputs=node.outputs,
            attributes={**before.attributes, "epilogue": functions},
        )

    def _function(self, node: Node) -> tuple[str, Mapping[str, Any]] | None:
        if node.operator != "Clip":
            return node.operator, dict(node.attributes)
        found = {}
        for name, place, n in (("low", "min", 1), ("high", "max", 2)):
            value = node.attributes.get(place)
            if n < len(node.inputs) and node.inputs[n]:
                if node.inputs[n] not in self.constants:
                    return None
                value = self.constants[node.inputs[n]].item()
            found[name] = None if value is None or np.isinf(value) else float(value)
        return "Clip", found

    def _added(self, node: Node) -> tuple[Node, Node] | None:
        """A sum of two images, folded into the later one of the convolutions that make them."""
        if node.operator not in ("Add", "Sum") or len(node.inputs) != 2:
            return None
        if any(name in self.constants for name in node.inputs):
            return None
        convs = [self._before(name, ("Conv",)) for name in node.inputs]
        plain = [c for c in convs if c is not None and _takes_another(c)]
        if not plain or node.inputs[0] == node.inputs[1]:
            return None
        conv = max(plain, key=self.nodes.index)
        other = node.inputs[1 - [*node.inputs].index(conv.outputs[0])]
        if other in self.makers and self.nodes.index(self.makers[other]) > self.nodes.index(conv):
            return None
        inputs = (*conv.inputs, "")[:3] if len(conv.inputs) == 2 else conv.inputs
        return conv, replace(conv, inputs=(*inputs, other), outputs=node.outputs)


def _takes_another(conv: Node) -> bool:
    return (
        len(conv.inputs) < 4
        and not conv.attributes.get("epilogue")
        and int(conv.attributes.get("group", 1)) == 1
    )


def folded_graph(graph: Graph) -> Graph:
    """The graph with constants computed, and nodes folded into those before them."""
    read = Counter([*graph.outputs, *(name for node in graph.nodes for name in node.inputs)])
    state = _Folding(dict(graph.constants), read, {}, [])
    for node in graph.nodes:
        state.take(replace(node, outputs=tuple(n if read[n] else "" for n in node.outputs)))
    return replace(graph, constants=state.constants, nodes=tuple(state.nodes))
