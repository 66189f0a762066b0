"""Tests of whole runs in which something goes wrong (builds that hang, kernels without end, full
disks): each goes on, or ends with a message."""

import pickle
import re
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from codegen.plan import Plan
from codegen.runtime.devices import Device
from codegen.runtime.timings import hopeless
from constraints.devices import CPU
from explore.__main__ import main
from explore.building import build_worker
from explore.building.build_tasks import Task
from explore.building.build_variant import Builder, make
from explore.building.build_worker import work
from explore.measure import reference_worker
from explore.measure.measure_tasks import Measure
from explore.measure.measure_variant import measure
from explore.measure.measure_worker import setup_for
from explore.measure.reference_file import hash_of, load_reference, stored_reference
from explore.measure.reference_worker import reference_in_time
from explore.options.options import Options
from explore.results.records import Failed, Measured, Record
from explore.run import worker_pools
from explore.run.run import Run, start
from explore.run.source import Source
from explore.run.target import Target, profile_of
from explore.run_store.store import Store
from explore.space.derive_form import Derived, derive
from explore.space.forms_to_derive import Derive
from explore.workers.pool import Pool
from explore.workers.wait_any import each_done
from ir.errors import UserError
from ir.parse import parse
from rewrites.families.all_families import form_named
from tests.explore.test_run import TEXT, arguments
from tests.explore.test_store import mounted
from tests.support.sample_runs import ENVIRONMENT


def work_or_hang(state: Builder, task: Derive | Task) -> object:
    """The function of a worker that builds, changed so that every third build never ends."""
    if isinstance(task, Task) and task.number % 3 == 0:
        time.sleep(1000)
    return work(state, task)


@pytest.mark.long
def test_builds_that_hang_cost_their_variants_alone(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build_worker, "work", work_or_hang)
    monkeypatch.setattr(worker_pools, "BUILD_LIMIT", 4.0)
    options = Options(variants=6, families=("registers",), jobs=3)
    run, finished = start(
        Source(TEXT, "tiny"), options, Target(profile_of(device), device), tmp_path / "run"
    )
    assert finished
    hung = [r.outcome for r in run.records if isinstance(r.outcome, Failed)]
    assert hung
    assert all(f.stage == "build" and f.timed_out for f in hung)
    assert "took longer than 4 s" in hung[0].reason
    assert run.front


def endless(plan: Plan) -> Plan:
    """The plan with its last kernel changed to wait for a number that nobody writes."""
    kernel = plan.kernels[-1]
    out = kernel.arguments[-1]
    wait = f"while (*(volatile __global float *){out}_ != 3e33f) {{}}"
    begun = replace(kernel, text=kernel.text.replace("\n{\n", f"\n{{\n  {wait}\n"))
    assert begun != kernel
    return replace(plan, kernels=(*plan.kernels[:-1], begun))


@pytest.fixture
def worker(device: Device, tmp_path: Path) -> Iterator[Pool[Measure, object]]:
    if device.kind == "gpu":
        pytest.skip("a kernel without end can hang a GPU's driver")
    program = parse(TEXT)
    setup = setup_for(device, program, 0, stored_reference(program, 0, tmp_path), 1e-4)
    with Pool[Measure, object](measure, timeout=20.0, stage="run", setup=setup) as pool:
        yield pool


def test_a_kernel_that_never_ends_is_stopped_and_the_next_one_runs(
    device: Device, worker: Pool[Measure, object]
) -> None:
    program = parse(TEXT)
    plain = form_named(program, "naive", "")
    derived = derive(Derive(program, plain, profile_of(device), 1, 0))
    assert isinstance(derived, Derived)
    made = make(Builder(device, CPU), Task(0, pickle.dumps(derived.lowered.program), ()))
    assert made.plan is not None
    worker.submit(Measure(0, endless(made.plan)), timeout=3.0)
    worker.submit(Measure(1, made.plan))
    first, second = (done.result for done in each_done(worker, []))
    assert isinstance(first, Failed)
    assert (first.stage, first.timed_out) == ("run", True)
    assert isinstance(second, Measured)


