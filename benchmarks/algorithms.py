"""The tables of the papers whose algorithms these are, measured again: time, memory and traffic.

    python benchmarks/algorithms.py vgg     [--variants 200] [--device D] [LAYER …]
    python benchmarks/algorithms.py im2win  [--variants 100] [--device D] [LAYER …]
    python benchmarks/algorithms.py alexnet [--variants 200] [--device D] [LAYER …]

`vgg`: the nine layers of VGG-16 (Mogers et al., Table 3), and the front of layer 2 as a figure.
`im2win`: the twelve layers of Lu et al. 2023 by each way to store windows, with what it stores, and
im2win without its block in registers, without vector loads, without prefetch. `alexnet`: the four
layers of Zhang et al. 2021 with and without the domain io-optimal: the points that are left, and
how many variants it took to come within 5 % of the best (theirs: 21-52 % are left, 197-449
iterations). Runs are kept in --out and not done again. Other devices' times are not ours to print.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from layers import Layer, layers

from codegen.devices import choose
from constraints.devices import Profile
from explore.domain import narrowed
from explore.front import pick, usable
from explore.lowering import lowering
from explore.options import Options
from explore.plot import plot_front
from explore.records import Record, least_traffic
from explore.run import Run, Source, Target, resume, start
from explore.space import points
from explore.target import profile_of
from explore.units import show_bytes, show_time
from ir.errors import UserError
from ir.nodes import Program
from ir.parse import parse_file

METHODS = ("implicit-gemm", "im2col", "im2win", "mec")
BLOCKING = ("blocked", "registers", "io-optimal")
NEAR = 1.05


def explored(layer: Layer, given: argparse.Namespace, name: str, **options: object) -> Run:
    """A run in its own folder, gone on with if it is there."""
    folder: Path = given.out / f"{layer.name}-{name}"
    if (folder / "run.sqlite").is_file():
        return resume(folder)[0]
    device = choose(given.device)
    asked = Options(variants=given.variants, sizes=tuple(sorted(layer.sizes)), jobs=given.jobs)
    source = Source(layer.file.read_text(), str(layer.file))
    asked = replace(asked, **options)  # type: ignore[arg-type]
    return start(source, asked, Target(profile_of(device), device), folder)[0]


def vgg(layer: Layer, given: argparse.Namespace) -> Iterator[str]:
    """The fastest and the smallest, and the figure of layer 2."""
    run = explored(layer, given, "vgg")
    for which in ("fastest", "smallest"):
        yield f"{layer.name} {which:9} {_line(run, pick(run.records, which))}"
    if layer.name == "vgg-2":
        figure = given.out / "vgg-2.pdf"
        plot_front(run.records, figure, title=layer.name, bounds=run.environment.bounds)
        yield f"its front: {figure}"


def im2win(layer: Layer, given: argparse.Namespace) -> Iterator[str]:
    """Each way to store windows, then im2win with one thing removed."""
    runs: dict[str, Run] = {}
    for method in METHODS:
        try:
            runs[method] = explored(layer, given, method, families=(method,))
        except UserError as error:
            yield f"{layer.name} {method:24} {error.message}"
            continue
        yield f"{layer.name} {method:24} {_line(runs[method], pick(runs[method].records))}"
    if "im2win" in runs:
        best = pick(runs["im2win"].records)
        for what, kept in REMOVED.items():
            yield f"{layer.name} {what:24} {_without(runs['im2win'], best, kept)}"


def _small(record: Record) -> bool:
    """One vector of results a work-item."""
    sides = ("tr", "tc", "tx", "ty")
    return all(n == 1 for name, n in record.variant.parameters if name in sides)


def _scalar(record: Record) -> bool:
    """No operand is relaid, and none loaded along the reduction: rows' vectors are gathered."""
    return not {"along", "relaid"} & set(record.variant.form.split())


REMOVED: dict[str, Callable[[Record], bool]] = {
    "without micro-kernel": _small,
    "without vector loads": _scalar,
    "without prefetch": lambda r: "ahead" not in r.variant.form.split(),
}


def _without(run: Run, best: Record, kept: Callable[[Record], bool]) -> str:
    """The fastest of those kept, and how much longer it takes than the best of all."""
    found = [r for r in usable(run.records) if kept(r)]
    if not found or not best.time_ns:
        return "none was tried: more variants"
    time = min(r.time_ns or 0.0 for r in found)
    return f"{show_time(time):>9}, {time / best.time_ns:.2f} times as long"


def alexnet(layer: Layer, given: argparse.Namespace) -> Iterator[str]:
    """Points and iterations with and without the domain."""
    program = parse_file(layer.file, dict(layer.sizes))
    device = profile_of(choose(given.device))
    for family in BLOCKING:
        whole, near = (_count(program, family, device, d) for d in (None, "io-optimal"))
        left = f"{near / whole:.1%}" if whole else "–"
        yield f"{layer.name} {family:12} {whole:,} points, {near:,} in the domain: {left}"
    for domain in (None, "io-optimal"):
        run = explored(layer, given, domain or "all", families=BLOCKING, domain=domain)
        best = pick(run.records)
        first = [r for r in run.records if r.round == 0]
        near_best = (n for n, r in enumerate(first, 1) if (r.time_ns or 1e99) <= NEAR * _ns(best))
        said = f"near it after {next(near_best, len(first))} of {len(first)} variants"
        yield f"{layer.name} {domain or 'all':12} {_line(run, best)}; {said}"


def _ns(record: Record) -> float:
    return record.time_ns or 0.0


def _count(program: Program, family: str, device: Profile, domain: str | None) -> int:
    """The legal points of a family's first form, on the ladder."""
    low = narrowed(lowering(program, family), program, device, domain)
    return points(low, device, 1, 0)[0].count


def _line(run: Run, record: Record) -> str:
    bounds = run.environment.bounds
    rate = (bounds.flops or 0) / _ns(record) if record.time_ns else 0.0
    least = least_traffic(record.variant, bounds)
    moved = record.variant.traffic_bytes
    times = f", traffic {moved / least:.1f} × its bound" if moved and least else ""
    stored = show_bytes(record.workspace_bytes)
    return f"{show_time(_ns(record)):>9} {rate:6.1f} GFLOP/s, workspace {stored}{times}"


TABLES = {"vgg": (vgg, "vgg"), "im2win": (im2win, "mec"), "alexnet": (alexnet, "alexnet")}


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("table", choices=TABLES)
    options.add_argument("layers", nargs="*", metavar="LAYER")
    options.add_argument("--variants", type=int, default=200)
    options.add_argument("--device")
    options.add_argument("--jobs", type=int)
    options.add_argument("--out", type=Path, default=Path("runs/algorithms"))
    given = options.parse_args()
    rows, named = TABLES[given.table]
    given.out.mkdir(parents=True, exist_ok=True)
    for layer in layers(given.layers or [named], None):
        for line in rows(layer, given):
            print(line, flush=True)


if __name__ == "__main__":
    main()
