"""Sampled legal points: does each one compile, take the memory that was inferred, get proved, and
compute what the interpreter does?

    python -m benchmarks.points [--count 1000] [--families naive,lift,…] [--jobs 2] [--seed 0]
                                [--device D | --profile h200] [--run] [--out POINTS.jsonl]
                                [--time-limit 9m] [--point-limit 1m] [LAYER …]

`--count` points a family and layer, dealt out over its forms. Without `--run` they are compiled and
proved; with it they also run on the device, with guards around their buffers, and the output must
be what the interpreter's is. Layers are names in examples/layers.toml, `small` (5 channels of 13 ×
13) and `product` (a matrix product).

Each of `--jobs` workers is a process on one core that takes the next point when it is done with
one: a crash, or a point that takes longer than `--point-limit`, costs that point alone. Families
and layers take turns, so that all have come equally far when `--time-limit` ends the run. `--out`
gets a line of JSON for every point; if the file already has lines, their points are not tried
again. Failures are printed as they are found; at the end a table says how many points of each
family and layer passed each stage.
"""

import argparse
import json
import os
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, zip_longest
from pathlib import Path
from random import Random
from typing import Any, TextIO, TypeVar

from benchmarks.trial import (
    RIGHT,
    Derive,
    Form,
    Refer,
    Tried,
    Try,
    Without,
    program,
    setup_for,
    work,
)
from codegen.runtime.session import choose
from constraints.devices import Profile, profile
from explore.options.units import parse_seconds
from explore.results.records import Failed
from explore.run.target import profile_of
from explore.workers.done import Done
from explore.workers.pool import Pool
from rewrites.families.all_families import FAMILIES, forms

