"""Tests of the store of a run: it survives kills, two runs at once, full disks and damaged bytes,
or says what is wrong."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from explore.report.time_notes import told_of_times
from explore.results.front import front
from explore.results.records import Measured, Peer
from explore.results.version import sources_hash, version
from explore.run_store.guarded_database import FILE
from explore.run_store.store import Store
from ir.errors import UserError
from tests.support.changed_runs import change_details, sql
from tests.support.sample_runs import ENVIRONMENT, sample_run

RECORDS = sample_run(120)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    with Store.create(folder, ENVIRONMENT) as store:
        store.append(RECORDS)
        store.add_peers([Peer("torch", 2.0), Peer("torch", 1.0)])
    return folder


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[Path]:
    """A context in which `folder`, which is made, is a file system of its own, mounted with these
    options of `mount`. Skips the test if this process may not mount one."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("mounting a file system needs root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def script(body: str, folder: Path) -> "subprocess.Popen[bytes]":
    """A process that runs these lines of Python with this module's names and with `folder`."""
    text = f"from tests.explore.test_store import *\nfolder = Path(sys.argv[1])\n{body}"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", text, str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, env=env)


def test_what_was_appended_comes_back_in_order(run: Path) -> None:
    with Store.read(run) as store:
        assert store.records() == RECORDS
        assert store.environment == ENVIRONMENT
        assert store.peers() == [Peer("torch", 1.0)]


def test_the_columns_can_be_asked_in_sql(run: Path) -> None:
    connection = sqlite3.connect(run / FILE)
    rows = connection.execute("SELECT id FROM outcome WHERE status = 'measured'").fetchall()
    assert {id for (id,) in rows} == {r.variant.id for r in RECORDS if r.time_ns is not None}


def test_a_run_can_be_watched_while_it_is_written(run: Path) -> None:
    with Store.resume(run, ENVIRONMENT) as writer, Store.read(run) as reader:
        best = front(reader.records())[0]
        writer.append([replace(best, outcome=Measured(1.0, 0.0, 0.0), round=1)])
        assert front(reader.records())[0].time_ns == 1.0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"device": "NVIDIA H200"}, "device 'NVIDIA H200'"),
        ({"platform": "Portable Computing Language"}, "platform 'Portable"),
        ({"driver": "575.1"}, "driver '575.1'"),
        ({"version": "9.9"}, "convlift '9.9'"),
        ({"program": "id(x : float) = x"}, "program "),
    ],
)
def test_a_run_made_elsewhere_is_not_resumed(run: Path, change: dict[str, str], said: str) -> None:
    with pytest.raises(UserError, match=f"cannot resume .*{said}"):
        Store.resume(run, replace(ENVIRONMENT, **change))  # type: ignore[arg-type]
    Store.resume(run, ENVIRONMENT).close()  # and the refusal holds no lock


def test_the_version_names_the_sources_that_choose_and_spell_variants(tmp_path: Path) -> None:
    before = sources_hash([tmp_path])
    (tmp_path / "README.md").write_text("words")
    assert sources_hash([tmp_path]) == before
    (tmp_path / "rule.py").write_text("law = 1")
    changed = sources_hash([tmp_path])
    (tmp_path / "rule.py").write_text("law = 2")
    assert len({before, changed, sources_hash([tmp_path])}) == 3
    assert version() == version()
    assert "+" in version()


def test_a_new_run_does_not_overwrite_an_old_one(run: Path) -> None:
    with pytest.raises(UserError, match="already holds a run"):
        Store.create(run, ENVIRONMENT)


def test_a_run_of_which_nothing_came_makes_room_for_another(tmp_path: Path) -> None:
    Store.create(tmp_path, ENVIRONMENT).close()
    with Store.create(tmp_path, replace(ENVIRONMENT, seed=7)) as store:
        assert store.environment.seed == 7


