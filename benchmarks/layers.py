"""Named layers explored on a device, each timed beside its peers: a table of times, ratios and
memory.

    python -m benchmarks.layers vgg [--device D] [--variants 300] [--families registers,blocked]
        [--batch N] [--tight] [--time-limit 2m] [--jobs N] [--against torch] [--out runs/vgg]
        [--table FILE] [LAYER …]

A layer is a name in examples/layers.toml, or the beginning of several: vgg, alexnet, mec. Each has
a run of its own under --out; a run that is finished is not done again. With --tight, only variants
are tried that need no memory but input, constants and output. Our fastest variants, and the fastest
without workspace, are timed in turns with every peer; ratio = the peer's time / ours.
"""

# key: n batch

import argparse
import json
import statistics
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from codegen.runtime.devices import choose
from explore.bounds.program_work import least_bytes
from explore.measure.reference_file import stored_reference
from explore.options.options import Options
from explore.options.units import parse_seconds, show_bytes, show_time
from explore.peers.peers import KNOWN, Duel, duel
from explore.results.front import usable
from explore.results.pace import Level, Reading, usual_of
from explore.results.records import Record, latest
from explore.run.run import Run, resume, start
from explore.run.source import Source
from explore.run.target import Target, device_of, profile_of
from explore.run.worker_pools import device_pool
from ir.errors import UserError

EXAMPLES = Path(__file__).parents[1] / "examples"
DONE = "compared.json"
CLOSE = 2  # the fastest variants of a search are measured once more, beside the peers


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer of a network by its `name`: the file of its program, and the sizes that are set in
    it."""

    name: str
    file: Path
    sizes: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Point:
    """The time in nanoseconds of a variant or a peer, with its spread, and the memory that it
    needs; `name` says which one it is, `note` tells more. `error` is the relative error of a
    variant's results (None: not known)."""

    name: str
    time_ns: float
    spread: float
    memory_bytes: int
    note: str = ""
    error: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """The measurements of a layer, which takes `flops` operations, on a device that makes at most
    `peak` of them a second: our points, the fastest first; the best point of each peer; the peers
    that do not apply, with the reason (`without`); and how many variants were tried, in how many
    seconds."""

    layer: str
    flops: int
    peak: float | None  # operations a second
    ours: tuple[Point, ...]
    peers: tuple[Point, ...]
    without: tuple[str, ...]  # peers that do not apply, and why
    tried: int
    seconds: float

    @staticmethod
    def load(text: str) -> "Row":
        row = json.loads(text)
        row |= {key: tuple(Point(**p) for p in row[key]) for key in ("ours", "peers")}
        return Row(**row)


# ---- measuring


def layers(names: Sequence[str], n: int | None) -> Iterator[Layer]:
    """The layers that `names` name, or whose names begin with one of them and a hyphen, in the
    file's order, on n images (None: as many as the file says)."""
    known: Mapping[str, dict[str, Any]] = tomllib.loads((EXAMPLES / "layers.toml").read_text())
    for name in names:
        if not any(layer.startswith(name) for layer in known):
            raise UserError(f"no layer {name!r}: expected one of {', '.join(known)}")
    for layer, found in known.items():
        if layer in names or any(layer.startswith(f"{name}-") for name in names):
            sizes = {key: size for key, size in found.items() if key != "file"}
            yield _batched(Layer(layer, EXAMPLES / found["file"], tuple(sizes.items())), n)


def _batched(layer: Layer, n: int | None) -> Layer:
    """The layer with its size N set to n, the number of images; unchanged if n is None. A UserError
    if its program has no size N."""
    if n is None:
        return layer
    if "N = " not in layer.file.read_text():
        raise UserError(
            f"--batch {n}: expected a program with a size N, the number of images; "
            f"found {layer.file.name} without one"
        )
    return Layer(f"{layer.name} × {n}", layer.file, (*layer.sizes, ("N", n)))


def measured(layer: Layer, folder: Path, given: argparse.Namespace) -> Row:
    """The row of a layer: its run is started in `folder`, resumed or found finished, and then its
    variants are timed in turns with the peers."""
    done = folder / DONE
    if done.is_file():
        return Row.load(done.read_text())
    begun = time.monotonic()
    run = explored(layer, folder, given)
    row = beside(layer, run, given, time.monotonic() - begun)
    done.write_text(json.dumps(asdict(row)))
    return row


