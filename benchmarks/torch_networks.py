"""Networks on a GPU beside PyTorch, which replays a CUDA graph of them: outputs against references
in double precision, times and memory.

    python -m benchmarks.torch_networks vgg19 resnet50 squeezenet … [--tried 24] [--size 224]

PyTorch computes the graph after folding, so its convolutions take biases, ReLU and sums with them,
in one call of cuDNN where it has one. Its double precision is the reference of both. It is measured
with channels first and last, with exact float products and with TF32; memory is the most that it
has allocated while it captures and replays the graph, once cuDNN has chosen its algorithms."""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.networks import model_of
from benchmarks.torch_graph import TorchNetwork
from codegen.runtime.session import open_device
from explore.network_choice.choose_options import Chooser
from explore.network_graph.folded_nodes import folded_graph
from explore.network_graph.network_layers import layers_of
from explore.networks.export_network import inputs_for
from explore.networks.network import Network
from explore.networks.network_tables import ProgramTable, layer_table
from explore.networks.open_network import quickly
from explore.onnx_model.fold_constants import Constants
from explore.onnx_model.onnx_graph import Graph
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
class Replayed:
    """PyTorch's network in a CUDA graph: the tensors that the graph reads (`held`), a function that
    gives an inference's time in milliseconds, from several back to back, the result, and the bytes
    that it takes at most."""

    held: object
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

    return Replayed((net, given), time_ms, result, most)


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
    begun, table = time.perf_counter(), ProgramTable(layers)
    options = quickly(
        layers,
        target,
        open_device(target.device),
        tried,
        lambda number, found: print(table.line(number, found), flush=True),
    )
    took = time.perf_counter() - begun
    choice = Chooser.of(layers, options).fastest()
    print("\n".join(layer_table(choice)), flush=True)
    net = Network.of(choice.layers, choice.options, open_device(target.device))
    inputs = inputs_for(layers, np.random.default_rng(1))
    folded = folded_graph(graph, Constants.of(graph))
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
    print(json.dumps(row), flush=True)
    print("\n".join(in_network(net, inputs)), flush=True)
    return row | (beside(net, folded, inputs) if torch.cuda.is_available() else {})


def in_network(net: Network, inputs: Mapping[str, Any]) -> list[str]:
    """A line for each layer: its time as it was measured alone, and the sum of its kernels' device
    times while the network runs, in microseconds."""
    given = {net.plan.tensors[name]: a for name, a in inputs.items()}
    events = [k.ns for k in net.built.time(given, runs=REPLAYS).kernels]
    lines = []
    for number, (layer, option) in enumerate(zip(net.layers.layers, net.chosen, strict=True)):
        here = sum(t for t, n in zip(events, net.plan.layer_of, strict=True) if n == number)
        alone = f"{option.time_ns / 1e3:8.1f} {here / 1e3:8.1f}"
        lines.append(f"{layer.title:24.24} {layer.operator:12.12} {alone}  {option.id}")
    return lines


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
