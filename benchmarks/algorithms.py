"""Tables of three papers measured again with our variants of their algorithms; our numbers stand
beside theirs.

    python -m benchmarks.algorithms vgg     [--variants 200] [--device D] [--table FILE] [LAYER …]
    python -m benchmarks.algorithms im2win  [--variants 100] [--device D] [--table FILE] [LAYER …]
    python -m benchmarks.algorithms alexnet [--variants 200] [--device D] [--table FILE] [LAYER …]

`vgg`: the nine layers of VGG-16 (Mogers et al. 2022, Table 3), fastest and smallest, and the front
of layer 2 as a figure. `im2win`: the twelve layers of Lu et al. 2023 by each way to store windows,
what each stores in its plainest form and in the form that was timed, and the fastest im2win without
each of its parts (`ablation.py`). `alexnet`: the four layers of Zhang et al. 2021 with and without
the domain io-optimal: the number of legal points, and how many variants a search took to its best.
Runs are kept in --out: a finished run is not done again, a stopped one goes on. The papers' times
were taken on other devices, so compare ratios, not times.
"""

import argparse
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any

from benchmarks.ablation import PARTS, Cost, ablation
from benchmarks.layers import Layer, heading, layers
from codegen.runtime.devices import choose
from constraints.devices import Profile
from constraints.quantities.quantities import memory_at, quantities, workspace_at
from explore.options.options import Domain, Options
from explore.options.units import parse_seconds, show_bytes, show_time
from explore.report.plot import plot_front
from explore.report.traffic_against_bounds import least_traffic
from explore.results.front import pick
from explore.results.records import Measured, Record
from explore.run.run import Run, resume, start
from explore.run.source import Source
from explore.run.target import Target, profile_of
from explore.space.derive_form import points
from explore.space.legal_point import lowered_at
from explore.space.lowering import lowering
from explore.space.search_domain import narrowed
from ir.core.nodes import Program
from ir.errors import UserError
from ir.parse import parse_file

METHODS = ("implicit-gemm", "im2col", "im2win", "mec")
NARROWED = ("blocked", "registers")
BLOCKING = (*NARROWED, "io-optimal")  # which is in the domain by itself
NEAR = 1.05
DONE = "done"