def explored(layer: Layer, folder: Path, given: argparse.Namespace) -> Run:
    """The run of a layer in a folder: resumed if the folder holds one, else started with the
    options `given`."""
    if (folder / "run.sqlite").is_file():
        return resume(folder)[0]
    device = choose(given.device)
    options = Options(
        variants=given.variants,
        seed=given.seed,
        families=tuple(given.families.split(",")) if given.families else (),
        time_limit=parse_seconds(given.time_limit) if given.time_limit else None,
        jobs=given.jobs,
        sizes=layer.sizes,
    )
    source = Source(layer.file.read_text(), str(layer.file))
    if given.tight:
        options = replace(options, max_memory=least_bytes(source.program(options)))
    return start(source, options, Target(profile_of(device), device), folder)[0]


def beside(layer: Layer, run: Run, given: argparse.Namespace, seconds: float) -> Row:
    """The row of a layer: the points of our fastest variants and of the peers, measured in turns;
    `seconds` is what the run took."""
    environment, records = run.environment, run.records
    best = ours(records)
    options = Options.from_json(environment.options)
    program = Source(environment.program, layer.name).program(options)
    device = device_of(environment)
    with ExitStack() as stack:
        file = stored_reference(program, options.seed, run.folder, environment.reference)
        worker = stack.enter_context(device_pool(file, program, options, device))
        plans = [record.variant.plan for record in best if record.variant.plan is not None]
        limit, usual = parse_seconds(given.peer_limit), usual_of(records)
        found = [
            duel(name, program, options.seed, file, device, worker, plans, usual, limit)
            for name in given.against.split(",")
        ]
    peers = (d.best for d in found)
    points = [_again(record, found, i) for i, record in enumerate(best)]
    return Row(
        layer.name,
        environment.bounds.flops or 0,
        environment.bounds.peak_flops,
        tuple(sorted(points, key=lambda p: p.time_ns)),
        tuple(
            Point(p.name, p.time_ns, p.spread, p.memory_bytes or 0, p.note)
            for p in peers
            if p is not None
        ),
        tuple(f"{d.name}: {d.reason}" for d in found if d.best is None),
        len(latest(records)),
        seconds,
    )


def ours(records: Sequence[Record]) -> list[Record]:
    """The records of a run that are worth timing again: all variants that may turn out to be the
    fastest, and all that may turn out to be the fastest without workspace."""
    found = sorted(usable(records), key=lambda r: r.time_ns or 0)
    lean = [r for r in found if r.workspace_bytes == 0]
    return list({r.variant.id: r for r in (*found[:CLOSE], *lean[:CLOSE])}.values())


def _again(record: Record, found: Sequence[Duel], i: int) -> Point:
    """The i-th of our variants, whose record is `record`, as a point. Its time is from the duels
    with peers (`found`), or, if it was in none, from the record."""
    levels = [d.ours[i] for d in found if d.ours]
    taken = [Reading(ns, level.yardstick_ns) for level in levels for ns in level.times_ns]
    assert record.time_ns is not None
    name = f"{record.variant.id} {record.variant.form}"
    note = " ".join(f"{p}={v}" for p, v in record.variant.parameters)
    memory = record.memory_bytes or 0
    if not taken:
        return Point(name, record.time_ns, 0.0, memory, note, record.error)
    level = Level.of(taken)
    return Point(name, level.median_ns, level.spread, memory, note, record.error)


# ---- the table


def table(rows: Sequence[Row]) -> str:
    """The Markdown table of these rows with the geometric means of their ratios, followed by lines
    on further peers and on the variants that were timed."""
    lines = [
        "| layer | ours | error | GFLOP/s | of ceiling | memory | peer | memory | peer / ours "
        "| within the peer's memory | peer / ours |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
        *map(_row, rows),
    ]
    lines += [""] + [f"Geometric mean of peer / ours: {text}." for text in _means(rows)]
    lines += ["", *_others(rows), "Variants:", ""]
    lines += [
        f"- {r.layer}: {_time(p)}, error {_error(p)}, {p.name} {p.note}"
        for r in rows
        for p in r.ours
    ]
    return "\n".join(lines) + "\n"


