"""The exact choice of layers' variants under a budget beside the greedy one, which gives each layer
in turn its fastest variant that still fits. Both choose from the same measured variants.

    python -m benchmarks.budgets squeezenet resnet18 mobilenet_v2 … [--size 64] [--tried 12]"""

import argparse
import time
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from benchmarks.networks import model_of
from codegen.runtime.session import open_device
from explore.network_choice.choose_options import Choice, Chooser
from explore.network_graph.network_layers import Layers, layers_of
from explore.networks.network_tables import proved
from explore.networks.open_network import quickly
from explore.onnx_model.read_model import read_model
from explore.options.units import show_time
from explore.run.target import target_of


def measured(layers: Layers, device: str, tried: int) -> Chooser:
    """The choice of a network's options, of which so many of each layer are tried on a device and
    measured by processors' time, as others may share the cores."""
    target = target_of(device, None, ())
    assert target.device is not None
    session = open_device(target.device)
    return Chooser.of(layers, quickly(layers, target, session, tried, clock=time.process_time_ns))


def budgets_of(front: list[Choice], count: int) -> list[int]:
    """So many budgets of bytes, evenly apart from the least memory of a front to its most."""
    most, least = front[0].memory_bytes, front[-1].memory_bytes
    return sorted({int(n) for n in np.linspace(least, most, count)}, reverse=True)


def lines(name: str, chooser: Chooser, count: int) -> Iterator[str]:
    """The rows of a table for a network, one for each budget: bytes, the time of the exact choice,
    of the greedy one, their ratio, and what is proved."""
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


def main() -> None:
    """Print the rows of each network that is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+", help="names of models")
    parser.add_argument("--size", type=int, help="pixels of an image, each way")
    parser.add_argument("--tried", type=int, default=12, help="variants of each layer")
    parser.add_argument("--budgets", type=int, default=6, help="budgets, evenly apart")
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    for name in given.names:
        model = model_of(name, np.random.default_rng(0), given.size)
        chooser = measured(layers_of(read_model(model)), given.device, given.tried)
        for line in lines(name, chooser, given.budgets):
            print(line, flush=True)


if __name__ == "__main__":
    main()
