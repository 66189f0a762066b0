"""The exact choice of layers' variants under a budget, compared with a greedy choice, which gives
each layer in turn its fastest variant that still fits. Both choose from the same measured variants.

    python -m benchmarks.budgets squeezenet resnet18 mobilenet_v2 … [--size 112] [--tried 12]

With the least budget that is feasible the network is run: its result is compared with
onnxruntime's, and the bytes that the driver holds are compared with those that were planned."""

import argparse
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.networks import measured, model_of, tensors_of
from codegen.runtime.session import Session, open_device
from explore.network_choice.choose_options import Choice, Chooser
from explore.network_graph.network_layers import layers_of
from explore.networks.export_network import inputs_for
from explore.networks.network import Network
from explore.networks.network_tables import proved
from explore.onnx_model.read_model import read_model
from explore.options.units import show_time
from explore.run.target import target_of


def budgets_of(front: list[Choice], count: int) -> list[int]:
    """At most `count` budgets in bytes, the largest first, evenly spaced: from the memory of the
    smallest choice of a front to the memory of the largest."""
    most, least = front[0].memory_bytes, front[-1].memory_bytes
    return sorted({int(n) for n in np.linspace(least, most, count)}, reverse=True)


def lines(name: str, chooser: Chooser, count: int) -> Iterator[str]:
    """A heading and the rows of a table for the network `name`, a row for each of up to `count`
    budgets: its bytes, the time of the exact choice, that of the greedy choice, their ratio, and
    how close to the best the exact choice is proved to be."""
    begun = time.perf_counter()
    front = chooser.sweep()
    took = time.perf_counter() - begun
    options = sum(len(each) for each in chooser.options)
    yield (
        f"{name}: {len(chooser.options)} layers with {options} options; a front of {len(front)} in "
        f"{took:.1f} s"
    )
    steps = [a.memory_bytes - 8 for a, b in pairwise(front) if a.memory_bytes - 8 > b.memory_bytes]
    for budget in sorted({*budgets_of(front, count), *steps[:count]}, reverse=True):
        exact, greedy = chooser.within(budget), chooser.greedy(budget)
        if greedy is None:
            yield f"| {name} | {budget:,} | {show_time(exact.time_ns)} | none fits | | |"
            continue
        fits = "" if greedy.memory_bytes <= budget else " (does not fit)"
        by_hand = f"{show_time(greedy.time_ns)}{fits}"
        yield (
            f"| {name} | {budget:,} | {show_time(exact.time_ns)} | {by_hand} "
            f"| {greedy.time_ns / exact.time_ns:.3f} | {proved(exact)} |"
        )


def least(chooser: Chooser, model: Any, session: Session) -> str:
    """The line to print on a network that runs in the least memory that its options allow: the
    bytes planned and held, and the error of its results compared with onnxruntime's."""
    choice = chooser.within(chooser.least().memory_bytes)
    net = Network.of(choice.layers, choice.options, session)
    inputs = inputs_for(choice.layers, np.random.default_rng())
    found = net(**inputs)
    right = tensors_of(model, choice.layers.outputs, inputs)
    made = found if isinstance(found, tuple) else (found,)
    error = max(np.linalg.norm(a - b) / np.linalg.norm(b) for a, b in zip(made, right, strict=True))
    return (
        f"at the least: {choice.memory_bytes:,} bytes planned, {net.built.allocated_bytes:,} held, "
        f"error {error:.1e}"
    )


def main() -> None:
    """Print the rows of each network that the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+", help="names of models")
    parser.add_argument("--size", type=int, help="pixels of an image, each way")
    parser.add_argument("--tried", type=int, default=12, help="variants of each layer")
    parser.add_argument("--budgets", type=int, default=6, help="budgets, evenly apart")
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    target = target_of(given.device, None, ())
    device = target.device
    assert device is not None
    for name in given.names:
        model = model_of(name, np.random.default_rng(0), given.size)
        session = open_device(device)
        chooser = measured(layers_of(read_model(model)), target, session, given.tried)
        for line in lines(name, chooser, given.budgets):
            print(line, flush=True)
        print(least(chooser, model, session), flush=True)


if __name__ == "__main__":
    main()