def _row(row: Row) -> str:
    best = row.ours[0]
    rate = row.flops / best.time_ns
    ceiling = f"{1e9 * rate / row.peak:.0%}" if row.peak else "–"
    cells = [row.layer, _time(best), _error(best), f"{rate:.0f}", ceiling]
    cells.append(show_bytes(best.memory_bytes))
    if peer := first_peer(row):
        within = within_memory(row, peer)
        cells += [f"{_time(peer)}, {peer.name}", show_bytes(peer.memory_bytes)]
        cells += [_ratio(peer, best), _time(within) if within else "–", _ratio(peer, within)]
    return f"| {' | '.join(cells)} |"


def _time(p: Point) -> str:
    return f"{show_time(p.time_ns)} ± {p.spread:.1%}"


def _error(p: Point) -> str:
    return "–" if p.error is None else f"{p.error:.1e}"


def _ratio(peer: Point, ours: Point | None) -> str:
    return "–" if ours is None else f"{peer.time_ns / ours.time_ns:.2f}"


def first_peer(row: Row) -> Point | None:
    return row.peers[0] if row.peers else None


def within_memory(row: Row, peer: Point) -> Point | None:
    """Our fastest point that needs no more memory than the peer's; None if there is no such
    point."""
    found = [p for p in row.ours if p.memory_bytes <= peer.memory_bytes]
    return min(found, key=lambda p: p.time_ns, default=None)


def _means(rows: Sequence[Row]) -> Iterator[str]:
    compared = [(r.ours[0], p, within_memory(r, p)) for r in rows if (p := first_peer(r))]
    if not compared:
        yield "no peer applied"
        return
    worst = min(p.time_ns / o.time_ns for o, p, _ in compared)
    mean = statistics.geometric_mean(p.time_ns / o.time_ns for o, p, _ in compared)
    yield f"{mean:.3f} over {len(compared)} layers, the least {worst:.2f}"
    lean = [p.time_ns / w.time_ns for _, p, w in compared if w is not None]
    if lean:
        yield (
            f"{statistics.geometric_mean(lean):.3f} over {len(lean)} layers "
            f"within the peer's memory, the least {min(lean):.2f}"
        )


def _others(rows: Sequence[Row]) -> Iterator[str]:
    """Lines about each row: one for each of its peers but the first, and one for each peer that
    does not apply to its layer, with the reason."""
    for row in rows:
        for peer in row.peers[1:]:
            ratio = _ratio(peer, row.ours[0])
            yield f"{row.layer}: {peer.name} {_time(peer)}, peer / ours {ratio} ({peer.note})."
            yield ""
        for reason in row.without:
            yield f"{row.layer}: no peer {reason}."
            yield ""


def heading(given: argparse.Namespace) -> str:
    device = choose(given.device)
    date = time.strftime("%Y-%m-%d")
    return f"{device.name}, {device.platform} {device.driver}, {date}.\n\n"


def arguments(argv: Sequence[str], help: str | None = __doc__) -> argparse.Namespace:
    options = argparse.ArgumentParser(
        description=help, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("layers", nargs="+", metavar="LAYER")
    options.add_argument("--device")
    options.add_argument("--variants", type=int, default=300)
    options.add_argument("--families", help="families to try (default: all)")
    options.add_argument("--batch", type=int, help="images of a batch, for programs that have one")
    options.add_argument("--tight", action="store_true", help="only variants without workspace")
    options.add_argument("--time-limit", help="limit of a layer's search, such as 2m")
    options.add_argument("--jobs", type=int)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--against", default="torch", help=f"a peer: one of {', '.join(KNOWN)}")
    options.add_argument("--peer-limit", default="5m", help="time limit for a pass of a peer")
    options.add_argument("--out", type=Path, default=Path("runs/layers"))
    options.add_argument("--table", type=Path, help="write the table to this file too")
    return options.parse_args(argv)


def main(argv: Sequence[str]) -> None:
    given = arguments(argv)
    rows = []
    for layer in layers(given.layers, given.batch):
        rows.append(measured(layer, given.out / layer.name.replace(" × ", "-n"), given))
        print(_row(rows[-1]), f"{rows[-1].tried} variants, {rows[-1].seconds:.0f} s", flush=True)
        if given.table:
            given.table.write_text(heading(given) + table(rows))
    print(f"\n{heading(given)}{table(rows)}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except UserError as error:
        sys.exit(f"{error}")
