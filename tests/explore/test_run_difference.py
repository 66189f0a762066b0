"""Tests of the comparison of two runs: which variants it calls slower, which ones it says fail now,
and when the command fails."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from explore.__main__ import main
from explore.report.run_difference import difference, told
from explore.results.front import front
from explore.results.records import Failed, Measured, Record
from explore.run_store.store import Store
from tests.support.sample_runs import ENVIRONMENT, sample_run

RECORDS = sample_run(60)
BEST = front(RECORDS)[0]
OTHER = "double(xs : [float]n) = map(x -> x + x, xs) where n = 6"


def slowed(record: Record, by: float, spread: float = 0.01) -> Record:
    outcome = record.outcome
    assert isinstance(outcome, Measured)
    return replace(record, outcome=replace(outcome, time_ns=outcome.time_ns * by, spread=spread))


def with_best(new: Record) -> list[Record]:
    return [new if r.variant.id == BEST.variant.id else r for r in RECORDS]


def stored(folder: Path, records: Sequence[Record], **other: str) -> str:
    with Store.create(folder, replace(ENVIRONMENT, **other)) as store:  # type: ignore[arg-type]
        store.append(records)
    return str(folder)


def test_a_run_is_as_fast_as_itself() -> None:
    found = difference(RECORDS, RECORDS)
    assert found.slower(0.0) == []
    assert found.broken == found.mended == found.joined == ()
    assert all(a == b for a, b in found.fronts)


def test_a_front_that_became_slower_is_told_unless_the_times_spread_as_much() -> None:
    others = [slowed(r, 1.5) if isinstance(r.outcome, Measured) else r for r in RECORDS]
    assert any("on the front before" in line for line in difference(RECORDS, others).slower(0.05))
    noisy = with_best(slowed(BEST, 1.2, spread=0.3))
    assert not any(BEST.variant.id in line for line in difference(RECORDS, noisy).slower(0.05))
    assert difference(RECORDS, with_best(slowed(BEST, 1.2))).slower(0.05)
    assert not difference(RECORDS, with_best(slowed(BEST, 1.04))).slower(0.05)


def test_what_fails_now_and_what_runs_now_is_named() -> None:
    failing = with_best(replace(BEST, outcome=Failed("build", "no registers left")))
    found = difference(RECORDS, failing)
    assert [r.variant.id for r in found.broken] == [BEST.variant.id]
    assert "fails now" in "\n".join(told(found, 0.05))
    assert "no registers left" in "\n".join(told(found, 0.05))
    back = difference(failing, RECORDS)
    assert [r.variant.id for r in back.mended] == [BEST.variant.id]
    assert BEST.variant.id in {r.variant.id for r in back.joined}


def test_a_front_of_which_nothing_is_left_is_slower() -> None:
    gone = [replace(r, outcome=Failed("run", "died")) for r in RECORDS]
    assert all("nothing is left" in line for line in difference(RECORDS, gone).slower(0.05))


def test_the_command_fails_where_it_is_asked_to_and_refuses_other_programs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = stored(tmp_path / "before", RECORDS)
    after = stored(tmp_path / "after", with_best(slowed(BEST, 2.0)), driver="2027.1")
    assert main(["diff", before, after]) == 0
    assert "driver: 2026.2, now 2027.1" in capsys.readouterr().out
    assert main(["diff", before, after, "--fail-if-slower", "5%"]) == 1
    assert BEST.variant.id in capsys.readouterr().err
    assert main(["diff", after, before, "--fail-if-slower", "0.05"]) == 0
    assert main(["diff", before, stored(tmp_path / "other", [], program=OTHER)]) == 1
    assert "runs of different programs: VGG-16 layer 7 and" in capsys.readouterr().err


def test_runs_of_other_sizes_are_refused_and_the_sizes_that_differ_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wide = ENVIRONMENT.program.replace("M = 128", "M = 64").replace("W = 112", "W = 56")
    before, after = stored(tmp_path / "a", RECORDS), stored(tmp_path / "b", [], program=wide)
    assert main(["diff", before, after]) == 1
    told_of = capsys.readouterr().err
    assert "runs of different sizes: W = 112 and 56, M = 128 and 64" in told_of
    written = OTHER.replace("]n", "]6").partition("where")[0]
    first = stored(tmp_path / "c", [], program=written)
    second = stored(tmp_path / "d", [], program=written.replace("6", "7"))
    assert main(["diff", first, second]) == 1
    assert "runs of different sizes: (6" in capsys.readouterr().err
