"""Tests of the messages when a run has no variants, or when what is asked of a run is not there."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import pytest

from codegen.runtime.devices import Device
from constraints.devices import profile
from explore.__main__ import main
from explore.building import build_worker
from explore.building.build_tasks import Task
from explore.building.build_variant import Builder
from explore.building.build_worker import work
from explore.options.options import Options
from explore.report.why_nothing import no_candidate, none_ran
from explore.results.lost_forms import LostForm
from explore.results.records import Failed, Measured, Record
from explore.run.run import Run, resume, start
from explore.run.source import Source
from explore.run.target import Target
from explore.run_store.store import Store
from explore.space.derive_form import Inapplicable
from explore.space.forms_to_derive import Derive
from ir.dependence.needed_elements import dependence
from ir.errors import UserError
from ir.parse import parse
from tests.explore.test_run import ROOT, TEXT
from tests.support.sample_runs import ENVIRONMENT, variant

MATMUL = ROOT / "examples" / "matmul.lift"
LARGE = """large(xs : [float]4) =
  map(x -> x + reduce(0.0, (a, i) -> a + (i & 3), generate(N, i -> i)), xs)
where N = 10000000000
"""


# ---- too large


@pytest.mark.parametrize(
    ("body", "read"),
    [
        ("map(x -> x + at(0, generate(N, i -> i)), xs)", 10**10),
        ("map(x -> 2.0 * x, pad(1, 1, 0.0, xs))", 0),
        ("map(x -> 2.0 * x, pad_clamp(1, 1, xs))", 0),
        ("map(x -> 2.0 * x, concat(xs, xs))", 0),
        ("map(w -> reduce(0.0, (a, x) -> a + x, w), slide(3, 1, xs))", 0),
        ("map(x -> 2.0 * x, xs)", 10**10),
    ],
)
def test_of_what_is_too_large_to_be_looked_at_nothing_is_said_to_be_read(
    body: str, read: int
) -> None:
    program = parse(f"large(xs : [float]N) = {body} where N = 10000000000")
    assert dependence(program).read == {"xs": read}


def test_a_profile_needs_no_array_that_is_too_large_here(tmp_path: Path) -> None:
    target = Target(profile("h200"), None)
    run, _ = start(Source(LARGE, "large"), Options(variants=3), target, tmp_path / "run")
    assert run.front


def test_what_the_interpreter_cannot_hold_is_not_measured(device: Device, tmp_path: Path) -> None:
    (tmp_path / "large.lift").write_text(LARGE)
    with pytest.raises(UserError, match=r"could be checked here: an array of 74\.5 GiB .*profile"):
        start(
            Source(LARGE, "large"),
            Options(variants=1, families=("naive",)),
            Target(profile("cpu"), device),
            tmp_path / "run",
        )


def test_without_candidates_what_clashes_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = [f"--set={name}=100000" for name in "MNK"]
    out = ["--profile", "h200", "--out", str(tmp_path / "run")]
    assert main([str(MATMUL), *sizes, *out, "--variants", "8"]) == 1
    said = capsys.readouterr().err
    assert "a global buffer of 36507222016 B < 40000000000 B needed by a" in said
    assert "no padding" not in said


def test_families_that_do_not_apply_say_why_in_turn() -> None:
    """If no family lowers a program, the message gives one reason for each family: why its first
    form does not apply."""
    refused = [("lift", "no nest"), ("lift", "no padding"), ("fft", "no sum")]
    results = [Inapplicable(family, reason, reason) for family, reason in refused]
    said = "no variant satisfies the constraints: "
    assert no_candidate(parse(LARGE), None, results) == f"{said}lift: no nest; fft: no sum"
    assert no_candidate(parse(LARGE), None, results[:2]) == f"{said}no nest"


# ---- all failed


def test_when_all_fail_the_commonest_reasons_are_said_by_stage() -> None:
    reasons = ["error 0.5 is over 1e-4", "error 0.25 is over 1e-4", "wrong", "wrong", "wrong"]
    failures = [Failed("verify", r) for r in reasons] + [Failed("build", "took longer than 10 s")]
    records = [Record(variant(tile=2**n), f) for n, f in enumerate(failures)]
    assert none_ran(records) == [
        "no variant ran to the end",
        "1 failed at build",
        "  1 × took longer than 10 s",
        "5 failed at verify",
        "  3 × wrong",
        "  2 like error 0.5 is over 1e-4",
    ]


def stored(folder: Path, *records: Record) -> str:
    with Store.create(folder, ENVIRONMENT) as store:
        store.append(records)
    return str(folder)


def test_a_front_of_failures_says_why_and_is_no_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = stored(tmp_path / "run", Record(variant(tile=2), Failed("build", "ptxas: no")))
    assert main(["front", folder]) == 1
    assert "1 × ptxas: no" in capsys.readouterr().out
    assert main(["front", folder, "--json"]) == 1
    assert capsys.readouterr().out == ""


def test_a_front_within_limits_that_nothing_meets_says_what_would(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = stored(tmp_path / "run", Record(variant(tile=2), Measured(1.0, 0.0, 1e-7)))
    assert main(["front", folder, "--max-memory", "8B"]) == 1
    said = capsys.readouterr()
    assert "no variant is within these limits; the smallest needs" in said.err
    assert said.out == ""


def test_a_run_of_which_nothing_came_ends_with_the_reason(
    device: Device, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "p.lift").write_text("p(xs : [float]8) = map(x -> 0.1 * x, xs)")
    given = ["--families", "naive", "--max-error", "1e-30", "--device", str(device.index)]
    assert main([str(tmp_path / "p.lift"), *given, "--out", str(tmp_path / "run")]) == 1
    said = capsys.readouterr().out
    assert "1 failed at verify" in said
    assert "is over 1e-30" in said


# ---- lost


def work_unless(killing: str, state: Builder, task: Derive | Task) -> object:
    """The function of a worker that builds, changed so that deriving a form of the family `killing`
    kills the worker."""
    if isinstance(task, Derive) and task.form.family == killing:
        os.kill(os.getpid(), signal.SIGKILL)
    return work(state, task)


def test_a_form_whose_worker_dies_is_told_and_stored_and_derived_again_by_a_resumed_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(build_worker, "work", partial(work_unless, "naive"))
    options = Options(variants=4, families=("naive", "registers"), jobs=2)
    target = Target(profile("cpu"), None)
    run, finished = start(Source(TEXT, "tiny"), options, target, tmp_path / "run")
    assert finished
    died = "worker died with signal 9 (SIGKILL), as happens when memory runs out"
    told = f"naive was not derived, so none of its variants was tried: {died}"
    said = capsys.readouterr().err
    assert told in said
    assert "4/4  0 failed  1 form not derived" in said
    assert run.lost_forms == [LostForm("naive", "", died)]
    assert [r.variant.family for r in run.records] == ["registers"] * options.variants
    monkeypatch.setattr(build_worker, "work", work)
    resume(tmp_path / "run")
    assert "not derived" not in capsys.readouterr().err
    assert run.lost_forms == []
    assert len(run.records) == options.variants, "no more were asked for"


def test_what_shows_a_run_tells_lost_forms_apart_from_variants(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tried = Record(variant("blocked", tile=2), Measured(1e6, 0.0, 1e-7))
    run = str(stored(tmp_path / "run", tried))
    lost = LostForm("lift", "padded", "took longer than 60 s", "words", timed_out=True)
    told = "lift padded was not derived, so none of its variants was tried: took longer than 60 s"
    with Store.resume(Path(run), ENVIRONMENT) as store:
        store.add_lost_form(lost)
        store.add_lost_form(lost)
        assert store.lost_forms() == [lost]
    front, shown, each, table = (
        ["front", run],
        ["show", run, "--json"],
        ["show", run, "--lost-forms"],
        ["export", run, "--csv", str(tmp_path / "t.csv"), "--t4", str(tmp_path / "t.json")],
    )
    assert main(front) == 0
    assert told in capsys.readouterr().out
    assert main([*front, "--json"]) == 0
    said = capsys.readouterr()
    assert (said.out.count("\n"), told in said.err) == (1, True)
    assert main(shown) == 0
    said = capsys.readouterr()
    assert (json.loads(said.out)["id"], told in said.err) == (tried.variant.id, True)
    assert main(each) == 0
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [asdict(lost)]
    assert main(table) == 0
    assert "t.csv: 1 variant" in capsys.readouterr().out
    assert len(json.loads((tmp_path / "t.json").read_text())["results"]) == 1


def test_where_no_variant_ran_lost_forms_are_told_too() -> None:
    assert none_ran([], [LostForm("naive", "", "worker died")]) == [
        "no variant ran to the end",
        "naive was not derived, so none of its variants was tried: worker died",
    ]


@pytest.mark.parametrize("records", [[], [Record(variant(tile=2), Failed("build", "ptxas: no"))]])
def test_a_run_without_times_is_not_replayed(records: list[Record], tmp_path: Path) -> None:
    folder = stored(tmp_path / "run", *records)
    replay = [sys.executable, "-m", "explore", "replay", folder]
    done = subprocess.run(replay, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert "ran to the end: there is nothing to look for" in done.stderr
    assert "Traceback" not in done.stderr


# ---- what is asked for


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--seed", "-5"], "--seed: expected a whole number from 0, found '-5'"),
        (["--families", ""], "--families: expected names with commas between, found ''"),
        (["--families", "naive", "--against", ","], "--against: expected names"),
    ],
)
def test_what_an_option_cannot_mean_is_bad_usage(
    given: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([str(MATMUL), *given])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_families_and_peers_given_one_by_one_are_all_meant(tmp_path: Path) -> None:
    (tmp_path / "p.lift").write_text("p(xs : [float]8) = map(x -> 2.0 * x, xs)")
    peers = ["--against", "torch", "--against", "clblast,torch"]
    families = ["--families", "naive", "--families", "registers", "--variants", "2"]
    out = ["--profile", "cpu", "--out", str(tmp_path / "run")]
    assert main([str(tmp_path / "p.lift"), *families, *peers, *out]) == 0
    options = Run(tmp_path / "run").environment.options
    assert options["families"] == ["naive", "registers"]
    assert options["against"] == ["torch", "clblast"]


# ---- another driver


def test_under_another_driver_a_run_is_neither_compared_nor_called(
    device: Device, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = replace(
        ENVIRONMENT,
        device=device.name,
        platform=device.platform,
        driver="0.1",
        options=Options().as_json() | {"file": "conv.lift", "profile": None},
    )
    with Store.create(tmp_path / "run", made) as store:
        store.append([Record(variant(tile=2), Measured(1.0, 0.0, 1e-7))])
    assert main(["compare", str(tmp_path / "run"), "--against", "torch"]) == 1
    said = capsys.readouterr().err
    assert f"has driver {device.driver} here, the run was made with driver 0.1" in said
    assert "is not here" not in said
    with pytest.raises(UserError, match=r"made with driver 0\.1"):
        Run(tmp_path / "run").pick()


def test_on_another_device_a_run_says_that_its_own_is_not_here(tmp_path: Path) -> None:
    folder = stored(tmp_path / "run", Record(variant(tile=2), Measured(1.0, 0.0, 1e-7)))
    with pytest.raises(UserError, match="is not here: the run was made on it"):
        Run(Path(folder)).pick()


# ---- rows that another hand changed


@pytest.mark.parametrize(
    "change",
    [
        "update outcome set status = 'weird'",
        "update outcome set time_ns = null",
        "update outcome set time_ns = 'soon'",
        "update outcome set parameters = '[]'",
        "update outcome set status = 'failed', stage = 'lunch'",
        "update outcome set details = 'no'",
    ],
)
def test_a_row_that_is_no_outcome_is_said_to_be_damaged(
    change: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = Record(variant(tile=2), Measured(1.0, 0.0, 1e-7))
    folder = stored(tmp_path / "run", record)
    with closing(sqlite3.connect(tmp_path / "run" / "run.sqlite")) as connection, connection:
        connection.execute(change)
    assert main(["front", folder]) == 1
    said = capsys.readouterr().err
    assert "is damaged" in said
    assert record.variant.id in said


def test_a_peer_that_is_no_measurement_is_said_to_be_damage(tmp_path: Path) -> None:
    folder = stored(tmp_path / "run")
    with closing(sqlite3.connect(tmp_path / "run" / "run.sqlite")) as connection, connection:
        connection.execute("insert into peer values ('{}')")
    with pytest.raises(UserError, match="damaged: what it says of a peer"):
        _ = Run(Path(folder)).peers
