"""Layers and products in forms by matrix instructions at points drawn at random, on a device, each
beside the fastest way of PyTorch.

    python -m benchmarks.matrix_layers ROW … [--device D] [--jobs N] [--time-limit 120] [--points 4]
        [--share 0.3] [--near 1.5] [--forms ahead,spelled] [--set C=32,…] [--seed 0]
        [--out FILE.jsonl] [--again FILE.jsonl] [--most 4]

A row is a name in `benchmarks/matrix_rows.py`, or the beginning of several: `batch-vgg`, `mec`,
`half-vgg`, `wgmma-vgg`, `one-wgmma-vgg`, `f16x3-vgg`, `winograd-vgg`, `vgg`, `data-vgg`,
`weights-vgg`, `transposed`, `product`. Processes lower random forms of the row, draw random points
from the share of each that the cost model takes for the fastest, and build them; with `--near`, of
those forms alone whose best estimate is within that factor of the row's least. The device times
what is built and checks the fast ones against the row's result in double precision; when the
processes have ended, our two fastest and PyTorch's ways are timed in turns. Each line of the file
is a variant, or a comparison. With `--again`, nothing is drawn: the fastest right variants that a
file tells are made again, up to --points of a form.
"""

# key: p program

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import prod
from multiprocessing import TimeoutError, get_context
from multiprocessing.pool import IMapIterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import torch_gradients, torch_ways
from benchmarks.matrix_draws import Drawn, Task, drawn, least_estimate, likely, point_text, tasks
from benchmarks.matrix_rows import Row, rows_named
from benchmarks.opened_device import opened
from codegen.plan import Plan
from codegen.runtime.built_program import Program as Built
from codegen.runtime.results import BuildFailed, RunFailed
from codegen.runtime.session import Session
from explore.measure.measure_tasks import turns_of
from explore.measure.reference import relative_error
from ir.core.nodes import Binary, Program
from ir.core.terms import subterms
from ir.core.type_rules import type_of
from ir.core.types import Scalar, Type, leaves
from ir.errors import UserError
from ir.meaning.inputs import STORED, shape_of
from ir.meaning.interpret import evaluate

Array = NDArray[Any]
NEAR = 1.25  # times the fastest: slower variants are neither checked nor timed end to end
RUNS, WARMUP, BATCHES = 9, 2, 5
TURNS = 7  # of our fastest and PyTorch
AGAIN = 4  # variants of a row that are made again


@dataclass(frozen=True, slots=True)
class Timed:
    """The times of a variant in microseconds, by events, of each kernel too, and (None: too slow
    for that) end to end; and its relative error."""

    row: str
    form: str
    point: Mapping[str, int]
    items: int
    estimate_us: float
    events_us: float
    time_us: float | None = None
    error: float | None = None
    kernels_us: tuple[float, ...] = ()


# ---- measuring


@dataclass(slots=True)
class Bench:
    """The state of a row's measurements: its program, inputs, right result, copies of the inputs
    that vary, PyTorch's ways, what was timed, and the plans of those that were checked."""

    row: Row
    program: Program
    inputs: Mapping[str, Array]
    right: Array
    turns: Sequence[Mapping[str, Any]]
    ways: Mapping[str, Callable[[], float]]
    timed: list[Timed] = field(default_factory=list)
    plans: dict[int, Plan] = field(default_factory=dict)  # by the number in `timed`

    @property
    def best_us(self) -> float:
        """The least time by events of variants that are right."""
        right = (t.events_us for t in self.timed if t.time_us is not None)
        return min(right, default=float("inf"))


def bench(session: Session, row: Row) -> Bench:
    """The bench of a row on a session's device, with fresh inputs."""
    p = row.program
    inputs = _inputs(p)
    varying = {q.var.name: inputs[q.var.name] for q in p.params if not q.const}
    turns = session.copies(varying, turns_of(sum(a.nbytes for a in varying.values())))
    if not torch_ways.has_torch():
        return Bench(row, p, inputs, np.asarray(evaluate(p, inputs), np.float64), turns, {})
    if row.gradient is not None:
        right = torch_gradients.right(row.gradient, inputs)
        return Bench(row, p, inputs, right, turns, torch_gradients.ways(row.gradient, inputs))
    relu = any(isinstance(e, Binary) and e.op == "max" for e in subterms(p.body))
    layer = torch_ways.layer_of(inputs, shape_of(type_of(p.body)), relu)
    right = torch_ways.right(layer, inputs)
    return Bench(row, p, inputs, right, turns, torch_ways.ways(layer, inputs, row.way.peer))