LAYERS = ("small", "vgg-0", "vgg-7", "vgg-24", "alexnet-conv1", "resnet-conv1", "mec-cv12")
ONE_CORE = {  # what runtimes and libraries look at
    "DPCPP_CPU_NUM_CUS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
SPARE = 4  # as many times its share does a form draw, for forms that have few points
LATE, CRASH = "late", "crash"
STAGES = ("emit", "constrain", "prove", "build", CRASH, LATE, "verify")
EVERY = 15.0  # seconds between lines of progress

Cell = tuple[str, str]  # layer, family
T = TypeVar("T")


@dataclass(slots=True)
class Row:
    """The counts of a family on a layer: forms derived, points sampled, points by outcome (`said`),
    the seconds that points took, and forms without points by reason."""

    forms: int = 0
    sampled: int = 0
    said: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    reasons: Counter[str] = field(default_factory=Counter)  # of forms without points

    @property
    def text(self) -> str:
        failed = [f"{self.said[s]} {s}" for s in STAGES if self.said[s]]
        left = self.sampled - self.said.total()
        return ", ".join([*failed, *[f"{left} not run"] * bool(left)])


def named(task: Try) -> dict[str, Any]:
    """The fields, by name, by which the file of results tells a task's point from others: its
    layer, family, form and parameters."""
    form = task.form
    return {
        "layer": form.layer,
        "family": form.family,
        "form": form.form,
        "point": dict(sorted(task.point.items())),
    }


def key(line: Mapping[str, Any]) -> str:
    return json.dumps([line[name] for name in ("layer", "family", "form", "point")])


# ---- what is to be done


def derivations(
    layers: Sequence[str], families: Sequence[str], count: int, limits: Profile, seed: int
) -> Iterator[Derive]:
    """Tasks to derive forms within `limits`, for each family and layer: all forms of the family, or
    `count` random ones if it has more."""
    for layer, family in ((a, b) for a in layers for b in families):
        every = [form.name for form in forms(program(layer), family)]
        names = Random(f"{seed} {layer} {family}").sample(every, min(count, len(every)))
        share = min(count, SPARE * -(-count // len(names)))
        yield from (Derive(layer, family, name, limits, share, seed) for name in names)


def dealt(found: Iterable[Form], count: int, folder: Path) -> Iterator[list[Try]]:
    """For each family and layer a list of up to `count` tasks to try points, taken from the
    family's forms in turn. `folder` holds the reference results."""
    cells: dict[Cell, list[Form]] = defaultdict(list)
    for form in sorted(found, key=lambda f: (f.layer, f.family, f.form)):
        cells[form.layer, form.family].append(form)
    for several in cells.values():
        rounds = in_turn([Try(f, p, reference(folder, f.layer)) for p in f.points] for f in several)
        yield list(islice(rounds, count))


def in_turn(lists: Iterable[Sequence[T]]) -> Iterator[T]:
    """The first element of each list, then the second of each, and so on."""
    return (x for x in chain.from_iterable(zip_longest(*lists)) if x is not None)


def reference(folder: Path, layer: str) -> Path:
    return folder / f"{layer}.npz"


# ---- doing it


class Report:
    """A report in the making: the counts of points for the table, the file of results, and the
    messages on progress."""

    def __init__(self, out: TextIO | None) -> None:
        self.rows: dict[Cell, Row] = defaultdict(Row)
        self.undone = 0  # forms that there was no time for
        self._out, self._begun = out, time.monotonic()
        self._shown = self._begun

    def derived(self, done: Done[Derive, Any]) -> Iterator[Form]:
        row = self.rows[done.task.layer, done.task.family]
        row.seconds += done.seconds
        match done.result:
            case Form() as form:
                row.forms += 1
                yield form
            case Without() as none:
                row.reasons[none.reason] += 1
            case Failed() as failed:
                row.reasons[f"FAILED: {failed.reason}"] += 1
                print(failed.detail, done.task, failed.reason, flush=True)

    def tried(self, done: Done[Try, Any]) -> None:
        task, result = done.task, done.result
        if isinstance(result, Failed):
            result = Tried(LATE if result.timed_out else CRASH, result.reason)
        line = named(task) | {
            "said": result.said,
            "reason": result.reason,
            "seconds": result.seconds,
            "wall": round(done.seconds, 3),
        }
        self.read(line)
        if self._out:
            print(json.dumps(line), file=self._out, flush=True)
        if result.said != RIGHT:
            print(json.dumps(line), flush=True)

    def read(self, line: Mapping[str, Any]) -> None:
        """Count the point that a line of the file of results is about, which was tried just now or
        in an earlier run."""
        row = self.rows[line["layer"], line["family"]]
        row.said[line["said"]] += 1
        row.seconds += line["wall"]

    def progress(self, left: str) -> None:
        now = time.monotonic()
        if now - self._shown > EVERY:
            self._shown = now
            done = sum((row.said for row in self.rows.values()), Counter())
            print(f"{now - self._begun:.0f} s: {dict(done)}, {left} left", flush=True)

    def table(self) -> None:
        print("| layer | family | forms | points | right | not right | core-seconds |")
        print("|---|---|---|---|---|---|---|")
        for (layer, family), row in self.rows.items():
            numbers = f"{row.forms} | {row.sampled} | {row.said[RIGHT]} | {row.text}"
            print(f"| {layer} | {family} | {numbers} | {row.seconds:.0f} |")
        if self.undone:
            print(f"{self.undone} forms were not derived")
        for (layer, family), row in self.rows.items():
            for reason, n in row.reasons.most_common():
                print(f"{layer} {family}: {n} forms without points: {reason}")


def sweep(pool: Pool[Any, Any], tasks: Sequence[Any], until: float) -> Iterator[Done[Any, Any]]:
    """The tasks `tasks` with their results, in the order in which the pool finishes them; no task
    is begun after the time `until`."""
    waiting = iter(tasks)
    while time.monotonic() < until:
        for task in islice(waiting, pool.free):
            pool.submit(task)
        if not pool.pending:
            return
        yield from pool.results(1.0)


def earlier(file: Path | None) -> list[dict[str, Any]]:
    """The lines of a file of results, for points that were tried before; empty if there is no
    file."""
    if file is None or not file.exists():
        return []
    return [json.loads(line) for line in file.read_text().splitlines()]


def run(given: argparse.Namespace, pool: Pool[Any, Any], limits: Profile, folder: Path) -> Report:
    """The report on the whole check: reference results and forms are computed, points dealt out,
    and tried by the pool's workers. The reference results are kept in `folder`."""
    until = time.monotonic() + given.time_limit
    with (given.out or Path(os.devnull)).open("a") as out:
        report = Report(out)
        refer = [Refer(x, reference(folder, x)) for x in given.layers] if given.run else []
        families = given.families.split(",")
        todo = list(derivations(given.layers, families, given.count, limits, given.seed))
        found: list[Form] = []
        for number, done in enumerate(sweep(pool, [*refer, *todo], until), 1):
            report.progress(f"{len(refer) + len(todo) - number} forms")
            if isinstance(done.task, Derive):
                found += report.derived(done)
            elif isinstance(done.result, Failed):
                raise SystemExit(f"no reference of {done.task.layer}: {done.result.reason}")
        report.undone = len(todo) - sum(r.forms + r.reasons.total() for r in report.rows.values())
        known = {key(line): line for line in earlier(given.out)}
        new = []
        for task in in_turn(dealt(found, given.count, folder)):
            report.rows[task.form.layer, task.form.family].sampled += 1
            if line := known.get(key(named(task))):
                report.read(line)
            else:
                new.append(task)
        for number, done in enumerate(sweep(pool, new, until), 1):
            report.tried(done)
            report.progress(f"{len(new) - number} points")
    return report


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("layers", nargs="*", default=LAYERS)
    options.add_argument("--count", type=int, default=1000)
    options.add_argument("--families", default=",".join(FAMILIES))
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--device")
    options.add_argument("--profile")
    options.add_argument("--run", action="store_true")
    options.add_argument("--out", type=Path)
    options.add_argument("--time-limit", type=parse_seconds, default=float("inf"))
    options.add_argument("--point-limit", type=parse_seconds, default=60.0)
    given = options.parse_args()
    device = None if given.profile else choose(given.device)
    limits = profile_of(device) if device else profile(given.profile)
    pool: Pool[Any, Any] = Pool(
        work,
        workers=given.jobs,
        timeout=given.point_limit,
        setup=setup_for(device if given.run else None, limits.group_items),
        env=ONE_CORE,
    )
    with pool, tempfile.TemporaryDirectory() as folder:
        run(given, pool, limits, Path(folder)).table()


if __name__ == "__main__":
    main()
