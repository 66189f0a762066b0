"""Forms and points of the rows of `matrix_layers`, drawn at random and built by other processes."""

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from random import Random

from benchmarks.matrix_rows import Row
from benchmarks.opened_device import opened
from codegen.compile import generate
from codegen.plan import Plan
from codegen.runtime.results import BuildFailed
from constraints.devices import H200
from constraints.quantities.quantities import quantities
from explore.results.records import Features
from explore.space.derive_form import points
from explore.space.kernel_features import features_at
from explore.space.lowering import bound
from explore.space.rough_cost import ESTIMATE
from ir.errors import Unsupported, UserError
from rewrites.engine.refused import Refused
from rewrites.families.all_families import form_named, forms
from rewrites.tuning.family import Form
from rewrites.tuning.lower import lower

MOST = 20_000  # points of a form that are compared by their estimates


@dataclass(frozen=True, slots=True)
class Task:
    """A task for a process: a form of a row's program, `count` points to draw of its best `share`,
    the seed, the name of the device, and (in place of a draw) the points to make."""

    row: Row
    form: Form
    count: int
    share: float
    seed: str
    device: str | None
    points: tuple[Mapping[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Drawn:
    """A variant that was drawn and built: its form, its point, the cost model's estimate in
    microseconds, and its plan."""

    form: str
    point: Mapping[str, int]
    estimate_us: float
    plan: Plan


def estimated(task: Task) -> list[tuple[float, Mapping[str, int]]]:
    """The points of a task's form (some, if there are many), each after the cost model's estimate
    for it in microseconds, the least first; none if the form does not serve the row."""
    random = Random(f"{task.seed} {task.row.name} {task.form.name} points")
    low = lower(task.row.program, task.form)
    found = [*task.points] or points(low, H200, MOST, random.randrange(2**31))[1]
    known, seen = quantities(low.program), dict[tuple[int, ...], Features]()

    def estimate(point: Mapping[str, int]) -> float:
        return sum(dict(k)[ESTIMATE] for k in features_at(known, point, H200, seen)) / 1e3

    return sorted(((estimate(point), point) for point in found), key=lambda each: each[0])


def drawn(task: Task) -> tuple[list[Drawn], list[str]]:
    """The variants that a task draws, built so that the driver has them in its cache; and why
    others were not made."""
    random = Random(f"{task.seed} {task.row.name} {task.form.name}")
    why, made = list[str](), list[Drawn]()
    try:
        rough = estimated(task)
    except (Refused, Unsupported) as refused:
        return [], [f"{task.form.name}: {str(refused)[:200]}"]
    low = lower(task.row.program, task.form)
    likely = rough[: max(task.count, int(len(rough) * task.share))]
    for about, point in random.sample(likely, min(task.count, len(likely))):
        try:
            plan = generate(bound(low.program, point), max_work_group=1024).plan
            opened(task.device).build(plan)
            made.append(Drawn(task.form.name, point, about, plan))
        except (Unsupported, BuildFailed, UserError) as error:
            why.append(f"{task.form.name} {point_text(point)}: {str(error)[:200]}")
    return made, why


Todo = Sequence[tuple[int, Task]]  # a row's number, and a task for it


def likely(todo: Todo, least: Sequence[float], near: float) -> Todo:
    """The tasks whose forms' least estimates are at most `near` times the least of their rows, the
    likely ones first."""
    rows = {n: min(e for (m, _), e in zip(todo, least, strict=True) if m == n) for n, _ in todo}
    kept = [(e / rows[n], k) for k, ((n, _), e) in enumerate(zip(todo, least, strict=True))]
    return [todo[k] for times, k in sorted(kept) if times <= near]


def least_estimate(todo: tuple[int, Task]) -> float:
    """The least estimate for a form; infinite if it does not serve the row."""
    try:
        return min((e for e, _ in estimated(todo[1])), default=inf)
    except (Refused, Unsupported):
        return inf


def point_text(point: Mapping[str, int]) -> str:
    return " ".join(f"{name}={n}" for name, n in sorted(point.items()))


def tasks(row: Row, given: argparse.Namespace) -> Iterator[Task]:
    """The tasks for a row: one for each variant that is made again; or, in a random order, one for
    each of its forms that has the words asked for (`--forms`)."""
    if given.again:
        for name, point in best_of(given.again, row.name, given.most, given.points):
            form = form_named(row.program, row.family, name)
            yield Task(row, form, 1, 1.0, given.seed, given.device, (point,))
        return
    wanted = row.way.words | {*filter(None, given.forms.split(","))}
    every = [f for f in forms(row.program, row.family) if wanted <= {*f.words}]
    every = [f for f in every if not row.way.without & {*f.words}]
    every = [f for f in every if f.instructions and f.loses <= 2 * row.way.max_error]
    for n, form in enumerate(Random(f"{given.seed} {row.name}").sample(every, len(every))):
        yield Task(row, form, given.points, given.share, f"{given.seed} {n}", given.device)


def best_of(file: Path, row: str, most: int, alike: int) -> list[tuple[str, Mapping[str, int]]]:
    """The forms and points of the `most` fastest right variants of a row in a file, up to `alike`
    of each form."""
    lines = (json.loads(line) for line in file.read_text(encoding="utf-8").splitlines())
    right = [line for line in lines if line["row"] == row and line.get("time_us")]
    found, count = list[tuple[str, Mapping[str, int]]](), Counter[str]()
    for line in sorted(right, key=lambda line: line["time_us"]):
        count[line["form"]] += 1
        if count[line["form"]] <= alike:
            found.append((line["form"], line["point"]))
    return found[:most]
