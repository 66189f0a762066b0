"""The shares of a network's programs in the time that a search may take."""

# key: w the weight of a program

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from explore.bounds.least_bytes import moved_bytes
from explore.bounds.program_work import operations
from explore.network_graph.network_layers import Layer, Layers
from explore.options.options import Options

LEAST = 3.0  # seconds of a program that is searched at all
PACE, FEWEST = 8.0, 8  # variants a second, at most, and of a program
FLOPS, BYTES = 2e11, 1e10  # a second, of a device that was not measured


def weights(layers: Layers, limits: Mapping[str, float | None]) -> list[float]:
    """The weight of each program: the least time, in seconds, that a device with these limits takes
    for all layers that have the program. Concatenations whose parts nobody else reads take none:
    most parts are made where they belong."""
    flops = limits.get("peak_flops") or FLOPS
    bandwidth = limits.get("bandwidth") or BYTES
    reads = Counter(t for layer in layers.layers for _, t in layer.tensors)
    return [
        sum(not _joins_its_own(layer, reads) for layer in layers.uses(n))
        * max((operations(p) or 0) / flops, moved_bytes(p) / bandwidth)
        for n, p in enumerate(layers.programs)
    ]


def _joins_its_own(layer: Layer, reads: Mapping[str, int]) -> bool:
    """True if a layer is a concatenation of tensors that no other layer reads."""
    return bool(layer.joins) and all(reads[t] == 1 for t, _ in layer.joins)


def within(asked: Options, left_s: float | None, w: float, rest: Sequence[float]) -> Options:
    """The options `asked`, changed for the search of one program of a network. When `left_s`
    seconds are left for this program, of weight w, and for programs with the weights `rest`, half
    of them are divided equally and half by weight; and no more variants are tried than can be in
    that time. If `left_s` is None, time has no limit, and nothing is changed."""
    if left_s is None:
        return asked
    total, equal = w + sum(rest), 1 / (1 + len(rest))
    seconds = max(LEAST, left_s / 2 * (equal + (w / total if total else equal)))
    variants = min(asked.variants, max(FEWEST, int(PACE * seconds)))
    return replace(asked, time_limit=seconds, variants=variants)
