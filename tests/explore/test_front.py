"""Tests of the Pareto front against brute force, of picking a variant from it, and of measuring it
again."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegen.plan import Kernel, Plan
from explore.measure.front_again import contenders, measure_again, vanished
from explore.measure.measure_tasks import Again, Passes
from explore.report.table import front_lines
from explore.results.front import Limits, best_first, by_id, front, objectives, pareto, pick, usable
from explore.results.kernel_code import KernelCode
from explore.results.pace import Reading
from explore.results.read_record import from_line
from explore.results.record_json import to_json, to_line
from explore.results.records import Failed, Measured, Predicted, Record, Variant
from explore.run_store.store import Store
from explore.workers.done import Done
from ir.errors import UserError
from tests.support.sample_runs import ENVIRONMENT, sample_run, variant

small = st.integers(0, 6).map(float)


def point(tile: int, time: float, memory: int, error: float = 1e-7) -> Record:
    made = variant(tile=tile)
    assert made.plan is not None
    made = replace(made, plan=replace(made.plan, memory_bytes=memory))
    return Record(made, Measured(time, 0.01, error))


def dominates(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return all(x <= y for x, y in zip(a, b, strict=True)) and a != b


@given(st.lists(st.tuples(small, small)))
def test_the_front_of_a_plane_is_what_brute_force_finds(points: list[tuple[float, ...]]) -> None:
    kept = pareto(points, lambda p: p)
    assert sorted(kept) == sorted(p for p in points if not any(dominates(q, p) for q in points))


@given(st.lists(st.tuples(small, small, small, small), max_size=30))
def test_the_front_of_four_objectives_is_what_brute_force_finds(
    points: list[tuple[float, ...]],
) -> None:
    kept = pareto(points, lambda p: p)
    assert sorted(kept) == sorted(p for p in points if not any(dominates(q, p) for q in points))


def test_what_is_not_a_number_is_not_on_the_front() -> None:
    assert pareto([(math.nan, 1.0), (2.0, 2.0)], lambda p: p) == [(2.0, 2.0)]


def test_nothing_measured_dominates_the_front_and_all_else_is_dominated() -> None:
    records = usable(sample_run())
    kept = {r.variant.id for r in front(records)}
    costs = {r.variant.id: (r.time_ns or 0.0, float(r.memory_bytes or 0)) for r in records}
    for id, cost in costs.items():
        assert any(dominates(other, cost) for other in costs.values()) == (id not in kept)


def test_more_objectives_keep_more_points() -> None:
    records = [point(1, 1.0, 10, 1e-3), point(2, 2.0, 20, 1e-6)]
    assert len(front(records)) == 1
    assert len(front(records, ("time", "memory", "error"))) == 2


def test_failures_and_hopeless_variants_are_never_on_the_front() -> None:
    failed = Record(variant(tile=1), Failed("run", "crash"))
    hopeless = Record(variant(tile=2), Measured(0.5, 0.0, 0.0, stopped_early=True))
    good = point(4, 1.0, 10)
    assert front([failed, hopeless, good]) == [good]


def test_what_was_given_up_as_slow_counts_where_errors_do() -> None:
    good = point(4, 1.0, 10, 1e-6)
    slow = point(2, 9.0, 10, 1e-8)
    assert isinstance(slow.outcome, Measured)
    slow = replace(slow, outcome=replace(slow.outcome, stopped_early=True))
    assert front([slow, good]) == [good]
    assert front([slow, good], ("time", "memory", "error")) == [good, slow]
    assert pick([slow, good], limits=Limits(max_error=1e-7)) is slow


def test_a_point_measured_again_and_slower_leaves_the_front() -> None:
    lucky, steady = point(1, 1.0, 10), point(2, 2.0, 10)
    again = replace(lucky, outcome=Measured(3.0, 0.0, 1e-7), round=1)
    assert front([lucky, steady]) == [lucky]
    assert front([lucky, steady, again]) == [steady]


def test_picking_obeys_the_limits() -> None:
    records = [point(1, 1.0, 300), point(2, 2.0, 200), point(4, 3.0, 100, 1e-2)]
    assert pick(records) is records[0]
    assert pick(records, "smallest") is records[2]
    assert pick(records, limits=Limits(max_memory=250)) is records[1]
    assert pick(records, "smallest", Limits(max_error=1e-4)) is records[1]
    assert pick(records, "smallest", Limits(max_time_ns=1.5)) is records[0]


def test_when_nothing_fits_it_says_what_the_least_is() -> None:
    with pytest.raises(UserError, match="the smallest needs 100 B, the fastest takes 1 ns"):
        pick([point(1, 1.0, 100)], limits=Limits(max_memory=50))
    with pytest.raises(UserError, match="there is nothing to pick"):
        pick([Record(variant(), Failed("build", "no"))])


def test_a_name_is_found_whole_or_by_its_unambiguous_beginning() -> None:
    records = [point(1, 1.0, 1), Record(variant("lift"), Failed("build", "no"))]
    assert by_id(records, records[1].variant.id) is records[1]
    assert by_id(records, "lift") is records[1]
    for record in records:
        number = record.variant.id.rpartition("-")[2]
        assert by_id(records, number) is by_id(records, number[:7]) is record
    with pytest.raises(UserError, match=f"did you mean `{records[0].variant.id}`"):
        by_id(records, records[0].variant.id[:-1] + "zz")
    with pytest.raises(UserError, match="2 variants begin with 'blocked'"):
        by_id([point(1, 1.0, 1), point(2, 1.0, 1)], "blocked")


def test_the_front_over_error_holds_the_plane_front_and_what_is_more_exact() -> None:
    records = sample_run(200)
    over = objectives(["time", "memory", "error"])
    plane, wide = front(records), front(records, over)
    assert {r.variant.id for r in plane} <= {r.variant.id for r in wide}
    assert min(r.error or 0 for r in wide) == min(r.error or 0 for r in usable(records, early=True))
    exact = sorted(r.error or 0 for r in usable(records, early=True))[len(wide) // 2]
    assert all((r.error or 0) <= exact for r in front(records, over, Limits(max_error=exact)))


def test_an_objective_that_is_not_known_is_refused_with_those_that_are() -> None:
    with pytest.raises(
        UserError, match="no objective `speed`; expected one of time, memory, error, w"
    ):
        objectives(["time", "speed"])


def test_what_luck_may_have_kept_off_the_front_is_measured_again_with_it() -> None:
    fast, near, slow = point(1, 100.0, 8), point(2, 104.0, 8), point(4, 120.0, 8)
    lean = point(8, 130.0, 4)
    assert contenders([slow, near, lean, fast]) == [fast, lean, near]
    again = [replace(record, round=1) for record in (fast, near, lean)]
    assert contenders([slow, near, lean, fast, *again]) == [again[0], again[2]]
    slower = [replace(r, outcome=Measured(1.3 * (r.time_ns or 0), 0.0, 1e-7)) for r in again]
    assert contenders([slow, near, lean, fast, *slower]) == [slower[0], slower[2], slow]


def test_what_was_given_up_beside_a_time_that_was_luck_is_measured_again() -> None:
    lucky, given_up, slow = point(1, 50.0, 8), point(2, 90.0, 8), point(4, 200.0, 8)
    given_up, slow = (
        replace(r, outcome=Measured(r.time_ns or 0, 0.0, 1e-7, stopped_early=True))
        for r in (given_up, slow)
    )
    assert contenders([lucky, given_up, slow]) == [lucky]
    again = replace(lucky, outcome=Measured(100.0, 0.0, 1e-7), round=1)
    assert contenders([lucky, given_up, slow, again]) == [again, given_up]


def plans_of(records: Sequence[Record]) -> list[Plan]:
    return [r.variant.plan for r in records if r.variant.plan is not None]


class Device:
    """A simulated device: passes(plan, turn) are the times of a plan in a turn, and `pace` is the
    time that its yardstick takes."""

    def __init__(self, passes: Callable[[Plan, int], list[float]], pace: float = 3e6) -> None:
        self.passes, self.turns, self.pace = passes, 0, pace

    def submit(self, task: Again, timeout: float) -> None:
        self.task = task
        self.turns += 1

    def results(self) -> list[Done[Again, Passes]]:
        taken = (self.passes(plan, self.turns) for plan in self.task.plans)
        readings = tuple(tuple(Reading(ns, self.pace) for ns in times) for times in taken)
        kernels = tuple((times[0].ns / 2,) for times in readings)
        return [Done(self.task, Passes(readings, kernels, self.pace), 0.0)]


def again(
    folder: Path, records: list[Record], device: Any, late: bool = False
) -> tuple[list[Record], list[str]]:
    """A pair: the front of `records`, after variants were measured again on `device`, and the
    messages that were printed meanwhile. The records are stored in `folder`; `late` says that the
    run's time limit is over."""
    said: list[str] = []
    with Store.create(folder, ENVIRONMENT) as store:
        store.append(records)
        measure_again(
            store, device, plans_of, lambda: 0.0, said.append, lambda: -1.0 if late else None
        )
        return front(store.records()), said


