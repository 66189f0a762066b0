"""Tests of whole runs on a small program: they finish, can be stopped and resumed, and export right
results."""

import json
import os
import pickle
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from codegen.runtime.devices import Device
from codegen.runtime.session import open_device
from constraints.devices import CPU
from explore.__main__ import main
from explore.building.build_tasks import Task
from explore.building.build_variant import Builder, make
from explore.commands.stored_runs import ran
from explore.files.folder_lock import Lock
from explore.measure.measure_tasks import Measure
from explore.measure.measure_variant import measure, meter
from explore.measure.reference import (
    EPSILON,
    Expected,
    expected,
    inputs_of,
    relative_error,
)
from explore.measure.reference_file import stored_reference
from explore.options.options import POOL, Options
from explore.options.units import show_bytes
from explore.report.traffic_against_bounds import dataflow_traffic, least_traffic
from explore.results.records import Failed, Measured, Record
from explore.run.book_keeping import book_again
from explore.run.run import Run, resume, start
from explore.run.source import Source
from explore.run.target import Target, profile_of
from explore.run_store.guarded_database import FILE
from explore.run_store.store import Store
from explore.space.derive_form import Derived, derive
from explore.space.forms_to_derive import Derive, tasks
from ir.errors import UserError
from ir.meaning.interpret import evaluate
from ir.parse import parse
from rewrites.families.all_families import form_named

ROOT = Path(__file__).resolve().parents[2]
TEXT = """-- A tiny layer <b>&amp;
tiny(const weights : [[[[float]C]K]K]M, const expected : [float]M, image : [[[float]C]W]H) =
  map2d(window ->
      map((kernel, bias) ->
          relu(reduce(bias, (acc, (x, w)) -> acc + x * w, zip(flatten(window), flatten(kernel)))),
        zip(weights, expected)),
    slide2d(K, 1, pad2d(1, 0.0, image)))
where C = 4, W = 8, H = 8, K = 3, M = 8
"""
VARIANTS = 14
FAMILIES = "naive,registers"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("program") / "tiny.lift"
    file.write_text(TEXT.replace("C = 4", "C = 32"))
    return file


def arguments(file: Path, out: Path, device: Device) -> list[str]:
    given = ["--variants", str(VARIANTS), "--families", FAMILIES, "--out", str(out)]
    return [str(file), *given, "--set", "C=4", "--device", str(device.index)]


