"""Tests that the limit of time holds for a run's search and for the measuring after it, by a clock
that the tests turn on."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from codegen.compile import generate
from codegen.plan import Plan
from codegen.runtime.devices import Device
from constraints.devices import CPU
from explore.building.build_tasks import Made
from explore.measure.measure_tasks import Again, Measure, Passes
from explore.measure.measure_variant import FEWEST, measure, meter
from explore.measure.reference_file import stored_reference
from explore.options.options import Options
from explore.results.records import Failed, Measured, Record
from explore.run.bench import Bench
from explore.run.candidates import Candidates, expected, gathered
from explore.run.ledger import Ledger
from explore.run.loop import Loop
from explore.run.round_builds import RoundBuilds
from explore.run.run import start
from explore.run.run_clock import LAST_MOST, LAST_SHARE, RunClock
from explore.run.source import Source
from explore.run.target import Target, profile_of
from explore.search.rounds import Rounds
from explore.space.derivations import Derivations, Here
from explore.space.derive_form import Derived, derive
from explore.space.forms_to_derive import others, tasks
from explore.space.lowering import bound, lowering
from explore.workers.done import Done
from ir.parse import parse

TEXT = """tiny(const weights : [[float]K]M, xs : [float]N) =
  map(window -> map(kernel -> dot(window, kernel), weights), slide(K, 1, xs))
where K = 4, M = 32, N = 131
"""
PROGRAM = parse(TEXT)


@dataclass
class Time:
    """The time of a clock that stands still unless it is turned on."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Simulated:
    """A simulated worker that does one task at a time: `seconds` tells how long each takes, and
    `answer` what comes of it. Whoever waits for it turns the clock on."""

    time: Time
    seconds: Any
    answer: Any
    waiting: list[tuple[Any, float]] = field(default_factory=list)
    doing: tuple[Any, float, float] | None = None  # a task, its end, and its limit's
    done: list[Done[Any, Any]] = field(default_factory=list)
    closed: bool = False

    @property
    def pending(self) -> int:
        return len(self.waiting) + (self.doing is not None) + len(self.done)

    @property
    def free(self) -> int:
        return int(self.doing is None and not self.waiting)

    def submit(self, task: Any, timeout: float | None = None) -> None:
        self.waiting.append((task, timeout or 60.0))
        self._begin()

    def _begin(self) -> None:
        if self.doing is None and self.waiting:
            task, limit = self.waiting.pop(0)
            self.doing = task, self.time() + self.seconds(task), self.time() + limit

    def step(self) -> None:
        if self.doing is None:
            return
        self.time.now += 0.5
        task, end, limit = self.doing
        if self.time() >= min(end, limit):
            late = Failed("run", "took longer", "", timed_out=True)
            self.done.append(Done(task, self.answer(task) if end <= limit else late, 0.0))
            self.doing = None
            self._begin()

    def finished(self) -> list[Done[Any, Any]]:
        found, self.done = self.done, []
        return found

    def connections(self) -> list[Any]:
        return []

    def close(self) -> None:
        self.closed = True
        self.waiting, self.doing, self.done = [], None, []


