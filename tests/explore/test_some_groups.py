"""Tests of plans that are tried on some of their groups first."""

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from typing import Any

import pytest

from codegen.plan import Kernel, Plan
from codegen.runtime.devices import Device
from codegen.runtime.timings import KernelTime, Timing
from constraints.devices import CPU
from explore.building.build_tasks import Task
from explore.building.build_variant import Builder, make
from explore.measure import measure_variant
from explore.measure.measure_tasks import Measure
from explore.measure.measure_variant import measure, meter
from explore.measure.reference_file import stored_reference
from explore.measure.some_groups import SHARE, first_groups, some_groups
from explore.results.front import Limits, front, usable
from explore.results.read_record import from_line
from explore.results.record_json import to_line
from explore.results.records import Failed, Measured, Record, Variant
from explore.run.bench import Bench, Waiting
from explore.run.target import profile_of
from explore.space.derive_form import Derived, derive
from explore.space.forms_to_derive import Derive
from ir.meaning.inputs import Data
from ir.parse import parse
from rewrites.families.all_families import form_named
from tests.support.sample_runs import variant

PROGRAM = "scaled(xs : [float]N) = map(x -> x * 2.0 + 1.0, xs) where N = 65536"


def launch(groups: tuple[int, int, int], items: tuple[int, int, int] = (1, 1, 1)) -> Kernel:
    x, y, z = (g * n for g, n in zip(groups, items, strict=True))
    return Kernel("k", (x, y, z), items, (), prepack=False, text="")


@pytest.mark.parametrize(
    ("groups", "cut"),
    [
        ((2896, 1, 1), (181, 1, 1)),
        ((8, 512, 512), (8, 512, 32)),
        ((64, 4, 2), (32, 1, 1)),
        ((3, 5, 2), (3, 3, 1)),
        ((2, 2, 1), (2, 2, 1)),
    ],
)
def test_the_first_groups_are_one_in_sixteen_and_enough_to_fill_a_device(
    groups: tuple[int, int, int], cut: tuple[int, int, int]
) -> None:
    items = (4, 2, 1)
    assert first_groups(launch(groups, items), 8) == launch(cut, items)
    assert prod(cut) >= min(8, prod(groups)), SHARE


