"""The SQLite file of a record book: where it is, how it is opened, and how it is checked.

Many processes may read and write it at once: it has a write-ahead log, and each change is a
transaction. A file may come from anybody, so it must hold our tables and nothing else."""

import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from explore.run_store.guarded_database import MOST_BYTES
from ir.errors import UserError

T = TypeVar("T")

VARIABLE = "CONVLIFT_RECORDS"  # names another file; the empty text, none
FILE = "records.sqlite"
FORMAT, READ = 3, (1, 2, 3)
PATIENCE = 20.0  # seconds that a process waits for others

TABLES = {
    "subject": """CREATE TABLE subject (
  id INTEGER PRIMARY KEY, shape TEXT NOT NULL, sizes TEXT NOT NULL, kinds TEXT NOT NULL,
  name TEXT NOT NULL, program TEXT NOT NULL, UNIQUE (shape, sizes)
)""",
    "place": """CREATE TABLE place (
  id INTEGER PRIMARY KEY, device TEXT NOT NULL, platform TEXT NOT NULL, driver TEXT NOT NULL,
  limits TEXT NOT NULL, UNIQUE (device, platform, driver, limits)
)""",
    "entry": """CREATE TABLE entry (
  id INTEGER PRIMARY KEY, subject INTEGER NOT NULL, place INTEGER NOT NULL, version TEXT NOT NULL,
  here INTEGER NOT NULL, variant TEXT NOT NULL, family TEXT NOT NULL, status TEXT NOT NULL,
  time_ns REAL, memory_bytes INTEGER, unix_s REAL NOT NULL, details BLOB NOT NULL,
  UNIQUE (subject, place, version, here, variant)
)""",
    "device_facts": """CREATE TABLE device_facts (
  place INTEGER NOT NULL, version TEXT NOT NULL, facts TEXT NOT NULL, unix_s REAL NOT NULL,
  UNIQUE (place, version)
)""",
    "code": """CREATE TABLE code (
  key TEXT NOT NULL UNIQUE, unix_s REAL NOT NULL, details BLOB NOT NULL
)""",
}
ABSENT = {1: ("device_facts", "code"), 2: ("code",)}  # tables, by format


def user_file() -> Path | None:
    """The file of this user's record book: the one that the environment variable CONVLIFT_RECORDS
    names, else one in the platform's data folder; None if the variable is set and empty."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        return Path(named) if named else None
    home = Path.home()
    usual = home / ("Library/Application Support" if sys.platform == "darwin" else ".local/share")
    base = os.environ.get("XDG_DATA_HOME", "")
    return (Path(base) if os.path.isabs(base) else usual) / "convlift" / FILE


def connect(file: Path, reading: bool) -> tuple[sqlite3.Connection, bool]:
    """A connection to the record book in a file, which is made if it does not exist; and True if it
    can be written to, which one for `reading` cannot."""
    if file.exists() and not file.is_file():
        raise UserError(f"expected the file of a record book, found the folder {file}")
    writable = not file.exists() or all(os.access(p, os.W_OK) for p in (file, file.parent))
    if reading or not writable:
        return _reading(file), False
    file.parent.mkdir(parents=True, exist_ok=True)
    with _opened(file, "mode=rwc") as connection:
        patiently(lambda: _create(connection, file))  # another program's file is refused unchanged
        patiently(lambda: connection.execute("PRAGMA journal_mode = WAL").fetchone())
        connection.execute("PRAGMA synchronous = NORMAL")
    return connection, True


def _reading(file: Path) -> sqlite3.Connection:
    """A connection that only reads a record book, with what other processes are writing to it; a
    file in a folder where nothing may be written, which SQLite cannot read so, is read as one that
    does not change."""
    try:
        with _opened(file, "mode=ro") as connection:
            patiently(lambda: _demand_our_tables(connection, file))
    except sqlite3.OperationalError:
        with _opened(file, "mode=ro&immutable=1") as connection:
            _demand_our_tables(connection, file)
    return connection


@contextmanager
def _opened(file: Path, mode: str) -> Iterator[sqlite3.Connection]:
    """The context of a new connection to a file, which is closed if the context fails; `mode` is
    the end of SQLite's address of the file."""
    connection = sqlite3.connect(
        f"{file.resolve().as_uri()}?{mode}", uri=True, timeout=PATIENCE, isolation_level=None
    )
    try:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BYTES)
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.text_factory = lambda data: data.decode("utf-8", "replace")  # not all is text
        yield connection
    except BaseException:
        connection.close()
        raise


def absent_from(connection: sqlite3.Connection) -> tuple[str, ...]:
    """The tables that an older record book lacks; they are absent only where it cannot be written
    to."""
    return ABSENT.get(_format(connection), ())


def patiently(act: Callable[[], T]) -> T:
    """The result of `act`, an operation on a record book, repeated while other processes write:
    SQLite's own waiting does not cover every case."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return act()
        except sqlite3.OperationalError as error:
            code = getattr(error, "sqlite_errorcode", 0)  # none for errors of the module's own
            busy = code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
            if not busy or time.monotonic() > until:
                raise
            time.sleep(0.02)


def _create(connection: sqlite3.Connection, file: Path) -> None:
    """Create the missing tables: all of them in an empty file, the newer ones in a file of an older
    format; raises a UserError, and changes nothing, if the file is not that of a record book."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        missing: Iterable[str] = TABLES
        if not _is_empty(connection):
            _demand_our_tables(connection, file)
            missing = ABSENT.get(_format(connection), ())
        for name in missing:
            connection.execute(TABLES[name])
        if missing:
            connection.execute(f"PRAGMA user_version = {FORMAT}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _is_empty(connection: sqlite3.Connection) -> bool:
    (held,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return not held


def _format(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def _demand_our_tables(connection: sqlite3.Connection, file: Path) -> None:
    found = _format(connection)
    sql = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"
    ours = {(name, text) for name, text in TABLES.items() if name not in ABSENT.get(found, ())}
    if found not in READ or set(connection.execute(sql)) != ours:
        raise UserError(f"{file} is damaged, or not the file of a record book: it has other tables")