NOISE, CALM = [60.0, 70.0, 100.0, 130.0, 140.0], [100.0] * 5


def test_a_noisy_time_is_measured_again_until_it_is_calm(tmp_path: Path) -> None:
    device = Device(lambda plan, turn: NOISE if turn < 3 else CALM)
    (best,), said = again(tmp_path / "run", [point(1, 100.0, 8)], device)
    assert isinstance(best.outcome, Measured)
    assert not best.outcome.noisy
    assert device.turns == 3
    assert not any("noisy" in line for line in said)


@pytest.mark.parametrize(("late", "turns"), [(False, 4), (True, 1)])
def test_a_time_that_stays_noisy_is_said_to_be(tmp_path: Path, late: bool, turns: int) -> None:
    device = Device(lambda plan, turn: NOISE)
    (best,), said = again(tmp_path / "run", [point(1, 100.0, 8)], device, late)
    assert to_json(best)["noisy"]
    assert "noisy" in front_lines([best])[1]
    assert any(line.startswith("noisy, with a spread over 15%") for line in said)
    assert device.turns == turns


class Counting(Device):
    """A simulated device that notes how many plans each task has."""

    asked: tuple[int, ...] = ()

    def submit(self, task: Again, timeout: float) -> None:
        self.asked += (len(task.plans),)
        super().submit(task, timeout)