@pytest.fixture(scope="module")
def finished(file: Path, device: Device, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that finished."""
    out = tmp_path_factory.mktemp("runs") / "finished"
    assert main(arguments(file, out, device)) == 0
    return out


def first_rounds(folder: Path) -> list[Record]:
    return [r for r in Run(folder).records if r.round == 0]


def running(file: Path, out: Path, device: Device, *more: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "explore", *arguments(file, out, device), *more],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for(what: Callable[[], bool], seconds: float = 600.0) -> None:
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until, "it took too long"
        time.sleep(0.02)


def outcomes(folder: Path) -> int:
    try:
        return len(Run(folder).records)
    except UserError:
        return 0


# ---- a run


def test_a_folder_without_a_name_and_a_program_without_end_are_refused(
    file: Path, device: Device, capsys: pytest.CaptureFixture[str]
) -> None:
    from explore import explore

    with pytest.raises(SystemExit) as usage:
        main([str(file), "--out", ""])
    assert usage.value.code == 2
    assert "expected the name of a file or folder, found ''" in capsys.readouterr().err
    assert main(["/dev/zero"]) == 1
    assert "expected a program of at most" in capsys.readouterr().err
    with pytest.raises(UserError, match="expected the path of a folder, found ''"):
        explore(TEXT, device=device, out="")


def test_every_variant_has_one_outcome_and_all_that_ran_are_right(finished: Path) -> None:
    records = first_rounds(finished)
    assert len(records) == len({r.variant.id for r in records}) == VARIANTS
    assert len({r.variant.key for r in records}) == VARIANTS
    measured = [r for r in records if isinstance(r.outcome, Measured)]
    assert len(measured) >= VARIANTS // 2
    assert all(r.error is not None and r.error <= 1e-5 for r in measured)
    assert {r.variant.family for r in records} == {"naive", "registers"}
    sizes = {r.outcome.code_bytes for r in measured if isinstance(r.outcome, Measured)}
    assert all(size and size > 500 for size in sizes)
    assert len(sizes) > 1


def test_no_point_off_the_front_dominates_one_on_it(finished: Path) -> None:
    run = Run(finished)
    with sqlite3.connect(finished / FILE) as stored:
        rows = stored.execute(
            "SELECT id, time_ns, memory_bytes, error, max(round) FROM outcome "
            "WHERE status = 'measured' GROUP BY id"
        ).fetchall()
    points = {id: (time, memory) for id, time, memory, _, _ in rows}
    unbeaten = {
        id
        for id, (time, memory) in points.items()
        if not any(
            t <= time and m <= memory and (t, m) != (time, memory) for t, m in points.values()
        )
    }
    assert {r.variant.id for r in run.front} == unbeaten
    assert all(error <= 1e-5 for id, _, _, error, _ in rows if id in unbeaten)


def test_the_front_was_measured_again(finished: Path) -> None:
    assert all(r.round > 0 for r in Run(finished).front)


def test_the_folder_holds_a_report_and_the_kernels_of_the_front(finished: Path) -> None:
    page = (finished / "report.html").read_text()
    assert "<b>&amp;" not in page
    kernels = {file.stem for file in (finished / "front").iterdir()}
    assert kernels == {r.variant.id for r in Run(finished).front}


def test_one_json_object_a_variant(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(finished), "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    promised = "id family parameters status stage reason time_ns memory_bytes workspace_bytes"
    promised += " prepack_ns error kernels derivation"
    assert len(lines) == VARIANTS
    assert all(set(promised.split()) <= line.keys() for line in lines)


SHOWN = [
    [],
    ["--source"],
    ["--derivation"],
    ["--laws"],
    ["--stage", "over work-groups"],
    ["--constraints"],
]


@pytest.mark.parametrize("option", SHOWN)
def test_a_variant_is_shown(
    finished: Path, option: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    id = next(r.variant.id for r in Run(finished).records if r.variant.family == "registers")
    assert main(["show", str(finished), id, *option]) == 0
    assert capsys.readouterr().out.strip()


def test_traffic_is_shown_beside_its_bound_and_the_dataflows_volume(
    finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(finished)
    shown = next(r.variant for r in run.records if r.variant.family == "registers")
    assert main(["show", str(finished), shown.id]) == 0
    lines = capsys.readouterr().out.splitlines()
    least = least_traffic(shown, run.environment.bounds)
    volume = dataflow_traffic(shown, run.environment.bounds)
    assert any("traffic" in x and f"bound of {show_bytes(least)}" in x for x in lines)
    assert any(f"{show_bytes(volume)} of the io-optimal dataflow" in x for x in lines)


def test_the_front_is_a_table_or_json(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["front", str(finished)]) == 0
    table = capsys.readouterr().out
    assert main(["front", str(finished), "--json"]) == 0
    ids = [json.loads(line)["id"] for line in capsys.readouterr().out.splitlines()]
    assert ids
    assert all(id in table for id in ids)


def test_a_finished_run_resumes_to_itself(finished: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(finished, copy)
    before = Run(copy).records
    resume(copy)
    assert Run(copy).records == before


def ids(folder: Path) -> list[str]:
    return [r.variant.id for r in first_rounds(folder)]


def always(known: bool, target: Target) -> bool:
    return known


@pytest.mark.long
def test_building_while_measuring_gives_the_same_variants(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = Options(variants=4, families=("registers",), strategy="random")
    target = Target(profile_of(device), device)
    for name, disturbed in (("turns", True), ("overlap", False)):
        monkeypatch.setattr(Target, "disturbed_by_builds", property(partial(always, disturbed)))
        start(Source(TEXT, "tiny"), options, target, tmp_path / name)
    assert sorted(ids(tmp_path / "turns")) == sorted(ids(tmp_path / "overlap"))


# ---- stopped in the middle


def test_a_guided_run_goes_through_the_same_variants_though_it_was_stopped(tmp_path: Path) -> None:
    """A run whose outcomes are cut off after the 21st, and which is resumed, tries the same
    variants in the same order; times are predicted, so that they are equal."""
    options = Options(variants=30, families=("naive", "registers"), jobs=1)
    start(Source(TEXT, "tiny"), options, Target(CPU, None), tmp_path / "whole")
    order = ids(tmp_path / "whole")
    todo = tasks(parse(TEXT), CPU, families=options.families, budget=POOL * 30, seed=0)
    tried = {(r.variant.family, r.variant.form) for r in first_rounds(tmp_path / "whole")}
    assert tried - {(t.form.family, t.form.name) for t in todo}, "no form was derived on the way"
    copy = tmp_path / "stopped"
    shutil.copytree(tmp_path / "whole", copy)
    with closing(sqlite3.connect(copy / FILE)) as store, store:
        store.execute("DELETE FROM outcome WHERE rowid > (SELECT min(rowid) FROM outcome) + 20")
    assert ids(copy) == order[:21]
    resume(copy)
    assert ids(copy) == order


def test_a_run_goes_on_with_the_records_that_it_began_with(tmp_path: Path) -> None:
    options = Options(variants=1, families=("naive",))
    for name, records in (("none", False), ("own", None), ("file", tmp_path / "book.sqlite")):
        run, _ = start(Source(TEXT, "tiny"), options, Target(CPU, None), tmp_path / name, records)
        assert run.environment.records == name
    own, none, file = (Run(tmp_path / name).environment for name in ("own", "none", "file"))
    assert book_again(None, own, tmp_path) is None
    assert book_again(None, none, tmp_path) is False
    assert book_again(True, none, tmp_path) is True
    assert book_again(False, file, tmp_path) is False
    assert file.resumed_by(Path("a run")) == "explore resume 'a run' --records FILE"
    with pytest.raises(UserError, match="expected --records FILE"):
        resume(tmp_path / "file")


def test_a_killed_run_goes_on_without_repeats(
    finished: Path, file: Path, device: Device, tmp_path: Path
) -> None:
    out = tmp_path / "killed"
    process = running(file, out, device)
    wait_for(lambda: outcomes(out) >= 3)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    kept = ids(out)
    assert len(kept) >= 3
    assert main(["resume", str(out)]) == 0
    assert ids(out)[: len(kept)] == kept
    assert len(ids(out)) == len(set(ids(out))) == VARIANTS
    assert set(ids(out)) == set(ids(finished))


def test_an_interrupted_run_says_how_to_go_on(file: Path, device: Device, tmp_path: Path) -> None:
    out = tmp_path / "stopped"
    process = running(file, out, device, "--variants", "60")  # it is not over when we interrupt
    wait_for(lambda: outcomes(out) >= 2)
    os.kill(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=600)
    assert process.returncode == 130
    assert re.search(rf"stopped with \d+ variants stored; go on with `explore resume {out}`", said)
    assert "Traceback" not in said
    assert (out / "report.html").exists()
    Lock(out).close()


def test_a_folder_in_use_is_refused(
    file: Path, device: Device, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Lock(tmp_path):
        assert main(arguments(file, tmp_path, device)) == 1
    assert "another run" in capsys.readouterr().err


def test_a_folder_with_a_run_is_not_written_over(
    finished: Path, file: Path, device: Device, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments(file, finished, device)) == 1
    assert "explore resume" in capsys.readouterr().err


def test_a_time_limit_ends_a_run_that_can_go_on(
    file: Path, device: Device, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "limited"
    given = [*arguments(file, out, device), "--time-limit", "1ms"]
    assert main([*given, "--families", "registers", "--variants", "30"]) == 0
    assert "explore resume" in capsys.readouterr().out
    assert 0 < (before := len(ids(out))) < 30
    assert main(["resume", str(out)]) == 0
    assert before < len(ids(out)) <= 30


# ---- wrong answers


def test_a_wrong_result_is_a_failure(device: Device, tmp_path: Path) -> None:
    program = parse(TEXT)
    reference = stored_reference(program, 0, tmp_path)
    right = meter(device, program, 0, reference, 1e-4)
    with np.load(reference) as arrays:
        changed = {name: array.copy() for name, array in arrays.items()}
    changed["output.0"][0, 0, 0] += 1.0
    np.savez(tmp_path / "changed.npz", **{"output.0": changed["output.0"]})
    wrong = meter(device, program, 0, tmp_path / "changed.npz", 1e-4)
    changed["exact.0"][0, 0, 1] += 1.0
    np.savez(tmp_path / "cell.npz", **changed)
    cell = meter(device, program, 0, tmp_path / "cell.npz", 1e-4)

    derived = derive(Derive(program, form_named(program, "naive", ""), profile_of(device), 1, 0))
    assert isinstance(derived, Derived)
    made = make(Builder(device, CPU), Task(0, pickle.dumps(derived.lowered.program), ()))
    assert made.plan is not None
    assert isinstance(measure(right, Measure(0, made.plan)), Measured)
    for state in (wrong, cell):
        outcome = measure(state, Measure(0, made.plan))
        assert isinstance(outcome, Failed)
        assert outcome.stage == "verify"


def test_what_a_derivation_may_lose_is_allowed_to_it_and_no_more(
    device: Device, tmp_path: Path
) -> None:
    """Winograd's F(4, 3), which has thirds in its matrices, fails the check on whole numbers if no
    rounding is allowed, and passes if the known error of its derivation is allowed."""
    program = parse(TEXT)
    state = meter(device, program, 0, stored_reference(program, 0, tmp_path), 1e-4)
    form = "F4 registers"
    derived = derive(
        Derive(program, form_named(program, "winograd", form), profile_of(device), 1, 0)
    )
    assert isinstance(derived, Derived)
    task = Task(0, pickle.dumps(derived.lowered.program), derived.variants[0].parameters)
    made = make(Builder(device, CPU), task)
    assert made.plan is not None
    exact = measure(state, Measure(0, made.plan))
    assert isinstance(exact, Failed)
    assert exact.stage == "verify"
    assert isinstance(
        measure(state, Measure(0, made.plan, rounding=derived.lowered.rounding)), Measured
    )


def test_what_may_be_lost_is_in_proportion_to_the_terms_of_a_sum(tmp_path: Path) -> None:
    """The error that is allowed in a sum is in proportion to the sum of its terms' sizes, even if
    the terms nearly cancel."""
    program = parse("lone(xs : [float]64, ys : [float]64) = map(x -> dot(x, ys), split(64, xs))")
    drawn = (expected(program, inputs_of(program, seed, integers=True)) for seed in range(30))
    found = max(drawn, key=lambda e: e.scale / sum_of(e))
    assert found.scale > 30 * sum_of(found)
    assert found.lost(found.output + 1.0) == pytest.approx(1 / found.scale)
    assert found.agrees(found.output + 1.0, 1.01 / found.scale / EPSILON)
    assert not found.agrees(found.output + 1.0, 0.99 / found.scale / EPSILON)
    assert not found.agrees(found.output * np.nan, 1e9)


def test_whole_numbers_lose_their_signs_only_where_others_meet_them() -> None:
    """The scale of errors is computed with data and literals made positive, except whole numbers in
    indices: if differences of these became sums, other places of arrays would be read."""
    program = parse(
        """flipped(xs : [float]11) =
          let last = 12 - 2
          map(x -> reduce(0.0, (a, i) -> a + x * (i - 5), generate(11, i -> i)),
            reorder(i -> last - i, xs))"""
    )
    found = expected(program, {"xs": np.arange(11.0)})
    assert np.array_equal(found.output, np.zeros(11))
    assert found.scale == 10 * sum(abs(i - 5) for i in range(11))


def sum_of(found: Expected) -> float:
    return max(1.0, float(np.abs(found.output).max()))


# ---- other ways in


def test_a_profile_ranks_and_runs_nothing(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--profile", "mali-g72", "--variants", "8", "--families", "registers"]
    assert main([str(file), *given, "--out", str(tmp_path / "mali")]) == 0
    assert "not measurements" in " ".join(capsys.readouterr().out.split())
    records = Run(tmp_path / "mali").records
    assert len(records) == 8
    assert not any(isinstance(r.outcome, Measured) for r in records)
    assert any(r.time_ns for r in records)


def test_the_python_interface(device: Device, tmp_path: Path) -> None:
    from explore import compile, explore

    run = explore(TEXT, variants=4, families=["registers"], device=device, out=tmp_path / "api")
    program = parse(TEXT)
    inputs = inputs_of(program, 7)
    expected = evaluate(program, inputs)
    best = run.pick(max_memory="1MiB")
    assert run.front
    assert relative_error(best(*inputs.values()), np.asarray(expected)) < 1e-5
    naive = compile(program, device=device)
    assert relative_error(naive(**inputs), np.asarray(expected)) < 1e-5
    with pytest.raises(UserError, match="no parameter"):
        compile(program, "registers", {"nothing": 3}, device=device)
    with pytest.raises(UserError, match="no variant"):
        compile(program, "registers", {"v": 5}, device=device)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"variants": 0}, "variants: expected a whole number from 1, found 0"),
        ({"variants": "nine"}, "variants: expected a whole number from 1, found 'nine'"),
        ({"variant": 9}, "no option `variant`; did you mean `variants`?"),
        ({"strategy": "guide"}, "no strategy `guide`; did you mean `guided`"),
        ({"seed": 1.5}, "seed: expected a whole number from 0, found 1.5"),
        ({"jobs": 0}, "jobs: expected a whole number from 1 to 1024, found 0"),
        ({"max_memory": 0}, "max_memory: expected a whole number from 1, found 0"),
        ({"max_memory": "much"}, "max_memory: expected a size such as 64MiB, found 'much'"),
        ({"max_error": float("nan")}, "max_error: expected a relative error over 0, found nan"),
        ({"time_limit": -1}, "time_limit: expected seconds over 0, found -1"),
        ({"families": ","}, "families: expected names with commas between, found ','"),
        ({"families": 5}, "families: expected a list of names, found 5"),
        ({"families": [5]}, "no family `5`"),
        ({"against": 5}, "against: expected a list of names, found 5"),
        ({"out": 5}, "out: expected the path of a folder, found 5"),
        ({"seed": -5}, "seed: expected a whole number from 0, found -5"),
        ({"families": ["naif"]}, "no family `naif`; did you mean `naive`"),
        ({"against": ["nobody"]}, "no peer `nobody`"),
        ({"device": "none such"}, "no device `none such`"),
        ({"device": 99}, "no device `99`"),
        ({"profile": "h100"}, "expected a device or a profile, found both"),
        ({"profile": "h100", "device": None}, "no profile `h100`; did you mean `h200`?"),
        ({"domain": "fast"}, "no domain `fast`; expected io-optimal"),
        ({"sizes": {"Q": 1}}, "the program has no size `Q`"),
        ({"sizes": {"C": "many"}}, "sizes: C: expected a whole number, found 'many'"),
        ({"sizes": ["C"]}, "sizes: expected NAME=SIZE, found 'C'"),
        ({"limits": {"cores": 1.5}}, "limits: cores: expected a whole number, found 1.5"),
        ({"limits": [5]}, "limits: expected a name with a number, found 5"),
        ({"limits": {"core": 1}}, "a profile has no number `core`; did you mean `cores`?"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_written(
    asked: dict[str, Any], said: str, device: Device, tmp_path: Path
) -> None:
    from explore import explore

    with pytest.raises(UserError, match=re.escape(said)):
        explore(TEXT, **({"device": device, "out": tmp_path / "none"} | asked))
    assert not (tmp_path / "none").exists()


def test_a_program_and_its_parameters_are_of_the_right_kind(device: Device) -> None:
    from explore import compile

    with pytest.raises(UserError, match="expected a program, its text or the path"):
        compile(None, device=device)
    with pytest.raises(UserError, match="parameter v: expected a whole number, found 'x'"):
        compile(TEXT, "registers", {"v": "x"}, device=device)


def test_what_is_no_file_is_not_replaced_by_a_file(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A CSV for a pipe, or for a link to one, is refused with a message, and the pipe and the link
    stay what they are."""
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for place in (pipe, link):
        assert main(["export", str(finished), "--csv", str(place)]) == 1
        assert f"cannot write {place}: it is no file" in capsys.readouterr().err
    assert pipe.is_fifo()
    assert link.is_symlink()


def test_options_that_no_run_can_store_are_refused_before_anything_is_written(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A hundred million jobs are refused with a message that says what is expected, and no folder
    of a run is made."""
    run = tmp_path / "many"
    given = ["--profile", "mali-g72", "--jobs", "100000000", "--out", str(run)]
    assert main([str(file), *given]) == 1
    assert (
        "jobs: expected a whole number from 1 to 1024, found 100000000" in capsys.readouterr().err
    )
    assert not run.exists()


def test_mistakes_are_told_without_a_traceback(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "none.lift")]) == 1
    assert main(["frnt", str(tmp_path)]) == 1
    small = ["--families", "naive", "--max-memory", "1KiB", "--out", str(tmp_path / "small")]
    assert main([str(file), "--set", "C=4", *small]) == 1
    said = capsys.readouterr().err
    assert "did you mean `front`" in said
    assert "inputs and output alone are 4.16 KiB" in said
    assert main([str(file), "--families", "nonsense"]) == 1
    assert main([str(file), "--set", "Q=1"]) == 1
    assert main([str(file), "--max-error", "-1"]) == 1
    assert main(["pick", str(tmp_path), "--export", "here", "--name", "a b"]) == 1
    assert main([str(file), "--time-limit", "0s"]) == 1
    assert main(["front", str(tmp_path)]) == 1
    for bad in ([str(file), "--variants", "0"], [str(file), "--max-memory", "much"], []):
        with pytest.raises(SystemExit) as ended:
            main(bad)
        assert ended.value.code == 2
    assert "Traceback" not in capsys.readouterr().err


# ---- exports


@pytest.fixture(scope="module")
def exported(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported") / "best"
    given = ["--fastest", "--export", str(folder), "--name", "best_conv"]
    assert main(["pick", str(finished), *given]) == 0
    return folder


def vendors(device: Device, folder: Path) -> dict[str, str]:
    """The environment variables with which a program finds the OpenCL runtime of this device; the
    file by which OpenCL's loader finds it is written to `folder`."""
    (folder / "only.icd").write_text(device.library)
    library = Path(device.library).parent
    paths = f"{library}:{os.environ.get('LD_LIBRARY_PATH', '')}".strip(":")
    return {**os.environ, "OCL_ICD_VENDORS": str(folder), "LD_LIBRARY_PATH": paths}


def test_an_export_finds_the_device_by_itself_in_python(exported: Path, device: Device) -> None:
    ran = ran_in(exported, [sys.executable, "host.py"], dict(os.environ))
    assert ran.returncode == 0, ran.stderr
    assert re.search(r"ms an inference, of \d+ back to back; error \d", ran.stdout)
    assert f"{device.name} ({device.platform}): " in ran.stdout


def test_an_export_shows_the_program_with_the_sizes_of_the_run(
    file: Path, exported: Path, finished: Path
) -> None:
    assert "where C = 32, W = 8" in file.read_text()
    assert TEXT.strip() in (exported / "README.md").read_text()
    assert Run(finished).environment.program_run == TEXT


def ran_in(
    folder: Path, command: list[str], environment: dict[str, str]
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60
    )


def test_an_export_says_where_it_was_measured_if_that_is_not_here(
    exported: Path, device: Device, tmp_path: Path
) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(exported, moved)
    plan = json.loads((moved / "plan.json").read_text())
    (moved / "plan.json").write_text(json.dumps(plan | {"made_for": f"{device.name} (Another)"}))
    header = (moved / "plan.h").read_text()
    renamed = header.replace(f"{device.name} (", f"{device.name} (Another ")
    (moved / "plan.h").write_text(renamed)
    env = vendors(device, tmp_path)
    for command in hosts(moved)[:2]:  # the library's demo takes the first device
        ran = ran_in(moved, command, env)
        assert ran.returncode == 0, ran.stderr
        assert f"made for {device.name} (Another" in ran.stderr
        none = subprocess.run([*command, "Abacus"], cwd=moved, env=env, capture_output=True)
        assert none.returncode == 1
        assert device.platform in none.stderr.decode()


def hosts(folder: Path) -> list[list[str]]:
    """The commands that run the host programs of an export: the one in Python, and the one in C if
    it can be built here."""
    if not shutil.which("make") or not shutil.which("cc") or not Path("/usr/include/CL").exists():
        return [[sys.executable, "host.py"]]
    subprocess.run(["make"], cwd=folder, check=True, capture_output=True)
    strict = os.environ | {"CFLAGS": "-O1 -Wall -Wextra -Werror"}
    subprocess.run(["make", "-s"], cwd=folder / "library", check=True, env=strict)
    demo = ["sh", "-c", "cd library && exec ./*_demo"]
    return [[sys.executable, "host.py"], ["./host"], demo]


def test_an_export_runs_on_its_inputs_and_refuses_another_result(
    exported: Path, device: Device, tmp_path: Path
) -> None:
    env = vendors(device, tmp_path)
    inputs = {file.stem for file in (exported / "data" / "inputs").iterdir()}
    assert inputs == {"image"}  # constants lie in one file beside them
    data = exported / "data" / "expected.bin"
    right = data.read_bytes()
    for command in hosts(exported):
        ran = ran_in(exported, command, env)
        assert ran.returncode == 0, ran.stderr
        data.write_bytes((np.frombuffer(right) + 1.0).tobytes())
        ran = ran_in(exported, command, env)
        data.write_bytes(right)
        assert ran.returncode == 1
        assert "wrong" in ran.stderr
    (tmp_path / "none").mkdir()
    for command in hosts(exported)[1:]:
        ran = ran_in(exported, command, env | {"OCL_ICD_VENDORS": str(tmp_path / "none")})
        assert ran.returncode == 1
        assert "libintelocl.so" in ran.stderr


def test_a_new_run_prints_its_front_as_json_and_a_report_to_the_terminal(
    finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ran(lambda: (Run(finished), False), as_json=True) == 0
    said = capsys.readouterr()
    assert [json.loads(line)["id"] for line in said.out.splitlines()] == [
        r.variant.id for r in Run(finished).front
    ]
    assert "report: " in said.err
    assert "explore resume" in said.err
    assert main(["report", str(finished), "--out", "-"]) == 0
    assert capsys.readouterr().out.startswith("<!doctype html>")


def test_cmake_builds_the_library_of_an_export_and_its_demo_runs(
    exported: Path, device: Device, tmp_path: Path
) -> None:
    if not shutil.which("cmake") or not Path("/usr/include/CL").exists():
        pytest.skip("no CMake, or no headers of OpenCL here")
    source, built = exported / "library", tmp_path / "built"
    for asked in (["-S", str(source), "-B", str(built)], ["--build", str(built)]):
        ran = subprocess.run(["cmake", *asked], capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
    assert (built / "libbest_conv.a").is_file()
    ran = ran_in(source, [str(built / "best_conv_demo")], vendors(device, tmp_path))
    assert ran.returncode == 0, ran.stderr


def test_the_library_tells_mistakes_by_codes_and_runs_nothing(
    exported: Path, device: Device, tmp_path: Path
) -> None:
    if not shutil.which("cc") or not Path("/usr/include/CL").exists():
        pytest.skip("no C compiler, or no headers of OpenCL here")
    mistakes = Path(__file__).parents[1] / "support" / "library_errors.c"
    library, program = exported / "library", tmp_path / "mistakes"
    given = ["-Wno-deprecated-declarations", f"-I{library}", str(library / "best_conv.c")]
    built = ["cc", "-Wall", *given, str(mistakes), "-lOpenCL", "-o", str(program)]
    subprocess.run(built, check=True)
    ran = ran_in(tmp_path, [str(program)], vendors(device, tmp_path))
    assert ran.returncode == 0, ran.stderr
    wrong = ran.stdout.splitlines()
    assert [line for line in wrong if not line.startswith("any order")] == [
        *("no constants 3", "no queue 1", "made nothing 1", "made 0", "no kernels 3"),
        *("no input 3", "small input 4", "small output 4", "one for both 3", "right 0", "end 0"),
    ]
    assert {line for line in wrong if line.startswith("any order")} <= {"any order 3"}


def test_pip_installs_the_package_of_an_export_and_it_runs(
    exported: Path, device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("setuptools", minversion="70.1", reason="it builds the package")
    shutil.copytree(exported / "python", tmp_path / "python")  # pip builds inside of it
    offline = ["--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    where = ["--target", str(tmp_path / "site"), str(tmp_path / "python")]
    pip = [sys.executable, "-m", "pip", "install", *offline, *where]
    ran = subprocess.run(pip, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    plan = json.loads((exported / "plan.json").read_text())
    (out,) = (b for b in plan["buffers"] if b["role"] == "output")
    name = tomllib.loads((exported / "python" / "pyproject.toml").read_text())["project"]["name"]
    assert name == "best_conv"
    module = __import__(name)
    weights = np.fromfile(exported / "data" / "weights.bin", np.float32)
    given = {
        b["name"]: weights[b["at"] // 4 : (b["at"] + b["bytes"]) // 4].reshape(b["shape"])
        for b in plan["buffers"]
        if b["role"] == "const"
    }
    session = open_device(device)
    kernels = module.Kernels(**given, queue=session.queue)
    (image,) = kernels.inputs
    shape = kernels.buffers[image]["shape"]
    array = np.fromfile(exported / "data" / "inputs" / f"{image}.bin", np.float32).reshape(shape)
    expected = np.fromfile(exported / "data" / "expected.bin").reshape(out["shape"])
    assert relative_error(kernels(array), expected) < 1e-5
    assert relative_error(kernels(**{image: 2 * array[::1]}), expected) > 0.1
    with pytest.raises(TypeError, match="expected float32"):
        kernels(array.astype(np.float64))
    with pytest.raises(TypeError, match="expected image, found nothing"):
        kernels()
    with pytest.raises(TypeError, match="expected a buffer for each"):
        kernels.run({})
    derivation = (exported / "derivation.txt").read_text()
    assert derivation.startswith(TEXT.strip())


@pytest.mark.parametrize("name", ["data/expected.bin", "data/inputs/image.bin"])
def test_an_export_takes_files_of_the_right_size_only(
    name: str, exported: Path, device: Device, tmp_path: Path
) -> None:
    env = vendors(device, tmp_path)
    file = exported / name
    right = file.read_bytes()
    for command in hosts(exported):
        for content in (b"", right[:-8], right + bytes(8)):
            file.write_bytes(content)
            ran = ran_in(exported, command, env)
            file.write_bytes(right)
            assert ran.returncode == 1
            said = f"{name} has {len(content)} bytes, expected {len(right)}"
            assert said in ran.stderr
            assert "error" not in ran.stdout


def test_an_export_stays_in_its_folder(finished: Path, exported: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    occupied = tmp_path / "occupied"
    occupied.mkdir()
    (occupied / "kernels.cl").symlink_to(victim)
    assert main(["pick", str(finished), "--export", str(occupied)]) == 1
    (occupied / "plan.json").write_text("{}")
    assert main(["pick", str(finished), "--export", str(occupied)]) == 0
    assert victim.read_text() == "mine"
    (tmp_path / "elsewhere").mkdir()
    shutil.rmtree(occupied / "data" / "inputs")
    (occupied / "data" / "inputs").symlink_to(tmp_path / "elsewhere")
    assert main(["pick", str(finished), "--export", str(occupied)]) == 1
    assert not list((tmp_path / "elsewhere").iterdir())


def test_an_export_that_fails_leaves_nothing(finished: Path, tmp_path: Path) -> None:
    command = ["-m", "explore", "pick", str(finished), "--export", str(tmp_path / "small")]
    limited = f"ulimit -f 4; exec {shlex.join([sys.executable, *command])}"
    ended = ran_in(ROOT, ["bash", "-c", limited], dict(os.environ))
    assert ended.returncode == 1
    assert "cannot write" in ended.stderr
    assert not list(tmp_path.iterdir())


def test_a_store_tells_what_it_was_asked(finished: Path) -> None:
    with Store.read(finished) as store:
        options = Options.from_json(store.environment.options)
        assert options.variants == VARIANTS
        assert store.environment.bounds.flops == 2 * 64 * 8 * 36 + 64 * 8
