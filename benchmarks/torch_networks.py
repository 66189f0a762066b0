"""Networks on a GPU beside PyTorch, which replays a CUDA graph of them: outputs against references
in double precision, times and memory.

    python -m benchmarks.torch_networks vgg19 resnet50 squeezenet … [--tried 24] [--size 224]

PyTorch computes the graph after folding, so its convolutions take biases, ReLU and sums with them,
in one call of cuDNN where it has one. Its double precision is the reference of both. It is measured
with channels first and last, with exact float products and with TF32; memory is the most that it
has allocated while it captures and replays the graph, once cuDNN has chosen its algorithms."""

# key: t tensor, w weights, b biases

import argparse
import json
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.networks import model_of
from codegen.runtime.session import open_device
from explore.network_choice.choose_options import Chooser
from explore.network_graph.folded_nodes import folded_graph
from explore.network_graph.network_layers import layers_of
from explore.networks.export_network import inputs_for
from explore.networks.network import Network
from explore.networks.network_tables import layer_table, program_line
from explore.networks.open_network import quickly
from explore.onnx_model.onnx_graph import Graph, Node
from explore.onnx_model.read_model import read_model
from explore.peers.torch_peer import exactly
from explore.run.target import target_of

PASSES, REPLAYS = 15, 20
WAYS = {
    "channels last": (torch.channels_last, "float"),
    "channels first": (torch.contiguous_format, "float"),
    "channels last, tf32": (torch.channels_last, "tf32"),
    "channels first, tf32": (torch.contiguous_format, "tf32"),
}


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


# ---- measurements


@dataclass(frozen=True, slots=True)
class Replayed:
    """PyTorch's network in a CUDA graph: a function that gives an inference's time in milliseconds,
    from several back to back; the result; and the bytes that it takes at most."""

    time_ms: Callable[[], float]
    result: Tensor
    most_bytes: int


def replayed(graph: Graph, inputs: Mapping[str, Any], order: Any, precision: str) -> Replayed:
    """PyTorch's network for these inputs, captured in a CUDA graph, with images in this memory
    format and products of this precision."""
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated()
    with torch.inference_mode(), exactly(precision):
        net = TorchNetwork.of(graph, torch.float32, order, "cuda")
        given = {n: torch.from_numpy(a).cuda() for n, a in inputs.items()}
        given = {n: t.contiguous(memory_format=order) for n, t in given.items()}
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(3):
                net.result(given)
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        made = torch.cuda.CUDAGraph()
        with torch.cuda.graph(made):
            result = net.result(given)
        made.replay()
        torch.cuda.synchronize()
    most = torch.cuda.max_memory_allocated() - before

    def time_ms() -> float:
        begun = time.perf_counter()
        for _ in range(REPLAYS):
            made.replay()
        torch.cuda.synchronize()
        return 1e3 * (time.perf_counter() - begun) / REPLAYS

    return Replayed(time_ms, result, most)


def relative(found: Any, want: Any) -> float:
    """The relative error of `found` against `want`, by the sums of their squares."""
    return float(np.linalg.norm(found - want) / (np.linalg.norm(want) or 1.0))


def errors(net: Network, graph: Graph, inputs: Mapping[str, Any]) -> dict[str, float]:
    """The relative error of each tensor of the network against PyTorch's in double precision, by
    the tensor's name."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    exact = TorchNetwork.of(graph, torch.float64, torch.contiguous_format, device)
    with torch.inference_mode():
        right = exact({n: torch.from_numpy(a).to(device).double() for n, a in inputs.items()})
    found = net.trace(**inputs)
    return {n: relative(a, right[n].cpu().numpy()) for n, a in found.items() if n in right}


def ours_ms(net: Network, inputs: Mapping[str, Any]) -> Callable[[], float]:
    """The function that gives the time of an inference of our network in milliseconds, from several
    back to back."""
    given = {net.plan.tensors[name]: a for name, a in inputs.items()}
    series = net.built.series(given)
    series.warm()
    return lambda: series.batch(REPLAYS) / 1e6


def measured(name: str, size: int | None, device: str, tried: int) -> dict[str, Any]:
    """The measurements of the network `name`: our errors, time and bytes, and for each way of
    PyTorch its error, its time, the median ratio of its time to ours, and its bytes."""
    model = model_of(name, np.random.default_rng(0), size)
    graph = read_model(model)
    layers, target = layers_of(graph), target_of(device, None, ())
    assert target.device is not None
    begun = time.perf_counter()
    options = quickly(
        layers,
        target,
        open_device(target.device),
        tried,
        lambda number, found: print(program_line(layers, number, found), flush=True),
    )
    took = time.perf_counter() - begun
    choice = Chooser.of(layers, options).fastest()
    print("\n".join(layer_table(choice)), flush=True)
    net = Network.of(choice.layers, choice.options, open_device(target.device))
    inputs, folded = inputs_for(layers, np.random.default_rng(1)), folded_graph(graph)
    found = errors(net, folded, inputs)
    last = max(found[n] for n in net.layers.outputs if n in found)
    row: dict[str, Any] = {
        "network": name,
        "explored_s": took,
        "sum_of_layers_ms": choice.time_ns / 1e6,
        "error": last,
        "worst": max(found.values()),
        "tensors": len(found),
        "bytes": net.memory_bytes,
        "held": net.built.allocated_bytes,
    }
    return row | (beside(net, folded, inputs) if torch.cuda.is_available() else {})


def beside(net: Network, folded: Graph, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The times of our network and of PyTorch's ways, measured in turns, with PyTorch's errors and
    bytes."""
    torch.backends.cudnn.benchmark = True
    ways = {way: replayed(folded, inputs, *how) for way, how in WAYS.items()}
    ours = ours_ms(net, inputs)
    passes = [
        {"ours": ours(), **{way: peer.time_ms() for way, peer in ways.items()}}
        for _ in range(PASSES)
    ]
    exact = TorchNetwork.of(folded, torch.float64, torch.contiguous_format, "cuda")
    with torch.inference_mode():
        given = {n: torch.from_numpy(a).cuda().double() for n, a in inputs.items()}
        right = exact.result(given).cpu().numpy()
    quartiles = np.percentile([p["ours"] for p in passes], (25, 50, 75))
    return {"ours_ms": list(quartiles)} | {
        way: {
            "ms": statistics.median(p[way] for p in passes),
            "ratio": statistics.median(p[way] / p["ours"] for p in passes),
            "bytes": peer.most_bytes,
            "error": relative(peer.result.cpu().numpy(), right),
        }
        for way, peer in ways.items()
    }


def main() -> None:
    """Print what was measured of each network that the arguments name, an object of JSON a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+", help="names of models")
    parser.add_argument("--size", type=int, help="pixels of an image, each way")
    parser.add_argument("--tried", type=int, default=24, help="variants of a layer, on average")
    parser.add_argument("--device", default="gpu")
    given = parser.parse_args()
    for name in given.names:
        print(json.dumps(measured(name, given.size, given.device, given.tried)), flush=True)


if __name__ == "__main__":
    main()
