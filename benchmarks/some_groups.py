"""How well some groups of a variant's kernels foretell its time: both are measured for random
variants of layers that move more than they compute.

    python -m benchmarks.some_groups [--device D] [--megabytes 64] [--tries 24] [--seed 0]
                                     [--types half] [LAYER …]

The layers and their forms are those of `python -m benchmarks.storage`. A line for each layer and
type says the rank correlation of the times foretold and the whole ones, by the device's clock, of
all variants and of the faster half of them; how far what is foretold lies from the truth (the
median of the ratio, and its quartiles); how many variants a search would give up by some groups if
it knew the best, and how slow the best of these is; and the seconds that either way took, without
builds.
"""

import argparse
import statistics
import time
from dataclasses import dataclass

import numpy as np

from benchmarks.storage import Way, alike, built, layer, options_of, ways
from codegen.runtime.session import Session, choose, open_device
from explore.measure.some_groups import some_groups
from explore.run.bench import SURE
from explore.run.ledger import HOPELESS


@dataclass(frozen=True, slots=True)
class Both:
    """The times of a variant in nanoseconds, foretold by some groups and whole, and the seconds
    that measuring each of them took."""

    foretold_ns: float
    whole_ns: float
    some_s: float
    all_s: float


def both(way: Way, session: Session) -> Both:
    """The times of a variant by some of its groups, then by all."""
    part = some_groups(way.built.plan, session.device)
    cut = session.build(part.plan)
    begun = time.perf_counter()
    foretold = part.foretold(cut, way.inputs, (way.there,)).median_ns
    between = time.perf_counter()
    cut.release()
    whole = way.built.time(way.inputs, runs=3, warmup=1, turns=(way.there,)).median_ns
    ended = time.perf_counter()
    way.built.release()
    return Both(foretold, whole, between - begun, ended - between)


def rank_correlation(xs: list[float], ys: list[float]) -> float:
    """Spearman's rank correlation of two lists of numbers."""
    a, b = (np.argsort(np.argsort(each)) for each in (xs, ys))
    return float(np.corrcoef(a, b)[0, 1])


def told(name: str, t: str, found: list[Both]) -> str:
    """The line of a layer with numbers of type t."""
    found = sorted(found, key=lambda b: b.whole_ns)
    foretold, whole = [b.foretold_ns for b in found], [b.whole_ns for b in found]
    half = -(-len(found) // 2)
    low, middle, high = statistics.quantiles([b.foretold_ns / b.whole_ns for b in found], n=4)
    limit = SURE * HOPELESS * whole[0]
    given_up = [b.whole_ns / whole[0] for b in found if b.foretold_ns > limit]
    return (
        f"{name}, {t}: {len(found)} variants of {whole[0] / 1e6:.1f} to {whole[-1] / 1e6:.1f} ms; "
        f"rank correlation {rank_correlation(foretold, whole):.3f}, of the faster half "
        f"{rank_correlation(foretold[:half], whole[:half]):.3f}; foretold {middle:.2f} "
        f"({low:.2f} to {high:.2f}) of the truth; {len(given_up)} given up, the best of them "
        f"{min(given_up, default=float('nan')):.2f} times as slow as the best; "
        f"{sum(b.some_s for b in found):.2f} s and {sum(b.all_s for b in found):.2f} s"
    )


def compare(name: str, t: str, session: Session, given: argparse.Namespace) -> str:
    """The line of a layer with numbers of type t, after measuring random variants of it."""
    source = layer(name, t, given.megabytes)
    drawn = [built(source, *way, session, given) for way in ways(name, t, session, given)]
    alike(drawn)
    return told(name, t, [both(way, session) for way in drawn])


def main() -> None:
    options = options_of(__doc__, "half")
    options.add_argument("--tries", type=int, default=24)
    given = options.parse_args()
    given.stored = False
    session = open_device(choose(given.device))
    print(f"{session.device.name}: an image of {given.megabytes} MiB in floats")
    for name in given.layers:
        for t in given.types.split(","):
            print(compare(name, t, session, given), flush=True)


if __name__ == "__main__":
    main()
