"""A folded ONNX graph as functions of PyTorch, node by node: in double precision it is a reference,
and on a GPU its convolutions take biases, ReLU and sums with them, in one call of cuDNN."""

# key: t tensor, w weights, b biases

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from explore.onnx_model.onnx_graph import Graph, Node


@dataclass(frozen=True, slots=True)
class TorchNetwork:
    """A folded graph in PyTorch: its constants as tensors of one type, and in one memory format if
    they have four axes."""

    graph: Graph
    constants: Mapping[str, Tensor]

    @staticmethod
    def of(graph: Graph, dtype: Any, order: Any, device: str) -> "TorchNetwork":
        """The network of a folded graph with constants of the type `dtype`, on a device; `order` is
        the memory format of images and of weights."""
        made = {}
        for name, array in graph.constants.items():
            t = torch.from_numpy(np.array(array))
            if array.dtype == np.float32:
                t = t.to(device, dtype)
                t = t.contiguous(memory_format=order) if t.ndim == 4 else t
            made[name] = t
        return TorchNetwork(graph, made)

    def __call__(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Every tensor of the network for these inputs, by name."""
        known = {**self.constants, **inputs}
        for node in self.graph.nodes:
            known[node.outputs[0]] = computed(node, known)
        return {name: t for name, t in known.items() if name not in self.constants}

    def result(self, inputs: Mapping[str, Tensor]) -> Tensor:
        """The network's first result; other tensors are given back as soon as nobody reads them."""
        known = {**self.constants, **inputs}
        last = {name: i for i, node in enumerate(self.graph.nodes) for name in node.inputs}
        for i, node in enumerate(self.graph.nodes):
            known[node.outputs[0]] = computed(node, known)
            for name in set(node.inputs) - self.constants.keys():
                if name and last[name] == i and name not in self.graph.outputs:
                    known.pop(name, None)
        return known[self.graph.outputs[0]]


def computed(node: Node, known: Mapping[str, Tensor]) -> Tensor:
    """The result of a node for the tensors `known`, with the functions that were folded into it."""
    given = [known[name] if name else None for name in node.inputs]
    functions = [name for name, _ in node.attributes.get("epilogue", ())]
    if node.operator == "Conv":
        return convolved(node, given, functions)
    made = OPERATORS[node.operator](node, *given)
    return activated(made, functions)


def activated(t: Tensor, functions: Sequence[str]) -> Tensor:
    """The tensor with these functions applied, in place; only ReLU is known here."""
    if set(functions) - {"Relu"}:
        raise ValueError(f"expected no function but Relu, found {', '.join(functions)}")
    return t.relu_() if functions else t


def convolved(node: Node, given: Sequence[Tensor | None], functions: Sequence[str]) -> Tensor:
    """The result of a convolution, with a sum and a ReLU if it has them: on a GPU in one call of
    cuDNN where that has one."""
    x, w, b, other = (*given, None, None)[:4]
    assert x is not None
    assert w is not None
    n = w.ndim - 2
    pads = tuple(node.attributes.get("pads", (0,) * 2 * n))
    if pads[:n] != pads[n:]:
        x, pads = (
            F.pad(x, [p for i in reversed(range(n)) for p in (pads[i], pads[n + i])]),
            (0,) * n,
        )
    sizes = [list(node.attributes.get(name, (1,) * n)) for name in ("strides", "dilations")]
    stride, padding, dilation = sizes[0], list(pads[:n]), sizes[1]
    groups = int(node.attributes.get("group", 1))
    if x.is_cuda and x.dtype is torch.float32 and list(functions) == ["Relu"]:
        if other is None:
            made = torch.cudnn_convolution_relu(x, w, b, stride, padding, dilation, groups)
        else:
            rest = (other, 1.0, b, stride, padding, dilation, groups)
            made = torch.cudnn_convolution_add_relu(x, w, *rest)
        return made
    made = torch.conv2d(x, w, b, stride, padding, dilation, groups)
    return activated(made if other is None else made.add_(other), functions)


def _pool(node: Node, x: Tensor, average: bool) -> Tensor:
    kernel = list(node.attributes["kernel_shape"])
    stride = list(node.attributes.get("strides", (1,) * len(kernel)))
    pads = list(node.attributes.get("pads", (0,) * 2 * len(kernel)))
    up = bool(node.attributes.get("ceil_mode", 0))
    n = len(kernel)
    if average:
        inside = not node.attributes.get("count_include_pad", 0)
        return F.avg_pool2d(x, kernel, stride, pads[:n], up, count_include_pad=not inside)
    if pads[:n] != pads[n:]:
        edges = [p for i in reversed(range(n)) for p in (pads[i], pads[n + i])]
        x, pads = F.pad(x, edges, value=-torch.inf), [0] * n
    return F.max_pool2d(x, kernel, stride, pads[:n], 1, up)


def _gemm(node: Node, x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
    if node.attributes.get("transA") or node.attributes.get("alpha", 1.0) != 1.0:
        raise ValueError(f"{node.title}: expected a plain product")
    return F.linear(x, w if node.attributes.get("transB") else w.t(), b)


def _reshape(node: Node, x: Tensor, shape: Tensor) -> Tensor:
    sizes = [x.shape[i] if n == 0 else int(n) for i, n in enumerate(shape.tolist())]
    return x.reshape(sizes)


def _flatten(node: Node, x: Tensor) -> Tensor:
    axis = int(node.attributes.get("axis", 1))
    return x.reshape(int(np.prod(x.shape[:axis])), -1)


OPERATORS: Mapping[str, Callable[..., Tensor]] = {
    "MaxPool": lambda node, x: _pool(node, x, average=False),
    "AveragePool": lambda node, x: _pool(node, x, average=True),
    "GlobalAveragePool": lambda node, x: x.mean((2, 3), keepdim=True),
    "Concat": lambda node, *xs: torch.cat(xs, int(node.attributes["axis"])),
    "Gemm": _gemm,
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Shape": lambda node, x: torch.tensor(x.shape),
    "Transpose": lambda node, x: x.permute(*node.attributes["perm"]),
    "Softmax": lambda node, x: x.softmax(int(node.attributes.get("axis", -1))),
    "Dropout": lambda node, x, *rest: x,
    "Relu": lambda node, x: x.relu(),
    "Sum": lambda node, x, y: x + y,
    "Add": lambda node, x, y: x + y,
}