def test_another_program_s_file_is_left_alone(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / FILE) as other:
        other.execute("CREATE TABLE theirs (x)")
    with pytest.raises(UserError, match="already holds a run"):
        Store.create(tmp_path, ENVIRONMENT)


def test_a_second_run_in_the_same_folder_is_refused(run: Path) -> None:
    body = "store = Store.resume(folder, ENVIRONMENT); print('in', flush=True); time.sleep(100)"
    other = script(body, run)
    assert other.stdout is not None
    assert other.stdout.readline() == b"in\n"
    with pytest.raises(UserError, match=rf"another run \(process {other.pid}\) is writing"):
        Store.resume(run, ENVIRONMENT)
    other.kill()
    other.wait()
    Store.resume(run, ENVIRONMENT).close()  # the lock died with its holder


@pytest.mark.parametrize("attempt", range(4))
def test_kill_9_loses_at_most_the_variant_in_flight(tmp_path: Path, attempt: int) -> None:
    body = (
        "store = Store.create(folder, ENVIRONMENT)\n"
        "for i, r in enumerate(RECORDS): store.append([r]); print(i, flush=True)\n"
    )
    writer = script(body, tmp_path)
    assert writer.stdout is not None
    for _ in range(10 + 7 * attempt):
        last = writer.stdout.readline()
    time.sleep(0.001 * attempt)
    os.kill(writer.pid, signal.SIGKILL)
    said = writer.stdout.read().split()[-1:] or [last]
    writer.wait()
    with Store.resume(tmp_path, ENVIRONMENT) as store:
        kept = store.records()
        assert len(kept) >= int(said[0]) + 1
        assert kept == RECORDS[: len(kept)]
        store.append(RECORDS[len(kept) :])
        assert store.records() == RECORDS


def test_a_run_killed_while_it_wrote_can_be_read(run: Path, tmp_path: Path) -> None:
    """If a run was killed within a transaction, the records from before the transaction are found,
    both when the run is opened to be read and when it is opened to be resumed."""
    with closing(sqlite3.connect(run / FILE)) as connection:
        connection.execute("PRAGMA cache_size = 1")  # pages are written before the end
        connection.execute("DELETE FROM outcome")
        connection.execute("INSERT INTO peer VALUES (?)", ["x" * 100_000])
        left = shutil.copytree(run, tmp_path / "left")
    assert (left / FILE).with_name(f"{FILE}-journal").stat().st_size
    with Store.read(left) as store:
        assert store.records() == RECORDS
    assert Store.resume(left, ENVIRONMENT).records() == RECORDS


def test_a_full_disk_is_said_and_what_was_stored_stays(tmp_path: Path) -> None:
    with mounted(tmp_path / "small", "size=256k") as folder:
        store = Store.create(folder / "run", ENVIRONMENT)
        stored = 0

        def fill() -> None:
            nonlocal stored
            for k in range(100):
                store.append([replace(r, round=k) for r in RECORDS[:10]])
                stored += 10

        with pytest.raises(UserError, match="the disk is full"):
            fill()
        store.close()
        with Store.read(folder / "run") as reader:
            assert len(reader.records()) == stored > 0


def test_no_room_to_begin_is_said(tmp_path: Path) -> None:
    with mounted(tmp_path / "small", "size=64k") as folder:
        (folder / "ballast").write_bytes(b"x" * 65536)
        with pytest.raises(UserError, match="the disk is full"):
            Store.create(folder, ENVIRONMENT)


def test_a_read_only_folder_can_be_read_but_not_written(run: Path, tmp_path: Path) -> None:
    with mounted(tmp_path / "fixed", "size=4m") as folder:
        (folder / FILE).write_bytes((run / FILE).read_bytes())
        subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
        with Store.read(folder) as store:
            assert store.records() == RECORDS
        with pytest.raises(UserError, match=r"cannot write .*[Rr]ead-only"):
            Store.resume(folder, ENVIRONMENT)
        with pytest.raises(UserError, match=r"cannot write in .*[Rr]ead-only"):
            Store.create(folder / "new", ENVIRONMENT)