class Steady:
    """A built plan of which each kernel takes as many nanoseconds as it has groups."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def time(
        self,
        inputs: Mapping[str, Data],
        runs: int,
        warmup: int,
        turns: Sequence[Mapping[str, Any]],
    ) -> Timing:
        each = [k for k in self._plan.kernels if not k.prepack]
        kernels = tuple(KernelTime(k.name, prod(k.global_size)) for k in each)
        ns = float(sum(k.ns for k in kernels))
        return Timing(ns, ns, ns, runs, kernels, 0.0, gave_up=False)


def test_each_kernel_counts_as_often_as_it_has_groups_and_packing_is_left_whole(
    device: Device,
) -> None:
    device = replace(device, kind="cpu", compute_units=2)
    packing = replace(launch((999, 1, 1)), prepack=True)
    whole = Plan((packing, launch((1600, 1, 1)), launch((10, 20, 30))), (), 0, 0)
    part = some_groups(whole, device)
    assert part.few
    assert part.plan.kernels[0] == packing
    assert part.foretold(Steady(part.plan), {}, ()).median_ns == 1600 + 6000
    assert not some_groups(Plan((launch((9, 1, 1)),), (), 0, 0), device).few


def made_on(device: Device) -> Plan:
    """The plan of a plain variant of the program."""
    program = parse(PROGRAM)
    task = Derive(program, form_named(program, "naive", ""), profile_of(device), 1, 0)
    derived = derive(task)
    assert isinstance(derived, Derived)
    made = make(Builder(device, CPU), Task(0, pickle.dumps(derived.lowered.program), ()))
    assert made.plan is not None
    return made.plan


def test_a_plan_that_takes_long_is_timed_by_some_groups_and_no_other_is(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if device.simulator:
        pytest.skip("a simulator has no times of kernels")
    program, plan = parse(PROGRAM), made_on(device)
    wrong = replace(
        plan, kernels=tuple(replace(k, text=k.text.replace("2.0f", "3.0f")) for k in plan.kernels)
    )
    if not some_groups(plan, device).few:
        pytest.skip(f"{device.name} needs more groups than this program has")
    state = meter(device, program, 0, stored_reference(program, 0, tmp_path), 1e-4)
    quick = measure(state, Measure(0, wrong, in_part=True))
    assert isinstance(quick, Failed)  # checking it takes no time
    monkeypatch.setattr(measure_variant, "LONG", 0.0)
    timed = measure(state, Measure(0, wrong, in_part=True))
    assert isinstance(timed, Measured)
    assert (timed.error, timed.stopped_early, timed.clock) == (None, True, "device")
    assert len(timed.kernels_ns) == 1
    assert isinstance(measure(state, Measure(0, wrong)), Failed)
    right = measure(state, Measure(0, plan))
    assert isinstance(right, Measured)
    assert right.error is not None


def test_what_was_not_checked_is_never_picked_also_where_errors_count() -> None:
    unchecked = Measured(9.0, 0.0, None, stopped_early=True, clock="device")
    record = Record(variant(tile=1), unchecked)
    assert usable([record], early=True) == []
    assert usable([record], Limits(max_error=1.0)) == []
    assert front([record], ("time", "memory", "error")) == []
    assert from_line(to_line(record)).outcome == unchecked


@dataclass
class Oneself:
    """A simulated device that takes a task whenever the test has set `free` to 1."""

    tasks: list[Measure] = field(default_factory=list)
    free: int = 1

    def submit(self, task: Measure, _: float) -> None:
        self.tasks.append(task)
        self.free = 0


def by_some(ms: float) -> Measured:
    return Measured(1e6 * ms, 0.0, None, stopped_early=True, clock="device")


def waiting(count: int, ceiling: list[float]) -> tuple[Oneself, Bench]:
    """A bench with so many variants; `ceiling` holds the ceiling of all, if there is one."""
    device = Oneself()
    bench = Bench(device, lambda _: ceiling[0] if ceiling else None)  # type: ignore[arg-type]
    for n in range(count):
        plan = Plan((), (), n, 0)
        bench.put(Waiting(n, Variant(f"v{n}", "naive", (("k", n),), plan=plan), 0.0))
    return device, bench


def test_all_are_tried_on_some_groups_then_the_quickest_is_measured_whole() -> None:
    ceiling: list[float] = []
    device, bench = waiting(4, ceiling)
    for n, ms in enumerate((30.0, 10.0, 15.5, 13.0)):
        assert [(t.number, t.in_part) for t in device.tasks] == [(k, True) for k in range(n + 1)]
        assert bench.foretold(n, by_some(ms))
        assert bench.hopeless() == []
        device.free = 1
        bench.feed()
    assert [(t.number, t.in_part) for t in device.tasks[4:]] == [(1, False)]
    ceiling.append(20e6)  # twice what it took
    assert not bench.foretold(1, Measured(10e6, 0.0, 1e-7))
    assert [n for n, _ in bench.hopeless()] == [0, 2]
    device.free = 1
    bench.feed()
    assert [(t.number, t.in_part) for t in device.tasks[5:]] == [(3, False)]
    assert not bench.tried


def test_what_is_not_measured_whole_when_the_time_is_up_is_left() -> None:
    device, bench = waiting(3, [])
    assert bench.foretold(0, by_some(10.0))
    device.free = 1
    bench.feed()
    assert bench.clear_queue()
    assert [*bench.running] == [1]
    assert bench.foretold(1, by_some(5.0))  # it was under way
    assert not bench.running
    assert not bench.clear_queue()
    assert len(device.tasks) == 2


def slowed(ms: float, slowdown: float) -> Measured:
    """A time that the clock read as `slowdown` times as much."""
    return Measured(1e6 * ms, 0.0, 1e-7, slowdown=slowdown)


def test_what_leads_by_a_slow_machines_time_is_measured_again_when_nothing_else_waits() -> None:
    ceiling = [20e6]  # the best takes half of it
    device, bench = waiting(3, ceiling)
    assert bench.doubts(0, slowed(9.0, 1.9))
    assert not bench.doubts(1, slowed(11.0, 1.9))  # it does not lead
    assert not bench.doubts(2, slowed(9.0, 1.1))  # the machine was not slow
    for number in (1, 2):
        device.free = 1
        bench.feed()
        assert device.tasks[-1].number == number
        bench.take(number)
    device.free = 1
    bench.feed()
    assert [(t.number, t.in_part) for t in device.tasks[3:]] == [(0, False)]
    second = slowed(12.0, 1.3)
    assert not bench.doubts(0, second)  # once is enough
    assert bench.settled(0, second) == second
    third = slowed(9.0, 1.9)
    assert bench.settled(0, third) == third  # it is not doubted any more


def test_of_two_outcomes_that_of_the_quicker_machine_counts() -> None:
    first = slowed(9.0, 1.5)
    for second, counts in (
        (slowed(14.0, 2.5), first),
        (slowed(14.0, 1.0), slowed(14.0, 1.0)),
        (Failed("run", "the driver crashed"), Failed("run", "the driver crashed")),
    ):
        _, bench = waiting(1, [20e6])
        assert bench.doubts(0, first)
        assert bench.settled(0, second) == counts


def test_what_is_doubted_when_the_time_is_up_keeps_its_first_outcome() -> None:
    first = slowed(9.0, 1.9)
    _, bench = waiting(1, [20e6])
    assert bench.doubts(0, first)
    assert bench.given_up() == [(0, first)]
    assert bench.given_up() == []
    device, bench = waiting(1, [20e6])
    assert bench.doubts(0, first)
    bench.left = lambda: 0.0
    device.free = 1
    bench.feed()
    cut = Failed("run", "it took too long", timed_out=True)
    assert not bench.unfinished(0, cut)
    wrong = Failed("verify", "2 of 8 cells differ")
    for second, counts in ((cut, first), (wrong, wrong)):
        bench.doubted[0] = first
        assert bench.settled(0, second) == counts
