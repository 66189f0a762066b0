"""A run's outcomes in one SQLite file, written as they come.

Every append is a committed transaction under a rollback journal, so a process killed at any moment
loses only what it had not handed over, and a read-only copy of the folder can still be read.
"""

import errno
import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any

from explore.results.folder_lock import Lock
from explore.results.record_json import from_json, to_json
from explore.results.records import Peer, Record
from explore.results.run_environment import Environment, why_not_comparable
from ir.errors import UserError

FILE = "run.sqlite"
SCHEMA_VERSION = 2

# Columns are for whoever asks in SQL; `details` holds every other field, as compressed JSON.
_COLUMNS = (
    *("id", "key", "family", "parameters", "status", "stage", "reason"),
    *("time_ns", "memory_bytes", "workspace_bytes", "prepack_ns", "error"),
    *("elapsed_s", "unix_s", "round"),
)

_SCHEMA = f"""
CREATE TABLE environment (json TEXT NOT NULL);
CREATE TABLE outcome (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL, key TEXT NOT NULL, family TEXT NOT NULL, parameters TEXT NOT NULL,
  status TEXT NOT NULL, stage TEXT, reason TEXT, time_ns REAL, memory_bytes INTEGER,
  workspace_bytes INTEGER, prepack_ns REAL, error REAL,
  elapsed_s REAL NOT NULL, unix_s REAL NOT NULL, round INTEGER NOT NULL, details BLOB NOT NULL,
  UNIQUE (id, round)
);
CREATE TABLE peer (json TEXT NOT NULL);
PRAGMA user_version = {SCHEMA_VERSION};
"""


class Store:
    """Made by `create`, `resume` (both hold the folder's lock) or `read`."""

    def __init__(self, folder: Path, connection: sqlite3.Connection, lock: Lock | None) -> None:
        self.folder = folder
        self._connection = connection
        self._lock = lock

    @staticmethod
    def create(folder: Path, environment: Environment) -> "Store":
        """A new run; a folder that already holds one is refused, unless nothing came of it."""
        with _told(folder):
            folder.mkdir(parents=True, exist_ok=True)
            lock = Lock(folder)
            with _released_on_error(lock):
                if _holds_outcomes(folder):
                    raise UserError(
                        f"{folder} already holds a run; go on with `explore resume {folder}`, "
                        "or choose another folder with --out"
                    )
                (folder / FILE).unlink(missing_ok=True)
                connection = _connect(folder, "rwc")
                with connection:
                    connection.executescript(f"BEGIN; {_SCHEMA}")
                    connection.execute("INSERT INTO environment VALUES (?)", [environment.dump()])
                return Store(folder, connection, lock)

    @staticmethod
    def resume(folder: Path, now: Environment) -> "Store":
        """Goes on with a run, unless what it measured cannot be compared with what `now` would."""
        with _told(folder):
            _must_exist(folder)
            lock = Lock(folder)
            with _released_on_error(lock):
                store = Store(folder, _connect(folder, "rw"), lock)
                store._check()
                if reason := why_not_comparable(store.environment, now):
                    raise UserError(f"cannot resume {folder}: {reason}; start a new run")
                return store

    @staticmethod
    def read(folder: Path) -> "Store":
        """Looks at a run, also while it is going, also where nothing can be written; of a killed
        one, what was half written is undone first."""
        with _told(folder):
            _must_exist(folder)
            store = Store(folder, _connect(folder, "rw"), None)
            store._check()
            return store

    @property
    def environment(self) -> Environment:
        with _told(self.folder):
            row = self._connection.execute("SELECT json FROM environment").fetchone()
        with _readable(self.folder, "it does not say what was run"):
            return Environment.load(*row)

    def append(self, records: Iterable[Record]) -> None:
        """Durable on return. The same variant and round again replaces what was there."""
        rows = [_row(record) for record in records]
        marks = ", ".join("?" * (len(_COLUMNS) + 1))
        sql = f"INSERT OR REPLACE INTO outcome ({', '.join(_COLUMNS)}, details) VALUES ({marks})"
        with _told(self.folder), self._connection:
            self._connection.executemany(sql, rows)

    def records(self) -> list[Record]:
        """All of them, in the order they came, earlier rounds too."""
        sql = f"SELECT {', '.join(_COLUMNS)}, details FROM outcome ORDER BY seq"
        with _told(self.folder):
            rows = self._connection.execute(sql).fetchall()
        return [_record(row, self.folder) for row in rows]

    def add_peers(self, peers: Sequence[Peer]) -> None:
        with _told(self.folder), self._connection:
            self._connection.executemany(
                "INSERT INTO peer VALUES (?)", [[json.dumps(asdict(peer))] for peer in peers]
            )

    def peers(self) -> list[Peer]:
        """The last measurement of each."""
        with _told(self.folder):
            rows = self._connection.execute("SELECT json FROM peer ORDER BY rowid").fetchall()
        with _readable(self.folder, "what it says of a peer is no measurement"):
            found = [Peer(**json.loads(text)) for (text,) in rows]
        return list({peer.name: peer for peer in found}.values())

    def close(self) -> None:
        self._connection.close()
        if self._lock:
            self._lock.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _check(self) -> None:
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        if not version and not (self.folder / FILE).stat().st_size:
            raise UserError(f"{self.folder / FILE} is empty: it holds no run")
        if version != SCHEMA_VERSION:
            raise UserError(
                f"{self.folder / FILE} has format {version}, this version reads {SCHEMA_VERSION}"
            )
        (verdict,) = self._connection.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise UserError(f"{self.folder / FILE} is damaged: {verdict}")


