"""The quality of searches against wall time: after 10 s, 30 s, a minute, …, the best variant so far
beside the best known one.

    python -m benchmarks.quality NAME=RUN … [--at 10,30,60,120] [--figure FILE.svg]

The runs are stored ones of one program on one device; several with equal names are several seeds of
one way to search. The variant that was the best of a run at each of these times, by what was known
then, is timed again here, in turns with those of all others: times from different minutes cannot be
compared. The best known one is the fastest of these.
"""

import argparse
import statistics
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codegen.plan import Plan
from explore.measure.measure_variant import Again
from explore.measure.reference_file import FILE
from explore.options.options import Options
from explore.results.records import Failed
from explore.run.run import Run
from explore.run.source import Source
from explore.run.target import device_of
from explore.run.worker_pools import device_pool
from ir.errors import UserError

AT = "10,30,60,120"
RATIOS = (1, 1.1, 1.2, 1.5, 2, 3, 5, 10, 20, 50)  # marked in the figure
LIMIT = 600.0  # seconds to time all of them again
INK = ("#858585", "#3f87e8", "#d9822b", "#d6409f")


@dataclass(frozen=True, slots=True)
class Searched:
    """A stored run, the name of the way in which it searched, the plan of its best variant at some
    times (None: nothing had run), and the seconds after which its first result stood."""

    name: str
    run: Run
    best: Mapping[float, Plan | None]
    first_s: float | None


def searched(word: str, at: Sequence[float]) -> Searched:
    """The run that a word NAME=RUN of the command names."""
    name, folder = word.split("=", 1)
    run = Run(Path(folder))
    ran = [r for r in run.records if r.round == 0 and r.time_ns is not None]
    best = {}
    for t in at:
        known = [r for r in ran if r.elapsed_s <= t]
        best[t] = min(known, key=lambda r: r.time_ns or 0.0).variant.plan if known else None
    return Searched(name, run, best, min((r.elapsed_s for r in ran), default=None))


def timed(runs: Sequence[Searched]) -> dict[Plan, float]:
    """The time in nanoseconds of each plan that was the best of a run at some time; all are timed
    in turns."""
    plans = dict.fromkeys(plan for s in runs for plan in s.best.values() if plan)
    folder, environment = runs[0].run.folder, runs[0].run.environment
    options = Options.from_json(environment.options)
    program = Source.of(environment).program(options)
    with ExitStack() as stack:
        worker = stack.enter_context(
            device_pool(folder / FILE, program, options, device_of(environment))
        )
        worker.submit(Again(tuple(plans)), LIMIT)
        (done,) = worker.results()
        if isinstance(done.result, Failed):
            raise UserError(f"expected times of {len(plans)} variants: {done.result.reason}")
        return dict(zip(plans, done.result.medians_ns, strict=True))


def ratios(runs: Sequence[Searched], times: Mapping[Plan, float]) -> list[list[float | None]]:
    """For each run and time, the time of its best variant then over that of the best known one;
    None if nothing had run."""
    least = min(times.values())
    return [[times[plan] / least if plan else None for plan in s.best.values()] for s in runs]


def table(runs: Sequence[Searched], found: Sequence[Sequence[float | None]]) -> list[str]:
    """The lines of a Markdown table of the runs' ratios at each time."""
    heads = [f"{t:g} s" for t in runs[0].best]
    lines = [f"| search | first result | {' | '.join(heads)} |", "|---" * (2 + len(heads)) + "|"]
    for s, row in zip(runs, found, strict=True):
        first = "none" if s.first_s is None else f"{s.first_s:.1f} s"
        cells = ["–" if r is None else f"{r:.2f}" for r in row]
        lines.append(f"| {s.name} | {first} | {' | '.join(cells)} |")
    return lines


def drawn(
    runs: Sequence[Searched], found: Sequence[Sequence[float | None]], file: Path, title: str
) -> None:
    """Write a figure of the ratios against the time, a line for each name: the median over its
    runs."""
    from matplotlib import rc_context  # here: slow to import
    from matplotlib.figure import Figure

    at, names = list(runs[0].best), list(dict.fromkeys(s.name for s in runs))
    with rc_context({"svg.hashsalt": "convlift", "font.size": 8}):
        figure = Figure(figsize=(4.6, 2.9), layout="constrained")
        axes: Any = figure.add_subplot()
        for name, ink in zip(names, INK, strict=False):
            rows = [row for s, row in zip(runs, found, strict=True) if s.name == name]
            columns = [[r for r in column if r is not None] for column in zip(*rows, strict=True)]
            points = [(t, statistics.median(c)) for t, c in zip(at, columns, strict=True) if c]
            axes.plot(*zip(*points, strict=True), "o-", color=ink, label=name, lw=1.2, ms=3)
        axes.set(xscale="log", yscale="log", xlabel="seconds since the command", title=title)
        axes.set(ylabel="best so far / best known", xticks=at, xticklabels=[f"{t:g}" for t in at])
        low, high = axes.get_ylim()
        shown = [ratio for ratio in RATIOS if low <= ratio <= high]
        axes.set(yticks=shown, yticklabels=[f"{ratio:g}" for ratio in shown])
        axes.axhline(1, color=INK[0], lw=0.5)
        axes.minorticks_off()
        axes.legend(frameon=False)
        figure.savefig(file, metadata={"Date": None})


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("runs", nargs="+", metavar="NAME=RUN")
    options.add_argument("--at", default=AT)
    options.add_argument("--figure", type=Path)
    options.add_argument("--title", default="")
    given = options.parse_args()
    at = [float(t) for t in given.at.split(",")]
    runs = [searched(word, at) for word in given.runs]
    found = ratios(runs, timed(runs))
    print("\n".join(table(runs, found)))
    if given.figure:
        drawn(runs, found, given.figure, given.title)


if __name__ == "__main__":
    main()