def spinning(made: Plan) -> Plan:
    """The plan with its last kernel changed so that every work-item takes long."""
    begin = "for (volatile int spin = 0; spin < 300000; ++spin);"
    return edited(made, "\n{\n", f"\n{{\n  {begin}\n")


def edited(plan: Plan, old: str, new: str) -> Plan:
    kernels = tuple(replace(k, text=k.text.replace(old, new)) for k in plan.kernels)
    assert kernels != plan.kernels
    return replace(plan, kernels=kernels)


def test_a_variant_that_is_hopeless_when_it_is_checked_is_not_run_again_and_its_error_is_known(
    device: Device, worker: Pool[Measure, object]
) -> None:
    program = parse(TEXT)
    plain = form_named(program, "naive", "")
    derived = derive(Derive(program, plain, profile_of(device), 1, 0))
    assert isinstance(derived, Derived)
    made = make(Builder(device, CPU), Task(0, pickle.dumps(derived.lowered.program), ()))
    assert made.plan is not None
    wrong = edited(made.plan, "expected_[gid0]", "0.0f")
    worker.submit(Measure(0, spinning(made.plan), ceiling_ns=1.0))
    worker.submit(Measure(1, spinning(wrong), ceiling_ns=1.0))
    slow, failed = (done.result for done in each_done(worker, []))
    assert isinstance(slow, Measured)
    assert slow.stopped_early
    assert len(set(slow.runs_ns)) == 1
    assert slow.error is not None
    assert 0 < slow.error < 1e-5
    assert isinstance(failed, Failed)
    assert "cells differ on whole-number inputs" in failed.reason


def test_few_runs_say_that_a_variant_is_hopeless_only_if_they_were_long() -> None:
    assert not hopeless([9e6], 1e3)  # a thread that had to wait
    assert not hopeless([60e6], 20e6)  # a cold start
    assert hopeless([90e6], 20e6)
    assert not hopeless([60e6, 30e6], 20e6)
    assert hopeless([60e6, 50e6], 20e6)
    assert hopeless([60e6, 50e6, 21e6], 20e6)
    assert hopeless([9e3, 8e3, 7e3], 1e3)
    assert not hopeless([9e3, 8e3, 7e3, 900.0], 1e3)