def test_no_more_variants_are_measured_again_than_there_is_time_for(tmp_path: Path) -> None:
    """The best is measured beside eight of thirty that may be better, a second each. Then five
    seconds are left, and it is measured beside four others."""
    records = [point(n, 100.0 + 0.1 * n, 8) for n in range(31)]
    times = {r.variant.plan: r.time_ns or 0.0 for r in records}
    device: Any = Counting(lambda plan, turn: [times[plan]] * 5)
    with Store.create(tmp_path / "run", ENVIRONMENT) as store:
        store.append(records)
        taken, left = lambda: float(sum(device.asked)), lambda: 14.0 - sum(device.asked)
        measure_again(store, device, plans_of, taken, print, left)
    assert device.asked == (9, 5)


def test_a_best_that_vanishes_is_explained(tmp_path: Path) -> None:
    lucky, steady = point(1, 41_700.0, 8), point(2, 43_000.0, 8)
    times = {lucky.variant.plan: 44_000.0, steady.variant.plan: 43_000.0}
    (best,), said = again(
        tmp_path / "run", [lucky, steady], Device(lambda plan, _: [times[plan]] * 5)
    )
    assert best.variant.id == steady.variant.id
    assert said[-1] == (
        f"{lucky.variant.id} was 41.7 µs once, 44.0 µs when measured again: "
        f"{steady.variant.id} is the best at 43.0 µs"
    )


def test_a_best_that_a_slow_minute_flattered_is_told_with_what_the_clock_read() -> None:
    flattered, steady = point(1, 7_900.0, 8), point(2, 9_000.0, 8)
    then = replace(flattered, outcome=Measured(7_900.0, 0.01, 1e-7, slowdown=2.5))
    now = replace(flattered, outcome=Measured(21_500.0, 0.01, 1e-7), round=1)
    said = vanished([then], [steady, then, now])
    assert said is not None
    assert said.startswith(
        f"{flattered.variant.id} was 7.90 µs once (the clock read 19.8 µs, on a machine 2.5 times "
        "slower than usual), 21.5 µs when measured again: "
    )


@pytest.mark.parametrize("drift", [0.8, 1.0, 1.1, 1.3, 2.0])
def test_the_front_is_right_however_slow_the_machine_is_when_it_is_measured_again(
    tmp_path: Path, drift: float
) -> None:
    records = [point(n, 100.0 * 1.06**n, 8) for n in range(20)]
    times = {r.variant.plan: r.time_ns or 0.0 for r in records}
    slow = Device(lambda plan, _: [drift * times[plan]] * 5)  # no yardstick was read before
    (best,), _ = again(tmp_path / "run", records, slow)
    assert best.variant.id == records[0].variant.id
    assert best.round > 0


def test_a_time_of_the_front_from_a_slow_minute_is_measured_again_until_it_is_over(
    tmp_path: Path,
) -> None:
    quiet = [at_pace(n, 100.0 + n, 3e6) for n in range(1, 4)]

    class Slow(Device):
        def submit(self, task: Again, timeout: float) -> None:
            super().submit(task, timeout)
            self.pace = 6e6 if self.turns < 3 else 3e6

    times = {r.variant.plan: r.time_ns or 0.0 for r in quiet}
    slow = Slow(lambda plan, _: [times[plan] * slow.pace / 3e6] * 5)
    (best,), said = again(tmp_path / "run", quiet, slow)
    assert isinstance(best.outcome, Measured)
    assert best.time_ns == pytest.approx(101.0)
    assert best.outcome.slowdown == 1.0
    assert slow.turns == 3
    assert not any("slow" in line for line in said)