def _inputs(p: Program) -> dict[str, Array]:
    """Random inputs of a program by name: activations that are not negative, weights after He, and
    normal numbers for products without constants."""
    random, found = np.random.default_rng(), dict[str, Array]()
    for q in p.params:
        shape, kind = shape_of(q.var.type), STORED[_number(q.var.type)]
        numbers = random.standard_normal(shape, np.float32)
        if q.const:
            numbers *= (2 / prod(shape[1:])) ** 0.5 if len(shape) > 1 else 0.1
        elif any(r.const for r in p.params):
            numbers = np.maximum(numbers, 0)
        found[q.var.name] = numbers.astype(kind)
    return found


def _number(t: Type) -> str:
    """The name of the type of the numbers in an array of type t."""
    (found,) = {*leaves(t)}
    assert isinstance(found, Scalar)
    return found.name


def measured(session: Session, on: Bench, it: Drawn) -> Timed:
    """The times of a variant; end to end only if it is near the fastest, with its error, which must
    be allowed."""
    built = session.build(it.plan)
    try:
        timing = built.time(on.inputs, RUNS, WARMUP, on.turns, limit_s=0.5, steady=0.01)
        events = timing.median_ns
        items = prod(it.plan.kernels[-1].local_size or (0,))
        each = tuple(k.ns / 1e3 for k in timing.kernels)
        point, about = it.point, it.estimate_us
        found = Timed(on.row.name, it.form, point, items, about, events / 1e3, kernels_us=each)
        if events / 1e3 > NEAR * on.best_us:
            return found
        error = relative_error(np.asarray(built(on.inputs)), on.right)
        if not error <= on.row.way.max_error:
            return _with(found, None, error)
        return _with(found, _batches(built, on, events), error)
    finally:
        built.release()


def _with(it: Timed, time_us: float | None, error: float) -> Timed:
    return Timed(**{**asdict(it), "time_us": time_us, "error": error})


def _batches(built: Built, on: Bench, events_ns: float) -> float:
    """The microseconds of an inference back to back: the median of some batches."""
    series = built.series(on.inputs, on.turns)
    series.warm()
    count = series.enough(events_ns)
    return statistics.median(series.batch(count) for _ in range(BATCHES)) / 1e3


def beside(session: Session, on: Bench) -> dict[str, object]:
    """The two fastest variants of a row and PyTorch's ways, timed in turns: the median and spread
    of each in microseconds, and how many times as fast as PyTorch the fastest is."""
    right = [n for n, t in enumerate(on.timed) if t.time_us is not None]
    first = sorted(right, key=lambda n: on.timed[n].time_us or 0)[:2]
    built = {n: session.build(on.plans[n]) for n in first}
    ours: dict[int, list[float]] = {n: [] for n in first}
    theirs: dict[str, list[float]] = {name: [] for name in on.ways}
    for _ in range(TURNS):
        for name, once in on.ways.items():
            theirs[name].append(once() / 1e3)
        for n, program in built.items():
            ours[n].append(_batches(program, on, 1e3 * on.timed[n].events_us))
    for program in built.values():
        program.release()
    found: dict[str, object] = {"row": on.row.name, "tried": len(on.timed)}
    told = [{**asdict(on.timed[n]), **_told(taken)} for n, taken in ours.items()]
    told.sort(key=lambda each: each["median_us"])
    peers = [{"name": name, **_told(taken)} for name, taken in theirs.items()]
    peers.sort(key=lambda each: float(str(each["median_us"])))
    if told and peers:
        found["ratio"] = float(str(peers[0]["median_us"])) / told[0]["median_us"]
    return {**found, "ours": told, "peers": peers}


def _told(taken: Sequence[float]) -> dict[str, float]:
    low, middle, high = np.percentile(taken, (25, 50, 75))
    return {"median_us": float(middle), "spread": float((high - low) / middle)}


