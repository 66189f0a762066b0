"""The tasks of the workers of benchmarks/points.py: compute a reference result, derive a form and
draw its points, or try a point.

The stages of a point are judged one by one: its code is made, the memory that it takes compared
with inference, its kernels proved, built for the device, run with guards around their buffers, and
the output compared with the interpreter's. Inputs are whole numbers, so sums are exact; where laws
round, the derivation's known error is allowed.
"""

import pickle
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from pathlib import Path

import numpy as np

from codegen.compile import Generated, generate
from codegen.demand_proofs import proofs
from codegen.runtime.devices import Device
from codegen.runtime.results import BuildFailed, GuardViolated, PoisonFound
from codegen.runtime.session import Session, open_device
from constraints.devices import Profile
from constraints.quantities.quantities import Quantities, quantities
from constraints.solve.explain import explain
from constraints.solve.solver import Solver
from explore.building.promise_check import disagreements
from explore.measure.reference import EPSILON, Array, Expected, expected, inputs_of
from explore.space.derive_form import constraints, points
from explore.space.lowering import bound, lowering
from ir.core.nodes import Program
from ir.errors import Unsupported, UserError
from ir.parse import parse_file
from rewrites.engine.refused import Refused

EXAMPLES = Path(__file__).parents[1] / "examples"
MADE_HERE = {
    "small": {"file": "vgg.lift", "C": 5, "W": 13, "M": 24},
    "product": {"file": "matmul.lift", "M": 192, "N": 320, "K": 256},
    "separable": {"file": "separable.lift", "C": 8, "W": 14, "M": 12},
    "block": {"file": "inverted_residual.lift", "C": 4, "W": 15, "E": 12, "M": 6},
}
RIGHT = "right"


@cache
def program(layer: str) -> Program:
    """The program of a layer named in examples/layers.toml, or in `MADE_HERE`."""
    table = tomllib.loads((EXAMPLES / "layers.toml").read_text()) | MADE_HERE
    if layer not in table:
        raise UserError(f"no layer {layer}: expected one of {', '.join(table)}")
    found = dict(table[layer])
    file = EXAMPLES / found.pop("file")
    if "W" in found:
        found.setdefault("H", found["W"])
    return parse_file(file, set=found)


@dataclass(frozen=True, slots=True)
class Refer:
    """A task to compute the interpreter's output for a layer, and keep it in `file`."""

    layer: str
    file: Path


@dataclass(frozen=True, slots=True)
class Derive:
    """A task to derive a form of a family for a layer, and to draw `points` points of it, by the
    random `seed`, that are legal by `profile`."""

    layer: str
    family: str
    form: str
    profile: Profile
    points: int
    seed: int


@dataclass(frozen=True, slots=True)
class Form:
    """A form of a family that was derived for a layer, with the points to try: its program with
    what was inferred of it, pickled (`known`), and the known error of its derivation
    (`rounding`)."""

    layer: str
    family: str
    form: str
    known: bytes  # pickled: the program, and what was inferred of it
    rounding: float  # machine epsilons that its laws may lose
    points: tuple[dict[str, int], ...]


@dataclass(frozen=True, slots=True)
class Without:
    """The reason why a form of a family has no points to try for a layer."""

    layer: str
    family: str
    form: str
    reason: str


@dataclass(frozen=True, slots=True)
class Try:
    """A task to try one point of a derived form; `reference` is the file with the right result."""

    form: Form
    point: dict[str, int]
    reference: Path


@dataclass(slots=True)
class Tried:
    """The outcome of a point: what is `said` of it (`right`, or the stage at which it failed), the
    reason of a failure, and the seconds of each stage."""

    said: str = RIGHT
    reason: str = ""
    seconds: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Bench:
    """The state of a worker: its session (None: nothing is built or run), and how many work-items a
    work-group may have."""

    session: Session | None
    max_work_group: int


def bench(device: Device | None, max_work_group: int) -> Bench:
    """The state of a worker that builds and runs on a device (None: it builds and runs nothing),
    with work-groups of up to `max_work_group` items. Builds are not cached, as no kernel is built
    twice."""
    session = None if device is None else open_device(device, cached=False)
    return Bench(session, max_work_group)


