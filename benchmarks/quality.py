"""The quality of searches against wall time: after 10 s, 30 s, a minute, …, the best variant so far
beside the best known one.

    python -m benchmarks.quality NAME=RUN … [--at 10,30,60,120] [--title T] [--keep FILE.json]
    python -m benchmarks.quality --drawn FILE.json … --figure FILE.svg

The runs are stored ones of one program on one device; several with equal names are several seeds of
one way to search. The variant that was the best of a run at each of these times, by what was known
then, is timed again here, in turns with those of all others: times from different minutes cannot be
compared. The best known one is the fastest of these. A table that was kept in a file is a panel of
a figure.
"""

import argparse
import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.timed_again import meter, timed
from codegen.plan import Plan
from explore.results.front import front
from explore.run.run import Run

AT = "10,30,60,120"
RATIOS = (1, 1.2, 1.5, 2, 3, 5, 10, 20, 50)  # marked in the figure
ACROSS = 3  # panels of a figure side by side
LIMIT = 600.0  # seconds to time all of them again
INK = ("#858585", "#3f87e8", "#d9822b", "#d6409f")


@dataclass(frozen=True, slots=True)
class Searched:
    """A stored run, the name of the way in which it searched, the plan of its best variant at some
    times (None: nothing had run) and at the end (`pick`), and the seconds after which its first
    result stood."""

    name: str
    run: Run
    best: Mapping[float, Plan | None]
    pick: Plan | None
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
    pick = next((r.variant.plan for r in front(run.records)), None)
    return Searched(name, run, best, pick, min((r.elapsed_s for r in ran), default=None))


def times_of(runs: Sequence[Searched]) -> dict[Plan, float]:
    """The time in nanoseconds of each plan that was the best of a run at some time or at the end;
    all are timed in turns."""
    plans = dict.fromkeys(plan for s in runs for plan in _plans(s) if plan)
    with meter(runs[0].run) as worker:
        levels = timed(worker, tuple(plans), limit_s=LIMIT)
    return {plan: level.median_ns for plan, level in zip(plans, levels, strict=True)}


def _plans(s: Searched) -> list[Plan | None]:
    """The plans that were the best of a run, the one at the end last."""
    return [*s.best.values(), s.pick]


def ratios(runs: Sequence[Searched], times: Mapping[Plan, float]) -> list[list[float | None]]:
    """For each run and time, and the end, the time of its best variant then over that of the best
    known one; None if nothing had run."""
    least = min(times.values())
    return [[times[plan] / least if plan else None for plan in _plans(s)] for s in runs]


def table(runs: Sequence[Searched], found: Sequence[Sequence[float | None]]) -> list[str]:
    """The lines of a Markdown table of the runs' ratios at each time and at the end."""
    heads = [*(f"{t:g} s" for t in runs[0].best), "pick"]
    lines = [f"| search | first result | {' | '.join(heads)} |", "|---" * (2 + len(heads)) + "|"]
    for s, row in zip(runs, found, strict=True):
        first = "none" if s.first_s is None else f"{s.first_s:.1f} s"
        cells = ["–" if r is None else f"{r:.2f}" for r in row]
        lines.append(f"| {s.name} | {first} | {' | '.join(cells)} |")
    return lines


def kept(
    title: str, runs: Sequence[Searched], found: Sequence[Sequence[float | None]]
) -> dict[str, Any]:
    """The table of the runs' ratios as a file keeps it."""
    rows = [
        {"name": s.name, "first_s": s.first_s, "ratios": row[:-1], "pick": row[-1]}
        for s, row in zip(runs, found, strict=True)
    ]
    return {"title": title, "at": [*runs[0].best], "rows": rows}


def drawn(tables: Sequence[Mapping[str, Any]], file: Path) -> None:
    """Write a figure with a panel for each table: the ratios against the time, a line for each
    name, which is the median over its runs."""
    from matplotlib import rc_context  # here: slow to import
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    names = list(dict.fromkeys(row["name"] for table in tables for row in table["rows"]))
    inks = dict(zip(names, INK, strict=False))
    across = min(ACROSS, len(tables))
    down = -(-len(tables) // across)
    most = max(ratio for table in tables for name in names for _, ratio in _medians(table, name))
    with rc_context({"svg.hashsalt": "convlift", "font.size": 8}):
        figure = Figure(figsize=(2.5 * across, 2.1 * down), layout="constrained")
        grid = figure.subplots(down, across, squeeze=False, sharey=True)
        for axes in grid.flat[len(tables) :]:
            axes.set_visible(False)
        for axes, table in zip(grid.flat, tables, strict=False):
            for name in dict.fromkeys(row["name"] for row in table["rows"]):
                points = [*_medians(table, name)]
                axes.plot(*zip(*points, strict=True), "o-", color=inks[name], lw=1.2, ms=3)
            _marked(axes, table, 1.3 * most)
        figure.supxlabel("seconds since the command")
        figure.supylabel("best so far / best known")
        lines = [Line2D([], [], color=inks[name], marker="o", ms=3, lw=1.2) for name in names]
        figure.legend(lines, names, frameon=False, loc="outside upper right", ncols=len(names))
        figure.savefig(file, metadata={"Date": None})


def _medians(table: Mapping[str, Any], name: str) -> Iterator[tuple[float, float]]:
    """The times at which runs called `name` had a result, each with the median of their ratios."""
    rows = [row["ratios"] for row in table["rows"] if row["name"] == name]
    for t, column in zip(table["at"], zip(*rows, strict=True), strict=True):
        if known := [ratio for ratio in column if ratio is not None]:
            yield t, statistics.median(known)


def _marked(axes: Any, table: Mapping[str, Any], top: float) -> None:
    """Give the axes of a panel the title of its table, its scales up to the ratio `top`, and the
    marks on them."""
    shown = [ratio for ratio in RATIOS if ratio <= top]
    axes.set(xscale="log", yscale="log", title=table["title"])
    axes.set(xticks=table["at"], xticklabels=[f"{t:g}" for t in table["at"]])
    axes.set(yticks=shown, yticklabels=[f"{ratio:g}" for ratio in shown])
    axes.set(xlim=(0.8 * table["at"][0], 1.2 * table["at"][-1]), ylim=(0.95, top))
    axes.axhline(1, color=INK[0], lw=0.5)
    axes.minorticks_off()


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("runs", nargs="*", metavar="NAME=RUN")
    options.add_argument("--at", default=AT)
    options.add_argument("--title", default="")
    options.add_argument("--keep", type=Path)
    options.add_argument("--drawn", type=Path, nargs="+", default=[])
    options.add_argument("--figure", type=Path)
    given = options.parse_args()
    if given.drawn and given.figure:
        drawn([json.loads(file.read_text()) for file in given.drawn], given.figure)
        return
    if not given.runs:
        options.error("expected NAME=RUN of stored runs, or --drawn with files and --figure")
    at = [float(t) for t in given.at.split(",")]
    runs = [searched(word, at) for word in given.runs]
    found = ratios(runs, times_of(runs))
    print("\n".join(table(runs, found)))
    if given.keep:
        given.keep.write_text(json.dumps(kept(given.title, runs, found)))


if __name__ == "__main__":
    main()