class Shelf:
    """A stand-in for a store, a watch and a record book, which keeps the records that they get."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def append(self, records: Sequence[Record]) -> None:
        self.records += records

    def keep(self, records: Sequence[Record]) -> None: ...
    def saw(self, record: Record) -> None: ...
    def note(self, text: str) -> None: ...


def pool() -> Candidates:
    todo = tasks(PROGRAM, CPU, families=("registers",), budget=100, seed=0)
    return gathered([d for d in map(derive, todo) if isinstance(d, Derived)], others(todo), Here())


def explored(
    limit: float, build: float, run: float, slow: Sequence[int] = (), overlap: bool = False
) -> tuple[list[Record], bool, Time, Simulated]:
    """The records of a loop that may take `limit` seconds, where a build takes `build` and a
    measurement `run` of them, but 50 s those of the candidates in `slow`, by their turn; whether it
    came to its end; the time then; and the workers that built. Each variant needs less memory than
    those before, so that none is hopeless."""
    time, found, shelf = Time(), pool(), Shelf()
    turns, memory = list[int](), count(10_000, -1)

    def made(task: Any) -> Made:
        return Made(Plan((), (), next(memory), 0), 1, 1, 1, 0, 0.0, None)

    def seconds(task: Measure) -> float:
        turns.append(task.number)
        return 50.0 if len(turns) - 1 in slow else run

    clock = RunClock(limit, 0.0, clock=time)
    builders = Simulated(time, lambda task: build, made)
    device = Simulated(time, seconds, lambda task: Measured(1e6 + task.number, 0.0, 1e-7))
    anyone: Any = shelf
    ledger = Ledger(anyone, anyone, clock, 1000, anyone)
    loop = Loop(
        candidates=found,
        clock=clock,
        rounds=Rounds(found.search(Options(), int(overlap))),
        builds=RoundBuilds(found, Derivations(builders, lambda form, failed: None), {}),  # type: ignore[arg-type]
        bench=Bench(
            device,  # type: ignore[arg-type]
            ledger.ceiling,
            left=lambda: clock.to_measure() if ledger.ran else None,
        ),
        ledger=ledger,
        judge=None,
        overlap=overlap,
    )
    return shelf.records, loop.run(), time, builders


def test_a_part_of_the_time_is_kept_for_measuring_the_front_again() -> None:
    time = Time()
    clock = RunClock(100.0, 0.0, clock=time)
    kept = LAST_SHARE * 100
    for now, late, over in ((0, False, False), (100 - kept + 1, True, False), (101, True, True)):
        time.now = now
        assert (clock.late(), clock.over()) == (late, over)
        assert clock.left() == 100 - now
        assert clock.to_measure() == 100 - now - kept / 2
    time.now = 3600 - LAST_MOST - 1
    assert not RunClock(3600.0, 0.0, clock=time).late()
    for clock in (RunClock(None, 0.0, clock=time),):
        assert (clock.late(), clock.over(), clock.left(), clock.to_measure()) == (
            *(False, False),
            *(None, None),
        )


@pytest.mark.parametrize("overlap", [False, True])
def test_builds_end_when_the_time_is_up(overlap: bool) -> None:
    """Builds of a round of 32 take 160 s; at the limit of 60 s none of them is waited for."""
    records, finished, time, builders = explored(60.0, build=5.0, run=1.0, overlap=overlap)
    assert records
    assert not finished
    assert builders.closed
    assert time() <= 60.0 * (1 - LAST_SHARE) + 6.0


@pytest.mark.parametrize("overlap", [False, True])
def test_a_measurement_that_the_end_of_the_time_cut_off_is_no_outcome(overlap: bool) -> None:
    records, finished, time, _ = explored(60.0, build=0.5, run=1.0, slow=[8], overlap=overlap)
    assert len(records) == 8
    assert not any(isinstance(record.outcome, Failed) for record in records)
    assert not finished
    assert time() <= 60.0


def test_a_limit_that_is_too_short_gives_one_outcome_nevertheless() -> None:
    records, finished, _, _ = explored(0.001, build=5.0, run=30.0)
    assert len(records) == 1
    assert isinstance(records[0].outcome, Measured)
    assert not finished


def test_rounds_are_sized_for_what_the_time_allows() -> None:
    assert expected(Options(), 8.0) == 1000
    assert expected(Options(time_limit=60.0), 1.0) == 60
    assert expected(Options(time_limit=60.0), 8.0) == 480
    assert expected(Options(time_limit=0.001), 1.0) == 1
    assert expected(Options(variants=20, time_limit=60.0), 1.0) == 20


def test_no_pass_over_the_front_begins_when_the_time_is_up_but_the_first_two(
    device: Device, tmp_path: Path
) -> None:
    state = meter(device, PROGRAM, 0, stored_reference(PROGRAM, 0, tmp_path), 1e-4)
    plan = generate(bound(lowering(PROGRAM, "naive").program, {})).plan
    for limit, passes in ((0.0, FEWEST), (None, 5)):
        found = measure(state, Again((plan,), limit_s=limit))
        assert isinstance(found, Passes)
        assert len(found.readings[0]) == passes


def test_the_time_of_a_run_counts_from_the_start_of_its_command(
    device: Device, tmp_path: Path
) -> None:
    """A run whose command began an hour ago has no time left but for one outcome."""
    options = Options(variants=40, families=("registers",), time_limit=600.0)
    target = Target(profile_of(device), device)
    source, begun = Source(TEXT, "tiny"), monotonic() - 3600
    run, finished = start(source, options, target, tmp_path / "run", False, begun=begun)
    assert not finished
    assert {r.round for r in run.records} == {0, 1}
    assert len({r.variant.id for r in run.records}) < 40
    assert min(r.elapsed_s for r in run.records) >= 3600
