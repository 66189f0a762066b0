"""Tests of the machine's pace: on simulated machines whose speed changes, times come out at the
usual pace."""

import random
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from explore.measure.back_to_back import readings
from explore.measure.yardstick import MOST, Yardstick
from explore.report.pace_watch import PaceWatch
from explore.report.summary import pace_words
from explore.results.pace import (
    Level,
    Reading,
    Spell,
    at_usual_pace,
    highest_peak,
    leveled,
    slowdown,
    spells,
    told_of_spells,
    usual_ns,
)
from explore.results.records import Bounds, Failed, Measured, Peer, Record, kernels_of
from explore.run.run import Run
from explore.run_store.guarded_database import FILE
from explore.run_store.store import Store
from tests.support.sample_runs import ENVIRONMENT, variant

YARD = 3e6  # nanoseconds of the yardstick on a quiet machine


class Machine:
    """A simulated machine, whose clock goes on only as work is done: at the time of `seconds`, work
    takes slower(seconds) times as long as at full speed."""

    def __init__(self, slower: Callable[[float], float], seed: int = 0) -> None:
        self.now, self.slower, self.dice = 0.0, slower, random.Random(seed)
        self.batches: list[int] = []

    def work(self, ns: float) -> float:
        """The nanoseconds that work of `ns` nanoseconds at full speed takes now; the clock goes on
        by that time."""
        took = ns * self.slower(self.now / 1e9) * (1 + 0.01 * self.dice.random())
        self.now += took
        return took

    def yardstick(self) -> float:
        return self.work(YARD)

    def seconds(self) -> float:
        return self.now / 1e9


class Inferences:
    """Simulated inferences that take `ns` nanoseconds each on a machine at full speed."""

    def __init__(self, machine: Machine, ns: float) -> None:
        self.machine, self.ns = machine, ns

    def batch(self, count: int) -> float:
        self.machine.batches.append(count)
        return self.machine.work(count * self.ns) / count

    def warm(self) -> None:
        self.machine.work(self.ns)

    def enough(self, inference_ns: float) -> int:
        return max(2, int(8e6 / inference_ns))


def taken(machine: Machine, ns: float) -> list[Reading]:
    return readings(Inferences(machine, ns), machine.yardstick, ns, clock=machine.seconds)


def measured(machine: Machine, ns: float) -> Measured:
    level = Level.of(taken(machine, ns))
    return Measured(
        level.median_ns, level.spread, 1e-7, runs_ns=level.times_ns, yardstick_ns=level.yardstick_ns
    )


def minutes(machine: Machine, works: Sequence[float], idle_s: float = 3.0) -> list[Record]:
    """The records of variants that take `works` nanoseconds, measured one after the other with
    `idle_s` seconds between them."""
    found = []
    for n, ns in enumerate(works):
        outcome = measured(machine, ns)
        made = replace(variant(tile=1, chunk=n), plan=variant(tile=1).plan)
        found.append(Record(made, outcome, machine.seconds(), machine.seconds()))
        machine.now += idle_s * 1e9
    return found


def slow_between(begin: float, end: float, factor: float) -> Callable[[float], float]:
    return lambda at: factor if begin <= at < end else 1.0


def test_a_reading_is_a_batch_with_the_yardsticks_around_it() -> None:
    machine = Machine(lambda at: 1.0)
    found = taken(machine, 1e5)
    assert len(found) == 5
    assert set(machine.batches) == {80}
    assert all(r.ns == pytest.approx(1e5, rel=0.02) for r in found)
    assert all(r.yardstick_ns == pytest.approx(YARD, rel=0.02) for r in found)


def test_no_batch_begins_after_the_limit_but_the_first() -> None:
    machine = Machine(lambda at: 1.0)
    assert len(readings(Inferences(machine, 2e9), machine.yardstick, 2e9, limit_s=0.5)) == 5
    late = readings(
        Inferences(machine, 2e9), machine.yardstick, 2e9, limit_s=0.5, clock=machine.seconds
    )
    assert len(late) == 1


