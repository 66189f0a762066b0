"""Tests that a run's file which somebody else may have made is read without harm, or refused with a
message."""

import json
import sqlite3
import zlib
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from explore.run_store.guarded_database import FILE
from explore.run_store.store import Store
from ir.errors import UserError
from tests.support.sample_runs import ENVIRONMENT, PEERS, sample_run

RECORDS = sample_run(12)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    with Store.create(folder, ENVIRONMENT) as store:
        store.append(RECORDS)
        store.add_peers(PEERS)
    return folder


def sql(folder: Path, *statements: str) -> None:
    with closing(sqlite3.connect(folder / FILE)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def read_all(folder: Path) -> None:
    with Store.read(folder) as store:
        _ = store.records(), store.environment, store.peers()


def test_a_run_of_our_own_is_read(run: Path) -> None:
    with Store.read(run) as store:
        assert (store.records(), store.environment, store.peers()) == (RECORDS, ENVIRONMENT, PEERS)


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TRIGGER t AFTER INSERT ON outcome BEGIN DELETE FROM peer; END"],
        ["CREATE VIEW v AS SELECT 1"],
        ["DROP TABLE peer", "CREATE VIEW peer AS SELECT hex(randomblob(99)) AS json"],
        ["ALTER TABLE peer ADD COLUMN x AS (hex(zeroblob(99999)))"],
        ["CREATE TABLE more (x)"],
        ["DROP TABLE environment"],
    ],
)
def test_a_file_with_other_tables_is_no_run(run: Path, statements: list[str]) -> None:
    sql(run, *statements)
    with pytest.raises(UserError, match="its tables are not those of a run"):
        read_all(run)


@pytest.mark.parametrize("name", [FILE, f"{FILE}-journal"])
def test_a_link_in_place_of_a_file_of_the_run_is_refused(
    run: Path, tmp_path: Path, name: str
) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes((run / FILE).read_bytes())
    (run / name).unlink(missing_ok=True)
    (run / name).symlink_to(outside)
    before = outside.read_bytes()
    for use in (Store.read, lambda folder: Store.resume(folder, ENVIRONMENT)):
        with pytest.raises(UserError, match="is a link or no file"):
            use(run)
    assert outside.read_bytes() == before


@pytest.mark.parametrize("name", [FILE, f"{FILE}-journal"])
def test_a_hard_link_in_place_of_a_file_of_the_run_is_refused(
    run: Path, tmp_path: Path, name: str
) -> None:
    """A run whose file or journal is a hard link to a file outside is neither read nor resumed, and
    the file outside stays as it is."""
    outside = tmp_path / "outside"
    outside.write_bytes((run / FILE).read_bytes())
    (run / name).unlink(missing_ok=True)
    (run / name).hardlink_to(outside)
    before = outside.read_bytes()
    for use in (Store.read, lambda folder: Store.resume(folder, ENVIRONMENT)):
        with pytest.raises(UserError, match="is a hard link"):
            use(run)
    assert outside.read_bytes() == before


def test_a_journal_that_names_another_file_deletes_nothing(run: Path, tmp_path: Path) -> None:
    """A journal that names a file outside as its super-journal, which SQLite would delete after
    undoing a transaction, is refused, and the file is still there."""
    precious = tmp_path / "precious"
    precious.write_bytes(b"precious")
    with closing(sqlite3.connect(run / FILE)) as connection:
        connection.execute("PRAGMA cache_size = 1")
        connection.execute("DELETE FROM outcome")
        connection.execute("INSERT INTO peer VALUES (?)", ["x" * 100_000])
        journal, left = (run / f"{FILE}-journal").read_bytes(), (run / FILE).read_bytes()
    (run / FILE).write_bytes(left)
    (run / f"{FILE}-journal").write_bytes(with_super_journal(journal, str(precious).encode()))
    with pytest.raises(UserError, match="names another file"):
        read_all(run)
    assert precious.read_bytes() == b"precious"