@dataclass(frozen=True, slots=True)
class Row:
    """The row of a layer: the cells of the table, and our values (`numbers`) of those quantities
    for which the paper states a range over all layers."""

    cells: tuple[str, ...]
    numbers: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table of our measurements beside a paper's: the names of its layers begin with `layers`,
    `columns` are its headings, and `row` measures a layer. `numbers` names the quantities of which
    the paper states ranges over all layers; `theirs` tells in words what the paper found."""

    layers: str
    columns: tuple[str, ...]
    row: Callable[[Layer, argparse.Namespace], Row]
    numbers: tuple[str, ...]
    theirs: str


def explored(layer: Layer, given: argparse.Namespace, name: str, **options: Any) -> Run:
    """The run of a layer with these options (beside those `given` to the command), in a folder that
    the layer and `name` name; resumed if it was stopped."""
    folder: Path = given.out / f"{layer.name}-{name}".replace(" × ", "-n")
    if (folder / DONE).is_file():
        return Run(folder)
    if (folder / "run.sqlite").is_file():
        run, _ = resume(folder)
    else:
        device = choose(given.device)
        limit = parse_seconds(given.time_limit) if given.time_limit else None
        asked = Options(given.variants, jobs=given.jobs, time_limit=limit, sizes=layer.sizes)
        source = Source(layer.file.read_text(), str(layer.file))
        target = Target(profile_of(device), device)
        run, _ = start(source, replace(asked, **options), target, folder)
    (folder / DONE).touch()
    return run


# ---- VGG-16


def vgg(layer: Layer, given: argparse.Namespace) -> Row:
    """The row of a layer of VGG-16: the time and memory of our fastest and of our smallest variant.
    For layer 2, a figure of the front of time and memory is written, too."""
    run = explored(layer, given, "vgg")
    fastest, smallest = (pick(run.records, which) for which in ("fastest", "smallest"))
    bounds = run.environment.bounds
    if layer.name == "vgg-2":
        for suffix in ("pdf", "png", "svg"):
            file = given.out / f"vgg-2.{suffix}"
            plot_front(run.records, file, title=layer.name, bounds=bounds, peers=run.peers)
    rate = 1e9 * (bounds.flops or 0) / time_of(fastest)
    share = rate / bounds.peak_flops if bounds.peak_flops else 0.0
    memory, lean = ((r.memory_bytes or 0) for r in (fastest, smallest))
    saved = plainest(program_of(layer), "im2col", given)[0] / lean
    cells = (
        show_time(time_of(fastest)),
        f"{rate / 1e9:.0f}",
        f"{share:.0%}",
        show_bytes(memory),
        fastest.variant.family,
        show_time(time_of(smallest)),
        show_bytes(lean),
        f"{saved:.1f}",
    )
    return Row(cells, (share, saved))


def program_of(layer: Layer) -> Program:
    return parse_file(layer.file, dict(layer.sizes))


def plainest(program: Program, family: str, given: argparse.Namespace) -> tuple[int, int]:
    """The bytes of memory that a family's plainest form takes for a program at a legal point: in
    all, and of temporaries alone."""
    concrete, _ = lowered_at(program, family, None, {}, profile_of(choose(given.device)))
    known = quantities(concrete)
    return memory_at(known, {}), workspace_at(known, {})


# ---- im2win


def im2win(layer: Layer, given: argparse.Namespace) -> Row:
    """The row of a layer: the time and memory of each way to store windows, then the times of
    im2win with one of its parts left out, for each part."""
    runs = {m: explored(layer, given, m, families=(m,)) for m in METHODS}
    best = {method: pick(run.records) for method, run in runs.items()}
    needs = {method: plainest(program_of(layer), method, given) for method in METHODS}
    cells = [_stored(best[m], stored) for m, (_, stored) in needs.items()]
    less, faster = (
        1 - needs["im2win"][0] / needs["im2col"][0],
        time_of(best["im2col"]) / time_of(best["im2win"]),
    )
    base, costs = ablation(runs["im2win"])
    behind = time_of(base) / time_of(best["im2win"])
    cells += [f"{less:.1%}", f"{faster:.2f}", f"{base.variant.form} ({behind:.2f})"]
    cells += [f"{c.times:.2f}" if c.times else c.note for c in sorted_by_part(costs)]
    return Row(tuple(cells), (less, faster))


def _stored(timed: Record, plain: int) -> str:
    """A cell of the table with three numbers: the time of the variant `timed`, the bytes that the
    plainest form of its family stores (`plain`), and the bytes that the variant stores."""
    return f"{_time(timed)}, {show_bytes(plain)}, {show_bytes(timed.workspace_bytes)}"


def sorted_by_part(costs: Sequence[Cost]) -> list[Cost]:
    return sorted(costs, key=lambda c: list(PARTS).index(c.part))


# ---- AlexNet


def alexnet(layer: Layer, given: argparse.Namespace) -> Row:
    """The row of a layer, both with the domain io-optimal and without: the number of legal points,
    and the number of variants that a search tries until it is near its best."""
    program, device = program_of(layer), profile_of(choose(given.device))
    whole, near = (
        sum(_count(program, family, device, domain) for family in NARROWED)
        for domain in (None, "io-optimal")
    )
    runs = [
        explored(layer, given, domain or "all", families=BLOCKING, domain=domain)
        for domain in (None, "io-optimal")
    ]
    best = [pick(run.records) for run in runs]
    tried = map(_until, runs)
    least = [
        least_traffic(r.variant, run.environment.bounds) for r, run in zip(best, runs, strict=True)
    ]
    moved = [
        f"{(r.variant.traffic_bytes or 0) / n:.1f}" if n else "–"
        for r, n in zip(best, least, strict=True)
    ]
    left = near / whole
    cells = (f"{whole:,}", f"{near:,}", f"{left:.0%}", *map(_time, best), *tried, *moved)
    return Row(cells, (left,))


def _until(run: Run) -> str:
    """The number of variants that a run tried until one was about as fast as its best, and how many
    it tried in all, as text."""
    times = [r.time_ns or inf for r in run.records if r.round == 0]
    goal = NEAR * min(times)
    return f"{next(n for n, t in enumerate(times, 1) if t <= goal)} of {len(times)}"


def _count(program: Program, family: str, device: Profile, domain: Domain | None) -> int:
    """The number of points worth trying of a family's first form for a program on a device; of
    those in `domain`, if it is not None."""
    low = narrowed(lowering(program, family), program, domain)
    return points(low, device, 1, 0)[0].count


# ---- as Markdown


def time_of(record: Record) -> float:
    assert record.time_ns is not None
    return record.time_ns


def _time(record: Record) -> str:
    spread = record.outcome.spread if isinstance(record.outcome, Measured) else 0.0
    return f"{show_time(time_of(record))} ± {spread:.0%}"


TABLES = {
    "vgg": Table(
        "vgg",
        ("fastest", "GFLOP/s", "of ceiling", "memory", "family", "smallest", "memory",
         "im2col's memory / that"),
        vgg,
        ("of the ceiling", "im2col's memory over the smallest's"),
        "Mogers et al. 2022, on Mali GPUs: 14-24 % of the peak; 2.7 to 3.6 times less memory than "
        "the ARM Compute Library's im2col and TVM",
    ),
    "im2win": Table(
        "mec",
        (*(f"{m}, it stores, this variant" for m in METHODS), "less memory than im2col",
         "im2col / im2win", "with all parts (behind the best)",
         *(f"without {part}" for part in PARTS)),
        im2win,
        ("less memory than im2col", "im2col's time over im2win's"),
        "Lu et al. 2023: 23.1 % less memory than im2col with cuBLAS at 3.5 times its rate; of the "
        "parts the micro-kernel is worth most",
    ),
    "alexnet": Table(
        "alexnet",
        ("points", "in the domain", "left", "best of all", "best in the domain",
         "near its best after", "in the domain", "traffic / bound", "in the domain"),
        alexnet,
        ("of the points are left",),
        "Zhang et al. 2021: 21-52 % of the space is left, the best found after 197-449 iterations",
    ),
}  # fmt: skip


def markdown(table: Table, rows: dict[str, Row], given: argparse.Namespace) -> str:
    lines = [f"| layer | {' | '.join(table.columns)} |", "|---" * (len(table.columns) + 1) + "|"]
    lines += [f"| {name} | {' | '.join(row.cells)} |" for name, row in rows.items()]
    lines += ["", *_ranges(table, list(rows.values())), f"Theirs: {table.theirs}."]
    return heading(given) + "\n".join(lines) + "\n"


def _ranges(table: Table, rows: Sequence[Row]) -> Iterator[str]:
    """A line for each quantity in the table's `numbers`: the range and the mean of our values in
    these rows."""
    for name, values in zip(
        table.numbers, zip(*(r.numbers for r in rows), strict=True), strict=True
    ):
        mean = statistics.fmean(values)
        yield f"Ours: {name}: {min(values):.2f} to {max(values):.2f}, {mean:.2f} in the mean."


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("paper", choices=TABLES)
    options.add_argument("layers", nargs="*", metavar="LAYER")
    options.add_argument("--variants", type=int, default=200)
    options.add_argument("--time-limit", help="time limit of each run, such as 2m")
    options.add_argument("--batch", type=int, help="images of a batch, for programs that have one")
    options.add_argument("--device")
    options.add_argument("--jobs", type=int)
    options.add_argument("--out", type=Path, default=Path("runs/algorithms"))
    options.add_argument("--table", type=Path, help="write the table to this file too")
    given = options.parse_intermixed_args()
    table, rows = TABLES[given.paper], dict[str, Row]()
    given.out.mkdir(parents=True, exist_ok=True)
    for layer in layers(given.layers or [table.layers], given.batch):
        rows[layer.name] = table.row(layer, given)
        print(layer.name, *rows[layer.name].cells, sep=" | ", flush=True)
        if given.table:
            given.table.write_text(markdown(table, rows, given))
    print("\n" + markdown(table, rows, given))


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"{error}")
    except KeyboardInterrupt:
        sys.exit("stopped; the same command goes on from here")
