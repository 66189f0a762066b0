"""The shares of a network's programs in the time that a search may take."""

# key: w the weight of a program

from collections.abc import Mapping, Sequence

from explore.bounds.least_bytes import moved_bytes
from explore.bounds.program_work import operations
from explore.network_graph.network_layers import Layers

LEAST = 3.0  # seconds of a program that is searched at all
FLOPS, BYTES = 2e11, 1e10  # a second, of a device that was not measured


def weights(layers: Layers, limits: Mapping[str, float | None]) -> list[float]:
    """The weight of each program: the least time that a device with these limits takes for all
    layers that have it, in seconds."""
    flops = limits.get("peak_flops") or FLOPS
    bandwidth = limits.get("bandwidth") or BYTES
    return [
        len(layers.uses(n)) * max((operations(p) or 0) / flops, moved_bytes(p) / bandwidth)
        for n, p in enumerate(layers.programs)
    ]


def share(left_s: float, w: float, rest: Sequence[float]) -> float:
    """The seconds of a program's search: its part of those that are left, by its weight among those
    of the programs that come after it, and no less than a few."""
    total = w + sum(rest)
    return max(LEAST, left_s * w / total if total else left_s / (1 + len(rest)))