def test_batches_of_two_paces_come_out_at_one() -> None:
    machine = Machine(slow_between(0.04, 10.0, 2.0))
    level = Level.of(taken(machine, 1e5))
    assert level.spread < 0.1
    assert level.median_ns / level.yardstick_ns == pytest.approx(1e5 / YARD, rel=0.06)


def test_a_slow_spell_is_told_and_taken_out_of_what_is_compared() -> None:
    works = [1e5 * (1 + 0.02 * (n % 7)) for n in range(60)]
    machine = Machine(slow_between(60, 150, 1.9))
    raw = minutes(machine, works)
    assert max(r.time_ns or 0 for r in raw) > 1.8e5
    level = at_usual_pace(raw)
    for record, ns in zip(level, works, strict=True):
        assert record.time_ns == pytest.approx(ns, rel=0.06)
    (spell,) = spells(level)
    assert spell.factor == pytest.approx(1.9, rel=0.03)
    assert 80 < spell.seconds <= 95
    assert spell.words.startswith("the machine slowed by 1.9 for ")
    assert spell.words.endswith(" into the run")
    assert told_of_spells([spell]) == [spell.words]
    (line,) = told_of_spells([spell, Spell(200.0, 60.0, 1.3)])
    assert line.startswith("the machine slowed 2 times, by 1.3 to 1.9, for 2 minutes in all")


def test_a_quiet_machine_has_no_spell_and_its_times_are_as_the_clock_read_them() -> None:
    raw = minutes(Machine(lambda at: 1.0), [1e5] * 40)
    assert at_usual_pace(raw) == raw
    assert spells(raw) == []


def test_one_slow_reading_is_no_spell() -> None:
    raw = minutes(Machine(slow_between(60, 62, 3.0)), [1e5] * 40)
    assert spells(at_usual_pace(raw)) == []


def test_a_run_that_begins_in_a_slow_minute_ends_at_the_pace_of_a_quiet_one() -> None:
    level = at_usual_pace(minutes(Machine(slow_between(0, 60, 1.7)), [1e5] * 60))
    assert all(r.time_ns == pytest.approx(1e5, rel=0.05) for r in level)


def test_the_usual_pace_is_one_of_a_machine_left_alone() -> None:
    assert usual_ns([]) is None
    assert usual_ns([3.0, 3.1, 3.2, 9.0, 9.0, 9.0, 9.0]) == 3.1
    assert slowdown(3.1, 3.0) == 1.0
    assert slowdown(6.0, 3.0) == 2.0
    assert slowdown(None, 3.0) == slowdown(3.0, None) == 1.0


def test_what_is_leveled_twice_is_leveled_once() -> None:
    outcome = Measured(200.0, 0.0, 0.0, runs_ns=(200.0,), kernels_ns=(150.0,), yardstick_ns=6.0)
    once = leveled(outcome, 3.0)
    assert (once.time_ns, once.runs_ns, once.kernels_ns) == (100.0, (100.0,), (75.0,))
    assert leveled(leveled(outcome, 4.5), 3.0) == once == leveled(once, 3.0)
    assert leveled(once, 6.0) == outcome


def test_a_search_is_told_end_to_end_times_shared_as_device_times_are() -> None:
    outcome = Measured(90.0, 0.0, 0.0, kernels_ns=(10.0, 20.0))
    assert kernels_of(outcome) == (30.0, 60.0)
    assert kernels_of(Measured(90.0, 0.0, 0.0)) == ()


def test_a_store_gives_times_at_the_usual_pace_and_settles_them_for_sql(tmp_path: Path) -> None:
    raw = minutes(Machine(slow_between(0, 12, 2.0)), [1e5] * 12)
    with Store.create(tmp_path, ENVIRONMENT) as store:
        store.append(raw)
        store.add_peers([Peer("torch", 2e5, yardstick_ns=2 * YARD)])
        level = store.records()
        assert level == at_usual_pace(raw)
        assert store.peers()[0].time_ns == pytest.approx(1e5, rel=0.02)
        store.settle()
        settled = [r.time_ns for r in store.records()]
        assert settled == pytest.approx([r.time_ns for r in level])
    with sqlite3.connect(tmp_path / FILE) as connection:
        found = [ns for (ns,) in connection.execute("SELECT time_ns FROM outcome ORDER BY seq")]
    assert found == [r.time_ns for r in level]
    assert all(abs(a / b - 1) < 0.1 for a, b in pairwise(found))


