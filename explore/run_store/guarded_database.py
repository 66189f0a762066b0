"""The SQLite file of a run, opened so that nothing but the file itself is read or written.

A folder may come from anybody. SQLite would follow a link in place of the file, delete the file
that a hand-made journal names as its super-journal, and run whatever triggers, views and generated
columns a schema holds. So: a regular file, a journal of its own, and our tables or none.
"""

import os
import sqlite3
from contextlib import suppress
from pathlib import Path

from explore.files.own_folder import OwnFolder
from explore.run_store.older_runs import ABSENT, NEWEST, READ
from ir.errors import UserError

FILE = "run.sqlite"

COLUMNS = (  # these are for whoever asks in SQL; `details` holds every other field
    *("id", "key", "family", "parameters", "status", "stage", "reason"),
    *("time_ns", "memory_bytes", "workspace_bytes", "prepack_ns", "error"),
    *("elapsed_s", "unix_s", "round"),
)

TABLES = {
    "environment": "CREATE TABLE environment (json TEXT NOT NULL)",
    "outcome": """CREATE TABLE outcome (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL, key TEXT NOT NULL, family TEXT NOT NULL, parameters TEXT NOT NULL,
  status TEXT NOT NULL, stage TEXT, reason TEXT, time_ns REAL, memory_bytes INTEGER,
  workspace_bytes INTEGER, prepack_ns REAL, error REAL,
  elapsed_s REAL NOT NULL, unix_s REAL NOT NULL, round INTEGER NOT NULL, details BLOB NOT NULL,
  UNIQUE (id, round)
)""",
    "peer": "CREATE TABLE peer (json TEXT NOT NULL)",
    "lost_form": "CREATE TABLE lost_form (json TEXT NOT NULL)",
    "derivation": "CREATE TABLE derivation (number INTEGER PRIMARY KEY, steps BLOB NOT NULL)",
}
INDEX = ("sqlite_autoindex_outcome_1", None)  # of its UNIQUE

MOST_BYTES = 1 << 26  # of one value
_JOURNAL_END = bytes.fromhex("d9d505f920a163d7")  # after the name of a super-journal
_HEADER = b"SQLite format 3\0"
_ROLLBACK = b"\x01\x01"  # bytes 18 and 19 of a file that is not in write-ahead mode


def connect(folder: Path, mode: str) -> sqlite3.Connection:
    """The connection to the file of a run; `mode` is SQLite's, `rw` or `rwc`."""
    with OwnFolder.opened(folder) as own:
        _demand_own_files(own)
    uri = f"{folder.resolve().joinpath(FILE).as_uri()}?mode={mode}"
    connection = sqlite3.connect(uri, uri=True, timeout=10)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BYTES)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def create_tables(connection: sqlite3.Connection) -> None:
    """Create the tables of a new run, and note the version of the schema."""
    for sql in TABLES.values():
        connection.execute(sql)
    connection.execute(f"PRAGMA user_version = {NEWEST}")


def demand_our_tables(connection: sqlite3.Connection, file: Path) -> int:
    """The number of the file's format; a UserError if the file has an unknown format or other
    tables, or is damaged."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if not version and not file.stat().st_size:
        raise UserError(f"{file} is empty: it holds no run")
    if version not in READ:
        known = f"{', '.join(map(str, READ[:-1]))} and {READ[-1]}"
        raise UserError(f"{file} has format {version}, this version reads {known}")
    found = set(connection.execute("SELECT name, sql FROM sqlite_master"))
    absent = ABSENT.get(version, frozenset())
    if found != {*((name, sql) for name, sql in TABLES.items() if name not in absent), INDEX}:
        raise UserError(f"{file} is damaged: its tables are not those of a run")
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise UserError(f"{file} is damaged: {verdict}")
    return int(version)


def demand_run(folder: Path) -> None:
    """Raise a UserError if the folder has no file of a run."""
    if not os.path.lexists(folder / FILE):
        raise UserError(f"{folder} holds no run: there is no {FILE} in it")


def _demand_own_files(own: OwnFolder) -> None:
    for name in (FILE, f"{FILE}-journal"):
        own.demand_own(name)
    for name in (f"{FILE}-wal", f"{FILE}-shm"):
        if own.is_there(name):
            raise UserError(
                f"{own.path / name} does not belong to a run: expected no write-ahead log"
            )
    start, _ = _ends(own, FILE, 20)
    if start.startswith(_HEADER) and start[18:20] != _ROLLBACK:
        raise UserError(
            f"{own.path / FILE} is damaged: expected a database with a rollback journal, found one "
            "in another mode"
        )
    if _ends(own, f"{FILE}-journal", len(_JOURNAL_END))[1] == _JOURNAL_END:
        raise UserError(
            f"{own.path / FILE}-journal names another file, a journal of several databases: "
            "expected a journal of this run's alone; the run is not opened"
        )


def _ends(own: OwnFolder, name: str, count: int) -> tuple[bytes, bytes]:
    """The first and the last `count` bytes of the file `name` in the folder; empty if it is not
    there."""
    if not own.is_file(name):
        return b"", b""
    with open(own.open(name, os.O_RDONLY), "rb") as file:
        start = file.read(count)
        with suppress(OSError):  # shorter than that
            file.seek(-count, os.SEEK_END)
            return start, file.read(count)
    return start, b""
