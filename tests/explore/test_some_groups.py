"""Tests of plans that are tried on some of their groups first."""

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import pytest

from codegen.plan import Kernel, Plan
from codegen.runtime.devices import Device
from codegen.runtime.results import KernelTime, Timing
from explore.building.build_variant import Task, builder, make
from explore.measure import measure_variant
from explore.measure.measure_variant import Measure, measure, meter
from explore.measure.reference_file import stored_reference
from explore.measure.some_groups import SHARE, first_groups, some_groups
from explore.results.front import Limits, front, usable
from explore.results.read_record import from_line
from explore.results.record_json import to_line
from explore.results.records import Failed, Measured, Record
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
    made = make(builder(device, 256), Task(0, pickle.dumps(derived.lowered.program), ()))
    assert made.plan is not None
    return made.plan


def test_what_some_groups_show_to_be_hopeless_is_not_checked_and_nothing_else_is_left_out(
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
    quick = measure(state, Measure(0, wrong, ceiling_ns=1.0))
    assert isinstance(quick, Failed)  # checking it takes no time
    monkeypatch.setattr(measure_variant, "LONG", 0.0)
    hopeless = measure(state, Measure(0, wrong, ceiling_ns=1.0))
    assert isinstance(hopeless, Measured)
    assert (hopeless.error, hopeless.stopped_early, hopeless.clock) == (None, True, "device")
    assert len(hopeless.kernels_ns) == 1
    for ceiling in (None, 1e12):
        assert isinstance(measure(state, Measure(0, wrong, ceiling_ns=ceiling)), Failed)
        assert isinstance(measure(state, Measure(0, plan, ceiling_ns=ceiling)), Measured)


def test_what_was_not_checked_is_never_picked_also_where_errors_count() -> None:
    unchecked = Measured(9.0, 0.0, None, stopped_early=True, clock="device")
    record = Record(variant(tile=1), unchecked)
    assert usable([record], early=True) == []
    assert usable([record], Limits(max_error=1.0)) == []
    assert front([record], ("time", "memory", "error")) == []
    assert from_line(to_line(record)).outcome == unchecked