def test_a_machine_that_becomes_slow_is_told_once_and_again_when_it_is_twice_as_slow() -> None:
    watch = PaceWatch()
    calm = Measured(1.0, 0.0, 0.0, yardstick_ns=YARD)
    slow = replace(calm, slowdown=1.9)
    failed = Failed("build", "no")
    said = [watch.saw(o) for o in (calm, slow, slow, failed, slow, slow, calm, slow, slow, slow)]
    assert [words is not None for words in said] == [False] * 4 + [True] + [False] * 5
    slower = replace(calm, slowdown=3.9)
    said += [watch.saw(slower), watch.saw(slower)]
    assert [words is not None for words in said[-2:]] == [True, False]
    assert said[4] is not None
    assert said[4].startswith("the machine is 1.9 times slower than when the run began")


@pytest.mark.parametrize(("launch_ns", "count"), [(3e6, 3), (0.3e6, 7), (100.0, MOST)])
def test_a_reading_of_the_yardstick_is_long_enough_to_be_read(launch_ns: float, count: int) -> None:
    counts = []

    def middle_ns(count: int) -> float:
        counts.append(count)
        return launch_ns

    assert Yardstick(middle_ns, parts=1).reading() == launch_ns
    assert counts[-1] == count


def test_a_reading_of_a_part_tells_of_the_whole_work() -> None:
    """A yardstick that launches only a quarter of its work at a time, in 3 ms, reads 12 ms."""
    assert Yardstick(lambda count: 3e6, parts=4).reading() == 12e6


def test_the_peak_is_that_of_the_quickest_yardstick_if_limits_were_measured_in_a_slow_minute(
    tmp_path: Path,
) -> None:
    machine = Machine(slow_between(0, 60, 2.0))
    slow = Bounds(flops=1000, peak_flops=50e9, yardstick_ns=2 * YARD, yardstick_operations=3e8)
    with Store.create(tmp_path / "run", replace(ENVIRONMENT, bounds=slow)) as store:
        assert store.environment_told.bounds == slow  # nothing was measured yet
        store.append(minutes(machine, [2e5] * 60))
        peak = store.environment_told.bounds.peak_flops
        assert peak == pytest.approx(3e8 / YARD * 1e9, rel=0.02)
        assert store.environment.bounds == slow  # what is stored stays
    assert Run(tmp_path / "run").environment.bounds.peak_flops == peak


def test_a_peak_that_was_measured_on_a_quiet_machine_stays() -> None:
    quiet = Bounds(peak_flops=110e9, yardstick_operations=3e8)
    records = minutes(Machine(slow_between(0, 3600, 2.0)), [2e5] * 5)
    assert highest_peak(quiet, records) == quiet


def test_a_time_of_a_machine_that_is_busy_with_others_is_not_divided_by_more_than_four() -> None:
    usual = minutes(Machine(lambda seconds: 1.0), [2e5] * 20)
    busy = Measured(9e5, 0.0, 0.0, runs_ns=(9e5,), yardstick_ns=100 * YARD)
    lucky = Record(variant(k=99), busy, 1e4)
    (*_, told) = at_usual_pace([*usual, lucky])
    assert isinstance(told.outcome, Measured)
    assert told.time_ns == pytest.approx(9e5 / 4)
    assert pace_words(told.outcome) == "4 or more times slower than usual: the clock read 900 µs"


def test_spells_that_are_all_as_slow_are_told_by_one_factor() -> None:
    busy = Spell(0.0, 60.0, 4.0)
    assert told_of_spells([busy, busy])[0].startswith("the machine slowed 2 times, by 4 or more, ")
    slow = replace(busy, factor=1.3)
    assert "by 1.3 to 4 or more" in told_of_spells([slow, busy])[0]
    assert "by 1.3, for" in told_of_spells([slow, slow])[0]
    two = [replace(busy, factor=2.0), replace(busy, factor=2.3)]
    assert "by 2 to 2.3, for" in told_of_spells(two)[0]