def main(argv: Sequence[str]) -> None:
    given = arguments(argv)
    sizes = {k: int(n) for k, _, n in (s.partition("=") for s in given.set.split(",") if s)}
    session = opened(given.device)
    with given.out.open("a", encoding="utf-8") as out:

        def say(line: Mapping[str, object]) -> None:
            out.write(json.dumps(line) + "\n")
            out.flush()

        wanted = [row.at(sizes) for row in rows_named(given.rows)]
        by_row = [[*tasks(row, given)] for row in wanted]
        todo = [(n, t) for k in range(max(map(len, by_row))) for n, t in _at(by_row, k)]
        with get_context("spawn").Pool(given.jobs) as pool:  # ended at once when time is up
            if given.near is not None:
                todo = [*likely(todo, pool.map(least_estimate, todo, 1), given.near)]
                print(f"{len(todo)} likely forms", flush=True)
            made = pool.imap_unordered(_numbered, todo)
            benches = [bench(session, row) for row in wanted]
            print(f"{session.device.name}: {len(benches)} rows, PyTorch is ready", flush=True)
            _taken(session, benches, made, time.monotonic() + given.time_limit, say)
        for on in benches:
            found = beside(session, on)
            say(found)
            print(_line(found), flush=True)


def _at(by_row: Sequence[Sequence[Task]], k: int) -> Iterator[tuple[int, Task]]:
    return ((n, found[k]) for n, found in enumerate(by_row) if k < len(found))


def _numbered(todo: tuple[int, Task]) -> tuple[int, list[Drawn], list[str]]:
    """The number of a row, and what its task draws."""
    n, task = todo
    return n, *drawn(task)


def _taken(
    session: Session,
    benches: Sequence[Bench],
    made: "IMapIterator[tuple[int, list[Drawn], list[str]]]",
    until: float,
    say: Callable[[Mapping[str, object]], None],
) -> None:
    """Time what is `made` for each bench, by its number, until the clock shows `until`; `say` gets
    a line for each variant."""
    while (left := until - time.monotonic()) > 0:
        try:
            n, variants, why = made.next(left)
        except (StopIteration, TimeoutError):
            return
        on = benches[n]
        for reason in why:
            say({"row": on.row.name, "failed": reason})
        for it in variants if time.monotonic() < until else ():
            try:
                on.timed.append(measured(session, on, it))
            except (BuildFailed, RunFailed) as error:
                say({"row": on.row.name, "failed": f"{it.form} {point_text(it.point)}: {error}"})
                continue
            if on.timed[-1].time_us is not None:
                on.plans[len(on.timed) - 1] = it.plan
            say(asdict(on.timed[-1]))


def _line(found: Mapping[str, Any]) -> str:
    """A line on a row: our fastest variant, PyTorch's fastest way, their ratio."""
    if not found["ours"]:
        return f"{found['row']}: nothing right of {found['tried']}"
    best = found["ours"][0]
    told = f"{found['row']}: {best['median_us']:.1f} µs ± {best['spread']:.1%}, error "
    told += f"{best['error']:.1e}, {best['form']} {point_text(best['point'])}, of {found['tried']}"
    for peer in found["peers"][:1]:
        told += f"; {peer['name']} {peer['median_us']:.1f} µs: {found['ratio']:.2f}"
    return told


def arguments(argv: Sequence[str]) -> argparse.Namespace:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("rows", nargs="+", metavar="ROW")
    options.add_argument("--device")
    options.add_argument("--jobs", type=int, default=os.cpu_count())
    options.add_argument("--time-limit", type=float, default=120.0)
    options.add_argument("--points", type=int, default=4, help="points drawn of each form")
    options.add_argument("--near", type=float, help="times the least estimate: of likely forms")
    options.add_argument("--share", type=float, default=0.3, help="of a form's points: the likely")
    options.add_argument("--forms", default="", help="words that all forms must have")
    options.add_argument("--set", default="", help="sizes in place of those of the rows")
    options.add_argument("--seed", default="0")
    options.add_argument("--out", type=Path, default=Path("matrix_layers.jsonl"))
    options.add_argument("--again", type=Path, help="a file of variants, to make the best again")
    options.add_argument("--most", type=int, default=AGAIN, help="variants of a row made again")
    return options.parse_args(argv)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except UserError as error:
        sys.exit(f"{error}")