def with_super_journal(journal: bytes, name: bytes) -> bytes:
    """The journal with the name of a super-journal at its end, as SQLite's file format has it."""
    size = int.from_bytes(journal[24:28], "big")
    lock_page = (0x40000000 // size + 1).to_bytes(4, "big")
    lengths = len(name).to_bytes(4, "big") + (sum(name) & 0xFFFFFFFF).to_bytes(4, "big")
    return journal + lock_page + name + lengths + bytes.fromhex("d9d505f920a163d7")


def test_a_file_in_another_mode_is_refused_and_leaves_no_log(run: Path) -> None:
    with closing(sqlite3.connect(run / FILE)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    before = sorted(run.iterdir())
    with pytest.raises(UserError, match="in another mode"):
        read_all(run)
    assert sorted(run.iterdir()) == before


def test_a_schema_that_is_no_text_is_told(run: Path) -> None:
    """A file whose schema has bytes that are no text is refused as damaged, though SQLite's own
    message cannot be decoded."""
    whole = (run / FILE).read_bytes()
    (run / FILE).write_bytes(whole.replace(b"CREATE TABLE peer", b"CREATE TABLE \xbe\xbe\xbe\xbe"))
    with pytest.raises(UserError, match=r"run.sqlite is damaged"):
        read_all(run)


def changed(change: Callable[[dict[str, Any]], None]) -> Callable[[bytes], bytes]:
    """A function of a variant's compressed details that returns them with `change` applied."""

    def edit(blob: bytes) -> bytes:
        values = json.loads(zlib.decompress(blob))
        change(values)
        return zlib.compress(json.dumps(values).encode())

    return edit


def put(name: str, value: Any) -> Callable[[bytes], bytes]:
    return changed(lambda values: values.update({name: value}))


DETAILS: Mapping[str, Callable[[bytes], bytes]] = {
    "no object": lambda blob: zlib.compress(b"[1]"),
    "nested without end": lambda blob: zlib.compress(b"[" * 100_000),
    "a bomb": lambda blob: zlib.compress(b'"' + b"x" * (1 << 26)),
    "cut off": lambda blob: blob[:-9],
    "no bytes": lambda blob: b"",
    "not a number": put("spread", float("nan")),
    "a text": put("build_ns", "much"),
    "an infinite run": put("runs_ns", [1e400]),
    "a yes": put("build_ns", True),
    "another derivation": put("derivation", 7),
    "a derivation of no number": put("derivation", []),
    "a derivation beyond all numbers": put("derivation", 1 << 80),
    "another role": changed(lambda v: v["buffers"][0].update(role="host")),
    "a name with a quote": changed(lambda v: v["buffers"][0].update(name='a"; system("x')),
    "no buffer's name": changed(lambda v: v["kernels"][0].update(arguments=["secret"])),
    "two dimensions": changed(lambda v: v["kernels"][0].update(local_size=[1, 1])),
    "a group of none": changed(lambda v: v["kernels"][0].update(local_size=[0, 1, 1])),
    "a size below nothing": changed(lambda v: v["buffers"][0].update(bytes=-1)),
    "a field more": changed(lambda v: v.update(flops=-1)),
    "half a pair": changed(lambda v: v["kernels"][0].update(text="\ud800")),
    "a form with a path": put("form", "../../evil"),
    "a feature of text": put("features", [{"threads": "8"}]),
}


@pytest.mark.parametrize("name", DETAILS)
def test_details_that_no_run_has_are_told(run: Path, name: str) -> None:
    with closing(sqlite3.connect(run / FILE)) as connection, connection:
        row = "FROM outcome WHERE status = 'measured' LIMIT 1"
        seq, blob = connection.execute(f"SELECT seq, details {row}").fetchone()
        values = [DETAILS[name](blob), seq]
        connection.execute("UPDATE outcome SET details = ? WHERE seq = ?", values)
    with pytest.raises(UserError, match=r"run.sqlite is damaged: what it says of"):
        read_all(run)


STEPS: Mapping[str, object] = {
    "no bytes": "much",
    "cut off": zlib.compress(b'{"steps": []}')[:-3],
    "no object": zlib.compress(b"[]"),
    "no list": zlib.compress(b'{"steps": 7}'),
    "a step without a law": zlib.compress(b'{"steps": [{"place": "top", "term": "x"}]}'),
    "half a pair": zlib.compress(b'{"steps": [{"law": "\\ud800", "place": "", "term": ""}]}'),
    "no text": zlib.compress(b"\xff"),
    "a bomb": zlib.compress(b'"' + b"x" * (1 << 26)),
}


@pytest.mark.parametrize("name", STEPS)
def test_derivations_that_no_run_has_are_told(run: Path, name: str) -> None:
    with closing(sqlite3.connect(run / FILE)) as connection, connection:
        connection.execute("UPDATE derivation SET steps = ?", [STEPS[name]])
    with pytest.raises(UserError, match=r"run.sqlite is damaged: what it says of"):
        read_all(run)


@pytest.mark.parametrize(
    "change",
    [
        "id = '../../evil-00000000'",
        "id = 'evil'",
        "id = X'00ff'",
        "family = 'a b'",
        'parameters = \'{"tile": "2"}\'',
        "parameters = '{\"a b\": 2}'",
        "status = 'great'",
        "time_ns = 9e999",
        "time_ns = 'fast'",
        "unix_s = 1e300",
        "elapsed_s = -1",
        "round = 1.5",
    ],
)
def test_columns_that_no_run_has_are_told(run: Path, change: str) -> None:
    sql(run, f"UPDATE outcome SET {change} WHERE seq = (SELECT min(seq) FROM outcome)")
    with pytest.raises(UserError, match=r"run.sqlite is damaged: what it says of"):
        read_all(run)


@pytest.mark.parametrize(
    "change",
    [
        {"started_unix_s": 1e300},
        {"started_unix_s": "yesterday"},
        {"options": [1]},
        {"options": {"jobs": 1_000_000}},
        {"options": {"families": "all"}},
        {"options": {"sizes": {"C": "64"}}},
        {"options": {"limits": {"local_bytes": []}}},
        {"options": {"max_error": "1e-4"}},
        {"options": {"profile": 3}},
        {"bounds": {"flops": -1}},
        {"bounds": {"products": {"count": 1}}},
        {"machine": {"host": 7}},
        {"seed": -1},
        {"program": None},
        {"reference": "../secret"},
    ],
)
def test_an_environment_that_no_run_has_is_told(run: Path, change: dict[str, Any]) -> None:
    values = json.loads(ENVIRONMENT.dump()) | change
    with closing(sqlite3.connect(run / FILE)) as connection, connection:
        connection.execute("UPDATE environment SET json = ?", [json.dumps(values)])
    with pytest.raises(UserError, match=r"run.sqlite is damaged: it does not say what was run"):
        read_all(run)


def test_a_reason_does_not_steer_the_terminal(run: Path) -> None:
    sql(run, "UPDATE outcome SET reason = char(27) || '[2Jgone' WHERE status = 'failed'")
    with Store.read(run) as store:
        (reason,) = {r.outcome.reason for r in store.records() if hasattr(r.outcome, "reason")}
    assert reason == "\ufffd[2Jgone"
