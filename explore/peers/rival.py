"""The interface of every peer: one or more ways to compute a layer, each timed pass by pass."""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import field

from ir.core.frozen import frozen

WARMUP, RUNS, LIMIT = 3, 15, 1.0  # runs, runs, seconds a pass
COPIES = 8  # of the input, used in turns


@frozen
class Way:
    """A way in which a library computes a layer: `run(i)` computes it on the i-th copy of the input
    and returns nanoseconds; `bytes` is the global memory that it needs, `precision` that of its
    products."""

    run: Callable[[int], float]
    bytes: int  # global memory it needs
    precision: str = "float"  # of products; a way that is not exact is listed, and has no ratio


@frozen
class Timed:
    """The result of one pass over the ways of a library: the median time of each, by its name, the
    bytes that it needs, and the precision of its products; `words` says which layer it is."""

    words: str
    ns: Mapping[str, float]
    bytes: Mapping[str, int]
    version: str
    precision: Mapping[str, str] = field(default_factory=dict)


@frozen
class Rival:
    """The ways of a library to compute a program, by name, and the `words` on which layer of the
    library the program is; or the reason why there are no ways."""

    words: str
    ways: Mapping[str, Way]
    version: str
    reason: str = ""


def absent(reason: str) -> Rival:
    """A rival without ways, for this reason."""
    return Rival("", {}, "", reason)


def timed(rival: Rival) -> Timed:
    """The median time of each way of a rival in one pass."""
    ns = {name: median_ns(way.run) for name, way in rival.ways.items()}
    held = {name: way.bytes for name, way in rival.ways.items()}
    precision = {name: way.precision for name, way in rival.ways.items()}
    return Timed(rival.words, ns, held, rival.version, precision)


def median_ns(run: Callable[[int], float]) -> float:
    """The median time of up to RUNS runs in at most LIMIT seconds, after some runs that warm up.

    Before that comes a run that may compile, however long it takes.
    """
    run(0)
    samples: list[float] = []
    until = time.monotonic() + LIMIT
    while len(samples) < WARMUP + RUNS and (not samples or time.monotonic() < until):
        samples.append(run(len(samples) % COPIES))
    return statistics.median(samples[min(WARMUP, len(samples) - 1) :])


def on_host_clock(work: Callable[[], object]) -> float:
    """The nanoseconds, by the host's clock, of a call that returns when its work is done."""
    begun = time.perf_counter_ns()
    work()
    return float(time.perf_counter_ns() - begun)
