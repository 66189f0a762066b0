"""Nodes folded into earlier ones: batch normalisation into a convolution's weights; a sum of two
images, and functions of one number, into the convolution before them."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np

from explore.network_graph.point_functions import (
    FUNCTION,
    OF_SEVERAL,
    clip_limits,
    function_of_root,
)
from explore.onnx_model.fold_constants import Constants
from explore.onnx_model.onnx_graph import Array, Graph, Node, naming
from explore.operators.activations import ACTIVATIONS

TAKE_FUNCTIONS = ("Conv", "ConvTranspose", "Gemm", "BatchNormalization", "Add", "Sum", "Mul")
OF_SHAPES = ("Shape", "Size")
KEEP_RANK = (
    *("BatchNormalization", "Concat", "MaxPool", "AveragePool", "LRN", "Dropout", "Identity"),
    *(*ACTIVATIONS, "Clip", FUNCTION),
)


@dataclass(slots=True)
class _Folding:
    """A graph while its nodes are folded: its constants, and those yet to come (`fixed`), how often
    each tensor is read (`read`), and the number of axes of a tensor (`ranks`), where it is known.
    The nodes so far, each with its place among all, are in `nodes` by their first results, in
    order, and in `makers` by the tensors that they make."""

    known: Constants
    read: Counter[str]
    ranks: dict[str, int]  # of tensors, where they are plain
    makers: dict[str, Node] = field(default_factory=dict)
    nodes: dict[str, tuple[int, Node]] = field(default_factory=dict)
    fixed: set[str] = field(default_factory=set)
    places: Iterator[int] = field(default_factory=count)

    @property
    def constants(self) -> dict[str, Array]:
        return self.known.arrays

    def take(self, node: Node) -> None:
        """Add a node to the graph, or fold it into a node that is there; a node whose results
        nobody reads is left out."""
        if not any(node.outputs) or self.known.take(node):
            return
        if self._will_be_constant(node):
            self.fixed |= set(node.outputs)
            self._add(node)
            return
        node = self._function_of_one(node)
        for fold in (self._normalised, self._scaled, self._activated, self._added):
            grown = fold(node)
            if grown is not None:
                old, node = grown
                self._remove(old)
                break
        self._add(node)
        self.makers[node.outputs[0]] = node
        rank = self._rank(node)
        if rank is not None:
            self.ranks[node.outputs[0]] = rank

    def _will_be_constant(self, node: Node) -> bool:
        """True if a node is computed before the network runs, once the shapes of all tensors are
        known."""
        if node.operator in OF_SHAPES:
            return True
        read = filter(None, node.inputs)
        return self.known.takes(node) and all(n in self.constants or n in self.fixed for n in read)

    def _add(self, node: Node) -> None:
        self.nodes[_first(node)] = next(self.places), node

    def _remove(self, node: Node) -> None:
        del self.nodes[_first(node)]

    def _place(self, node: Node) -> int:
        return self.nodes[_first(node)][0]

    def _function_of_one(self, node: Node) -> Node:
        """The node as a function of a single tensor, which takes the place of the node and of the
        nodes between that tensor and it. The node as it is, if it computes no such function, if
        other nodes read what the nodes between make, or if its own operator is such a function."""
        found = function_of_root(node, self.makers, self.constants, self.ranks)
        if found is None:
            return node
        root, text = found
        between = {n for n in node.inputs if n and n not in self.constants and n != root}
        if any(self.read[name] > list(node.inputs).count(name) for name in between):
            return node
        if not between and list(node.inputs).count(root) == 1 and node.operator not in OF_SEVERAL:
            return node
        for name in between:
            self._remove(self.makers.pop(name))
        self.read[root] -= len(between) + list(node.inputs).count(root) - 1
        return replace(node, operator=FUNCTION, inputs=(root,), attributes={"of": text})

    def _before(self, name: str, operators: tuple[str, ...]) -> Node | None:
        """The node that makes the tensor `name`, if its operator is one of `operators` and nobody
        else reads the tensor; else None."""
        node = self.makers.get(name)
        good = node is not None and node.operator in operators and self.read[name] == 1
        return node if good else None

    def _normalised(self, node: Node) -> tuple[Node, Node] | None:
        if node.operator != "BatchNormalization" or any(node.outputs[1:]) or not _is_fixed(node):
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
        self.constants.update({name: a.astype(np.float32) for name, a in made.items()})
        return conv, replace(conv, inputs=(conv.inputs[0], *made), outputs=node.outputs)

    def _scaled(self, node: Node) -> tuple[Node, Node] | None:
        """The convolution or batch normalisation before `node`, as it is and with `node` folded
        into it; None if there is none, or if `node` is no product or sum with a constant for each
        channel."""
        if node.operator not in ("Mul", "Add") or len(node.inputs) != 2:
            return None
        for name, other in (node.inputs, node.inputs[::-1]):
            before = self._before(name, ("BatchNormalization", "Conv"))
            constant, rank = self.constants.get(other), self.ranks.get(name)
            if before is None or before.attributes.get("epilogue") or len(before.inputs) == 4:
                continue
            if not _is_fixed(before):
                continue
            if constant is None or rank is None:
                continue
            old = [self.constants.get(n) for n in before.inputs[1:3]]
            each = None if old[0] is None else _of_channels(constant, len(old[0]), rank)
            if each is not None and not any(a is None for a in old):
                return before, self._changed(before, node, each)
        return None

    def _changed(self, before: Node, node: Node, each: Array) -> Node:
        """The convolution or normalisation `before` with its results multiplied by the numbers
        `each` of its channels, or with these added, as `node` does."""
        factor, *biases = (np.asarray(self.constants[n]) for n in before.inputs[1:3])
        bias = biases[0] if biases else np.zeros(len(factor))
        if node.operator == "Mul":
            factor = factor * each.reshape(-1, *(1,) * (factor.ndim - 1))
            bias = bias * each
        else:
            bias = bias + each
        made = {f"{node.outputs[0]}.factor": factor, f"{node.outputs[0]}.bias": bias}
        self.constants.update({n: np.asarray(a, np.float32) for n, a in made.items()})
        inputs = (before.inputs[0], *made, *before.inputs[3:])
        return replace(before, inputs=inputs, outputs=node.outputs)

    def _rank(self, node: Node) -> int | None:
        """The number of axes of a node's result; None if it is not known without computing
        shapes."""
        if node.operator in ("Conv", "ConvTranspose"):
            weights = self.constants.get(node.inputs[1])
            return None if weights is None else weights.ndim
        return self.ranks.get(node.inputs[0]) if node.operator in KEEP_RANK else None

    def _activated(self, node: Node) -> tuple[Node, Node] | None:
        if node.operator not in (*ACTIVATIONS, "Clip", FUNCTION) or not node.inputs:
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
        limits = clip_limits(node, self.constants)
        return None if limits is None else ("Clip", {"low": limits[0], "high": limits[1]})

    def _added(self, node: Node) -> tuple[Node, Node] | None:
        """The convolution before `node`, as it is and with `node` folded into it; if convolutions
        make both images that `node` adds, the later one. None if there is none, or if `node` is no
        sum of two images."""
        if node.operator not in ("Add", "Sum") or len(node.inputs) != 2:
            return None
        if any(name in self.constants for name in node.inputs):
            return None
        convs = [self._before(name, ("Conv",)) for name in node.inputs]
        plain = [c for c in convs if c is not None and _takes_another(c)]
        if not plain or node.inputs[0] == node.inputs[1]:
            return None
        conv = max(plain, key=self._place)
        other = node.inputs[1 - [*node.inputs].index(conv.outputs[0])]
        if other in self.makers and self._place(self.makers[other]) > self._place(conv):
            return None
        inputs = (*conv.inputs, "")[:3] if len(conv.inputs) == 2 else conv.inputs
        return conv, replace(conv, inputs=(*inputs, other), outputs=node.outputs)


def _of_channels(constant: Array, channels: int, rank: int) -> Array | None:
    """A number for each of so many `channels` (axis 1 of `rank` axes), from a constant that is the
    same along all other axes; None for a constant that differs along another axis."""
    shape = (*(1,) * (rank - constant.ndim), *constant.shape)
    if len(shape) != rank or constant.size not in (1, channels) or shape[1] != constant.size:
        return None
    return np.broadcast_to(constant.reshape(-1), (channels,))


def _is_fixed(node: Node) -> bool:
    """True unless a node is a batch normalisation that is being trained, or one with statistics for
    each number."""
    given = node.attributes
    return not given.get("training_mode", 0) and bool(given.get("spatial", 1))


def _takes_another(conv: Node) -> bool:
    return (
        len(conv.inputs) < 4
        and not conv.attributes.get("epilogue")
        and int(conv.attributes.get("group", 1)) == 1
    )


def _first(node: Node) -> str:
    """The name of a node's first result that is read."""
    return next(filter(None, node.outputs))


def folded_graph(graph: Graph, constants: Constants) -> Graph:
    """The graph with nodes folded into those before them; what is constant is added to its
    `constants`."""
    read = Counter([*graph.outputs, *(name for node in graph.nodes for name in node.inputs)])
    ranks = {name: len(kind.shape) for name, kind in graph.inputs.items()}
    state = _Folding(constants, read, ranks)
    for node in graph.nodes:
        with naming(node):
            state.take(replace(node, outputs=tuple(n if read[n] else "" for n in node.outputs)))
    nodes = tuple(node for _, node in state.nodes.values())
    return replace(graph, constants=constants.arrays, nodes=nodes)