def test_a_machine_that_stays_slow_is_said_to_make_estimates(tmp_path: Path) -> None:
    (best,), said = again(tmp_path / "run", *stays_slow())
    assert best.time_ns == pytest.approx(100.0)
    assert said[-1].startswith("the machine was slow whenever ")
    assert said[-1].endswith(f"{best.variant.id} was measured: its time is an estimate")


def stays_slow() -> tuple[list[Record], Device]:
    """Two records, of a variant on the front and of one that is not, measured when the yardstick
    took 3 ms; and a device on which the yardstick takes 6 ms."""
    records = [at_pace(1, 100.0, 3e6), at_pace(2, 900.0, 3e6)]
    return records, Device(lambda plan, _: [200.0] * 5, pace=6e6)


def at_pace(tile: int, time: float, yardstick: float) -> Record:
    """The record of a variant with the tile size `tile` and the time `time` in nanoseconds,
    measured when the yardstick took `yardstick` nanoseconds."""
    record = point(tile, time, 8)
    return replace(record, outcome=Measured(time, 0.01, 1e-7, yardstick_ns=yardstick))


def test_what_was_measured_in_the_worst_of_a_spell_is_measured_beside_the_front() -> None:
    best = at_pace(1, 100.0, 3e6)
    worst = Measured(115.0, 0.01, 1e-7, yardstick_ns=5.7e6, slowdown=1.9)
    calm, doubtful = (replace(point(n, 115.0, 8)) for n in (2, 3))
    doubtful = replace(doubtful, outcome=worst)
    assert contenders([best, calm]) == [best]
    assert contenders([best, doubtful]) == [best, doubtful]


def a_plan(memory: int) -> Plan:
    """A plan of one kernel that takes `memory` bytes in all."""
    return Plan((Kernel("k_", (1, 1, 1), (1, 1, 1), (), False, ""),), (), memory, 0)


def compiled(id: str, time_ns: float, memory: int, spills: int, private: int = 0) -> Record:
    """The record of a variant that takes `memory` bytes, whose time was predicted as `time_ns` from
    the code that a device's compiler made of it. The code spills `spills` registers and takes
    `private` bytes of private memory."""
    code = KernelCode(
        kernel="k_",
        compiler="a compiler",
        counts=(),
        done=(),
        bytes=int(time_ns),
        spills=spills,
        fills=2 * spills,
        private_bytes=private,
        local_bytes=0,
        threads=1.0,
        group_items=256,
    )
    return Record(
        Variant(f"naive-0000000{id}", "naive", (), plan=a_plan(memory)),
        Predicted(time_ns, (code,), time_ns / 2, 2 * time_ns),
        round=1,
    )


def guessed(id: str, time_ns: float, memory: int) -> Record:
    """The record of a variant that takes `memory` bytes, whose time a cost model predicted as
    `time_ns`, without a compiler."""
    plan = a_plan(memory)
    return Record(Variant(f"naive-0000000{id}", "naive", (), plan=plan), Predicted(time_ns))


def test_where_some_variants_were_compiled_they_alone_are_proposed() -> None:
    lean, quick = compiled("1", 9.0, 10, 0), compiled("2", 5.0, 20, 0)
    found = front([guessed("3", 1.0, 1), lean, quick])
    assert found == [quick, lean]
    assert front([guessed("3", 1.0, 1)]) == [guessed("3", 1.0, 1)]


def test_a_variant_that_spills_is_proposed_only_if_all_do_or_spills_are_asked_for() -> None:
    spilling, lean = compiled("1", 1.0, 10, 3), compiled("2", 5.0, 20, 0)
    assert front([spilling, lean]) == [lean]
    assert front([spilling]) == [spilling]
    assert front([spilling, lean], ("predicted", "memory", "spills")) == [spilling, lean]


def test_a_compiled_variants_json_is_read_as_it_was() -> None:
    record = compiled("1", 7.0, 10, 2, 16)
    again = from_line(to_line(record))
    assert again.outcome == record.outcome


def test_the_best_come_first_then_what_spills_and_then_what_was_only_ranked() -> None:
    lean, behind = compiled("1", 5.0, 20, 0), compiled("2", 9.0, 30, 0)
    spilling, ranked = compiled("3", 1.0, 10, 3), guessed("4", 0.5, 5)
    records = [ranked, spilling, behind, lean]
    assert best_first(records, 9) == [lean, behind, spilling, ranked]
    assert best_first(records, 2) == [lean, behind]
    same = replace(behind, variant=replace(behind.variant, id="naive-00000009", plan=a_plan(20)))
    assert best_first([lean, same], 9) == [lean]  # its kernels are the same
