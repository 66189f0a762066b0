"""The shares of a network's programs in the time that a search may take: each gets a first turn,
and then those get further turns whose layers take most of the time."""

# key: w the weight of a program

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from explore.bounds.least_bytes import moved_bytes
from explore.bounds.program_work import operations
from explore.network_graph.network_layers import Layer, Layers
from explore.options.options import Options

FIRST = 0.6  # of the time: first turns
LEAST = 3.0  # seconds of a program that is searched at all
LEAST_MORE, MORE = 12.0, 8  # seconds of a further turn, and how many of them there are
PACE, FEWEST = 8.0, 8  # variants a second, at most, and of a program
FLOPS, BYTES = 2e11, 1e10  # a second, of a device that was not measured


def made_by(layers: Layers) -> list[int]:
    """The number of layers that each program is run for. Concatenations whose parts nobody else
    reads do not count: most parts are made where they belong."""
    reads = Counter(t for layer in layers.layers for _, t in layer.tensors)
    return [
        sum(not _joins_its_own(layer, reads) for layer in layers.uses(n))
        for n in range(len(layers.programs))
    ]


def weights(layers: Layers, limits: Mapping[str, float | None]) -> list[float]:
    """The weight of each program: the least time, in seconds, that a device with these limits takes
    for all layers that it is run for."""
    flops = limits.get("peak_flops") or FLOPS
    bandwidth = limits.get("bandwidth") or BYTES
    return [
        count * max((operations(p) or 0) / flops, moved_bytes(p) / bandwidth)
        for count, p in zip(made_by(layers), layers.programs, strict=True)
    ]


def _joins_its_own(layer: Layer, reads: Mapping[str, int]) -> bool:
    """True if a layer is a concatenation of tensors that no other layer reads."""
    return bool(layer.joins) and all(reads[t] == 1 for t, _ in layer.joins)


def within(asked: Options, left_s: float | None, w: float, rest: Sequence[float]) -> Options:
    """The options `asked`, changed for the first turn of one program of a network, when `left_s`
    seconds are left of the time that they allow. Of the part of them that is for first turns, half
    is divided equally among this program, of weight w, and programs with the weights `rest`, and
    half by weight; and no more variants are tried than can be in that time. If `left_s` is None,
    time has no limit, and nothing is changed."""
    if left_s is None or asked.time_limit is None:
        return asked
    total, equal = w + sum(rest), 1 / (1 + len(rest))
    first_s = left_s - (1 - FIRST) * asked.time_limit
    seconds = max(LEAST, first_s / 2 * (equal + (w / total if total else equal)))
    variants = min(asked.variants, max(FEWEST, int(PACE * seconds)))
    return replace(asked, time_limit=seconds, variants=variants)


def further(limit_s: float) -> float:
    """The seconds of a further turn in a search that may take `limit_s` in all."""
    return max(LEAST_MORE, (1 - FIRST) * limit_s / MORE)


def next_turn(times: Mapping[int, float], had_s: Mapping[int, float]) -> int:
    """The program that gets a further turn: of all whose layers take these `times`, the one whose
    layers take longest for the seconds of search that it has had."""
    return max(times, key=lambda n: (times[n] / had_s[n], -n))