@pytest.mark.parametrize("rot", ["text", "header", "middle", "empty"])
def test_a_damaged_file_is_said_to_be_damaged(run: Path, rot: str) -> None:
    whole = (run / FILE).read_bytes()
    middle = whole[:8192] + os.urandom(len(whole) - 8192)
    header = b"\0" * 100 + whole[100:]
    found = {"text": b"hello" * 999, "header": header, "middle": middle, "empty": b""}[rot]
    (run / FILE).write_bytes(found)
    with pytest.raises(UserError, match=r"damaged|format 0"):
        Store.read(run).records()


def test_a_folder_without_a_run_is_said_to_have_none(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no run"):
        Store.read(tmp_path / "nowhere")


def test_a_file_where_the_folder_should_be_is_said(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")
    with pytest.raises(UserError, match="cannot write in"):
        Store.create(tmp_path / "run", ENVIRONMENT)


@pytest.mark.parametrize("version", [3, 4])
def test_a_run_of_an_older_format_is_read_by_the_clock_that_it_had(run: Path, version: int) -> None:
    with_steps_in_outcomes(run)

    def older(details: dict[str, Any]) -> None:
        for name in ("clock", "yardstick_ns", "slowdown", "device_ns"):
            details.pop(name, None)

    change_details(run, older)
    sql(run, f"PRAGMA user_version = {version}")
    if version == 3:
        sql(run, "DROP TABLE lost_form")
    with Store.read(run) as store:
        found = store.records()
        assert store.lost_forms() == []
    measured = [r.outcome for r in found if isinstance(r.outcome, Measured)]
    assert {(o.clock, o.slowdown, o.yardstick_ns) for o in measured} == {("device", 1.0, None)}
    assert [r.time_ns for r in found] == [r.time_ns for r in RECORDS]
    (told,) = told_of_times(found, ENVIRONMENT.bounds)
    assert told == "times are sums of device times: an older version measured them"


def with_steps_in_outcomes(run: Path) -> None:
    """Rewrite a run in format 5, in which each outcome has the steps of its derivation."""
    with sqlite3.connect(run / FILE) as connection:
        stored = connection.execute("SELECT number, steps FROM derivation").fetchall()
    steps = {number: json.loads(zlib.decompress(blob))["steps"] for number, blob in stored}
    change_details(run, lambda d: d.update(derivation=steps[d["derivation"]]))
    sql(run, "DROP TABLE derivation", "PRAGMA user_version = 5")


def test_a_run_whose_outcomes_have_their_derivations_is_read(run: Path) -> None:
    with_steps_in_outcomes(run)
    with Store.read(run) as store:
        assert store.records() == RECORDS


def test_variants_of_a_form_share_their_stored_derivation(run: Path) -> None:
    derivations = {record.variant.derivation for record in RECORDS}
    assert len(derivations) < len(RECORDS)
    with sqlite3.connect(run / FILE) as connection:
        ((stored,),) = connection.execute("SELECT count(*) FROM derivation").fetchall()
    assert stored == len(derivations)


def test_a_derivation_of_a_transaction_that_failed_is_stored_by_the_next(tmp_path: Path) -> None:
    first, *rest = RECORDS
    broken = replace(first, elapsed_s=float("nan"))  # which SQLite refuses
    with Store.create(tmp_path / "run", ENVIRONMENT) as store:
        with pytest.raises(UserError, match="elapsed_s"):
            store.append([rest[0], broken])
        store.append([first])
    with Store.read(tmp_path / "run") as store:
        assert store.records() == [first]


def test_a_newer_format_is_not_guessed_at(run: Path) -> None:
    with sqlite3.connect(run / FILE) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(UserError, match="has format 99, this version reads 3, 4, 5 and 6"):
        Store.read(run)