def setup_for(device: Device | None, max_work_group: int) -> "partial[Bench]":
    """A function without arguments that makes the state of a worker (`bench`) for this device and
    largest work-group."""
    return partial(bench, device, max_work_group)


def work(state: Bench, task: Refer | Derive | Try) -> Path | Form | Without | Tried:
    """The result of a worker's task: a file with a reference result, a form (or why there is none),
    or the outcome of a point."""
    match task:
        case Refer(layer, file):
            found = expected(program(layer), _inputs(layer))
            np.savez(file, output=found.output, scale=found.scale)
            return file
        case Derive():
            return derive(task)
        case Try():
            return attempt(state, task)


def derive(task: Derive) -> Form | Without:
    """The form that a task names, derived, with its sampled points; or the reason why it has
    none."""
    where = (task.layer, task.family, task.form)
    try:
        found = lowering(program(task.layer), task.family, task.form)
        _, chosen = points(found, task.profile, task.points, task.seed)
    except (Refused, UserError, Unsupported) as refused:
        return Without(*where, f"{type(refused).__name__}: {refused}")
    if not chosen:
        system = constraints(found, task.profile)
        verdict = Solver(system).feasible()
        reason = explain(verdict.core, system.parameters) if verdict.core else verdict.answer.value
        return Without(*where, reason)
    known = pickle.dumps((found.program, quantities(found.program)))
    return Form(*where, known, found.derivation.rounding, tuple(chosen))


@lru_cache(maxsize=64)
def _known(pickled: bytes) -> tuple[Program, Quantities]:
    source, inferred = pickle.loads(pickled)
    return source, inferred


@lru_cache(maxsize=2)
def _inputs(layer: str) -> dict[str, Array]:
    return inputs_of(program(layer), 1, integers=True)


def attempt(state: Bench, task: Try) -> Tried:
    """The outcome of a task's point: `right`, or the first stage that failed and its reason."""
    tried = Tried()
    for stage, reason in _stages(state, task, tried.seconds):
        if reason:
            tried.said, tried.reason = stage, reason
            break
    return tried


def _stages(state: Bench, task: Try, seconds: dict[str, float]) -> Iterator[tuple[str, str]]:
    """Each stage of trying a point with the reason why it failed, or with an empty text; the time
    of each stage is put into `seconds`."""
    source, known = _known(task.form.known)
    with _timed("emit", seconds):
        try:
            made = generate(bound(source, task.point), max_work_group=state.max_work_group)
        except Unsupported as reason:
            yield "emit", str(reason)
            return
    yield "constrain", "; ".join(disagreements(known, task.point, made))
    with _timed("prove", seconds):
        found = proofs(made)
    yield "prove", next((p.summary() for p in found if not p.ok), "")
    if state.session is not None:
        yield from _ran(state.session, task, made, seconds)


def _ran(
    session: Session, task: Try, made: Generated, seconds: dict[str, float]
) -> Iterator[tuple[str, str]]:
    with _timed("build", seconds):
        try:
            built = session.build(made.plan, checking=True)
        except BuildFailed as error:
            yield "build", error.log.strip()[:400]
            return
    try:
        with _timed("run", seconds):
            output = built(_inputs(task.form.layer))
    except (GuardViolated, PoisonFound) as error:
        yield "verify", str(error)
        return
    finally:
        built.release()
    with np.load(task.reference) as kept:
        meant = Expected(kept["output"], float(kept["scale"]))
    if not meant.agrees(output, task.form.rounding):
        off, allowed = meant.lost(output), task.form.rounding * EPSILON
        yield "verify", f"error {off:.3g}, at most {allowed:.3g} is known"


@contextmanager
def _timed(stage: str, seconds: dict[str, float]) -> Iterator[None]:
    begun = time.perf_counter()
    try:
        yield
    finally:
        seconds[stage] = round(time.perf_counter() - begun, 4)