def test_a_full_disk_ends_a_run_in_words_and_keeps_what_was_stored(
    device: Device, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "tiny.lift"
    file.write_text(TEXT)
    with mounted(tmp_path / "small", "size=72k") as folder:
        assert main(arguments(file, folder / "run", device)) == 1
        said = capsys.readouterr().err
        assert "disk is full" in said
        assert "Traceback" not in said
        kept = Run(folder / "run").records
        subprocess.run(["mount", "-o", "remount,size=64m", str(folder)], check=True)
        assert main(["resume", str(folder / "run")]) == 0
        assert as_read(Run(folder / "run").records[: len(kept)]) == as_read(kept)


def as_read(records: list[Record]) -> list[tuple[object, ...]]:
    """For each measured variant its name, its round, and the times as the clock read them, which do
    not depend on the pace that is usual."""
    outcomes = [(r, r.outcome) for r in records if isinstance(r.outcome, Measured)]
    return [
        (r.variant.id, r.round, o.yardstick_ns, round(o.time_ns * o.slowdown)) for r, o in outcomes
    ]


def test_a_folder_that_cannot_be_written_is_refused_before_anything_runs(
    device: Device, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "tiny.lift"
    file.write_text(TEXT)
    with mounted(tmp_path / "fixed", "size=1m") as folder:
        subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
        assert main(arguments(file, folder / "run", device)) == 1
    assert re.search(r"cannot write .*[Rr]ead-only", capsys.readouterr().err)


def test_a_damaged_reference_is_computed_again(tmp_path: Path) -> None:
    program = parse("p(xs : [float]n) = map(x -> x + 1.0, xs) where n = 4", "p")
    file = stored_reference(program, 0, tmp_path)
    whole = load_reference(file).alone
    assert whole is not None
    file.write_bytes(b"not an archive")
    (again,) = load_reference(stored_reference(program, 0, tmp_path)).outputs
    assert np.array_equal(again, whole)


def test_a_reference_is_taken_from_the_folder_only_if_it_is_that_of_the_run(
    tmp_path: Path,
) -> None:
    program = parse("p(xs : [float]n) = map(x -> x + 1.0, xs) where n = 4", "p")
    file = stored_reference(program, 0, tmp_path)
    sha256, right = hash_of(file), file.read_bytes()
    planted = tmp_path / "elsewhere.npz"
    np.savez(planted, output=np.zeros(4))
    file.unlink()
    file.symlink_to(planted)
    for known in (sha256, hash_of(planted), None):
        stored_reference(program, 0, tmp_path, known)
        assert file.read_bytes() == right
        assert not file.is_symlink()
    assert np.load(planted)["output"].sum() == 0
    np.savez_compressed(file, output=np.ones(4))
    stored_reference(program, 0, tmp_path, hash_of(file))
    assert file.read_bytes() == right


LONG = """long(xs : [[float]n]n, ys : [[float]n]n) =
  map(x -> map(y -> reduce(0.0, (s, (a, b)) -> s + exp(a * b), zip(x, y)), ys), xs)
where n = 3000
"""


def test_a_reference_that_takes_too_long_ends_with_the_time_limit_in_words(
    device: Device, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A program that the interpreter would evaluate for minutes is stopped at the time limit of 1
    s, with a message."""
    file = tmp_path / "long.lift"
    file.write_text(LONG)
    given = ["--families", "naive", "--variants", "1", "--device", str(device.index)]
    begun = time.monotonic()
    status = main([str(file), *given, "--time-limit", "1s", "--out", str(tmp_path / "run")])
    assert status == 1
    said = capsys.readouterr().err
    assert "computing what is right, by the interpreter" in said
    assert "error: the time was up: what is right of long took the interpreter longer" in said
    assert time.monotonic() - begun < 60


def test_while_a_reference_is_computed_something_is_said_and_it_can_be_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reference_worker, "EVERY", 0.2)
    said: list[str] = []

    def note(text: str) -> None:
        said.append(text)
        if len(said) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reference_in_time(parse(LONG), 0, tmp_path, None, note)
    assert said[0] == "computing what is right, by the interpreter"
    assert re.fullmatch(r"computing what is right, by the interpreter: \d+ s", said[1])
    assert not list(tmp_path.iterdir()), "its process is gone, and leaves nothing"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("p(xs : [float]4) = map(x -> sqrt(x - 2.0), xs)", "gives no numbers"),
        (
            "p(xs : [float]4) = reduce(0.0, (a, i) -> a + 1.0, generate(1000000000000, i -> i))",
            "makes none",
        ),
    ],
)
def test_what_the_interpreter_refuses_in_its_own_process_is_told_in_words(
    text: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=said) as told:
        reference_in_time(parse(text), 0, tmp_path, None, print)
    assert "Traceback" not in str(told.value)


def test_results_none_of_which_is_a_number_are_no_reference(tmp_path: Path) -> None:
    program = parse("p(xs : [float]n) = map(x -> sqrt(x - 2.0), xs) where n = 4", "p")
    with pytest.raises(UserError, match="gives no numbers"):
        stored_reference(program, 0, tmp_path)


@pytest.mark.parametrize("row", ["[1]", "{}", "nonsense", None])
def test_a_run_that_does_not_say_what_it_was_is_damaged(tmp_path: Path, row: str | None) -> None:
    with Store.create(tmp_path, ENVIRONMENT):
        pass
    with closing(sqlite3.connect(tmp_path / "run.sqlite")) as connection, connection:
        connection.execute("DELETE FROM environment")
        if row is not None:
            connection.execute("INSERT INTO environment VALUES (?)", [row])
    with Store.read(tmp_path) as store, pytest.raises(UserError, match="damaged"):
        _ = store.environment