def _connect(folder: Path, mode: str) -> sqlite3.Connection:
    uri = f"{(folder / FILE).resolve().as_uri()}?mode={mode}"
    connection = sqlite3.connect(uri, uri=True, timeout=10)
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def _holds_outcomes(folder: Path) -> bool:
    """Whether a run stored something here."""
    if not (folder / FILE).exists() or not (folder / FILE).stat().st_size:
        return False
    with closing(_connect(folder, "rw")) as connection:
        tables = "SELECT count(*) FROM sqlite_master WHERE name = 'outcome'"
        (there,) = connection.execute(tables).fetchone()
        return not there or bool(connection.execute("SELECT 1 FROM outcome LIMIT 1").fetchone())


def _must_exist(folder: Path) -> None:
    if not (folder / FILE).is_file():
        raise UserError(f"{folder} holds no run: there is no {FILE} in it")


def _row(record: Record) -> list[Any]:
    fields = to_json(record)
    columns = [fields.pop(name) for name in _COLUMNS]
    columns[_COLUMNS.index("parameters")] = json.dumps(columns[_COLUMNS.index("parameters")])
    return [*columns, zlib.compress(json.dumps(fields, allow_nan=False).encode(), 3)]


def _record(row: tuple[Any, ...], folder: Path) -> Record:
    fields = dict(zip(_COLUMNS, row[:-1], strict=True))
    with _readable(folder, f"what it says of {fields['id']!r} is no outcome of a variant"):
        fields["parameters"] = json.loads(fields["parameters"])
        return from_json({**fields, **json.loads(zlib.decompress(row[-1]))})


@contextmanager
def _readable(folder: Path, otherwise: str) -> Iterator[None]:
    """What is stored may have been changed by another hand."""
    try:
        yield
    except (ValueError, TypeError, KeyError, AttributeError, zlib.error) as error:
        raise UserError(f"{folder / FILE} is damaged: {otherwise} ({error})") from error


@contextmanager
def _released_on_error(lock: Lock) -> Iterator[None]:
    try:
        yield
    except BaseException:
        lock.close()
        raise


@contextmanager
def _told(folder: Path) -> Iterator[None]:
    """What can go wrong with a file, in the user's words."""
    try:
        yield
    except sqlite3.Error as error:
        raise UserError(_explained(folder / FILE, error)) from error
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        what = "the disk is full" if full else error.strerror
        raise UserError(f"cannot write in {folder}: {what}") from error


def _explained(file: Path, error: sqlite3.Error) -> str:
    match getattr(error, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_FULL:
            return f"the disk is full: cannot write {file}; free some space, then resume"
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return f"cannot write {file}: the file or its folder is read-only or cannot be opened"
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return f"{file} is damaged or is not a run's file ({error})"
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return f"{file} is in use by another program"
        case _:
            return f"cannot use {file}: {error}"
