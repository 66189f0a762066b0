"""The store of a run's outcomes: one SQLite file, to which outcomes are written as they come.

Every append is a committed transaction under a rollback journal. So a process killed at any moment
loses only outcomes not yet appended, and a read-only copy of the folder can still be read.
"""

import errno
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from explore.files.folder_lock import Lock
from explore.options.stored_fields import Damaged, Fields, loaded
from explore.results.lost_forms import LostForm, lost_form_from
from explore.results.pace import at_usual_pace, highest_peak, peers_at_pace, usual_of
from explore.results.read_environment import environment_from
from explore.results.read_record import from_json, peer_from
from explore.results.record_json import facts_json
from explore.results.records import Peer, Record
from explore.results.run_environment import Environment, why_not_comparable
from explore.run_store.guarded_database import (
    COLUMNS,
    FILE,
    connect,
    create_tables,
    demand_our_tables,
    demand_run,
)
from explore.run_store.older_runs import ABSENT, NEWEST, brought_up
from explore.run_store.packed_text import packed, unpacked
from explore.run_store.stored_derivations import StoredDerivations
from ir.errors import UserError


class Store:
    """The store of a run, opened by `create` or `resume`, which hold the folder's lock, or by
    `read`, which does not."""

    def __init__(self, folder: Path, connection: sqlite3.Connection, lock: Lock | None) -> None:
        self.folder = folder
        self._connection = connection
        self._lock = lock
        self._format = NEWEST
        self._derivations = StoredDerivations(connection)
        self._known: dict[tuple[Any, ...], Record] = {}  # rows that were written or read before

    @staticmethod
    def create(folder: Path, environment: Environment) -> "Store":
        """The store of a new run; a folder that has a run is refused, unless that run stored no
        outcomes."""
        _demand_readable(environment)
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
                connection = connect(folder, "rwc")
                with connection:
                    connection.execute("BEGIN")
                    create_tables(connection)
                    connection.execute("INSERT INTO environment VALUES (?)", [environment.dump()])
                return Store(folder, connection, lock)

    @staticmethod
    def resume(folder: Path, now: Environment) -> "Store":
        """The store of a run that goes on; refused if its times cannot be compared with those
        measured `now`."""
        with _told(folder):
            demand_run(folder)
            lock = Lock(folder)
            with _released_on_error(lock):
                store = Store(folder, connect(folder, "rw"), lock)
                store._check()
                if reason := why_not_comparable(store.environment, now):
                    raise UserError(f"cannot resume {folder}: {reason}; start a new run")
                return store

    @staticmethod
    def read(folder: Path) -> "Store":
        """The store of a run, to read only, also while the run goes on or where nothing can be
        written.

        What a killed run had half written is undone first.
        """
        with _told(folder):
            demand_run(folder)
            store = Store(folder, connect(folder, "rw"), None)
            store._check()
            return store

    @property
    def environment(self) -> Environment:
        with _told(self.folder):
            row = self._connection.execute("SELECT json FROM environment").fetchone()
        with _readable(self.folder, "it does not say what was run"):
            return environment_from(*row)

    @property
    def environment_told(self) -> Environment:
        """The environment as tables and reports tell it: with the highest peak of arithmetic that
        the run has seen."""
        stored = self.environment
        return replace(stored, bounds=highest_peak(stored.bounds, self._as_stored()))

    def keep_reference(self, sha256: str) -> None:
        """Note the hash of the file that holds the right results of the run."""
        changed = replace(self.environment, reference=sha256)
        with _told(self.folder), self._connection:
            self._connection.execute("UPDATE environment SET json = ?", [changed.dump()])

    def append(self, records: Iterable[Record]) -> None:
        """Store records, durable on return; each replaces the one of the same variant and round."""
        marks = ", ".join("?" * (len(COLUMNS) + 1))
        sql = f"INSERT OR REPLACE INTO outcome ({', '.join(COLUMNS)}, details) VALUES ({marks})"
        with self._writing():
            stored = {self._row(record): record for record in records}
            self._connection.executemany(sql, stored)
        self._known.update(stored)

    def records(self) -> list[Record]:
        """All records in the order in which they came, those of earlier rounds included; times are
        at the machine's usual pace."""
        return at_usual_pace(self._as_stored())

    def settle(self) -> None:
        """Rewrite stored times if the usual pace has changed since they were stored, for users who
        read the file by SQL."""
        before = self._as_stored()
        changed = [
            now for was, now in zip(before, at_usual_pace(before), strict=True) if was != now
        ]
        sql = "UPDATE outcome SET time_ns = ?, details = ? WHERE id = ? AND round = ?"
        with self._writing():
            stored = {self._row(record): record for record in changed}
            rows = (dict(zip((*COLUMNS, "details"), row, strict=True)) for row in stored)
            values = [[row[c] for c in ("time_ns", "details", "id", "round")] for row in rows]
            self._connection.executemany(sql, values)
        self._known.update(stored)

    def _as_stored(self) -> list[Record]:
        """The records with the times that the file has for them; each row is parsed only once."""
        sql = f"SELECT {', '.join(COLUMNS)}, details FROM outcome ORDER BY seq"
        with _told(self.folder):
            rows = self._connection.execute(sql).fetchall()
            known = self._known
            self._known = {row: known.get(row) or self._record(row) for row in rows}
        return list(self._known.values())

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A transaction in which records are stored, and derivations that they are the first to
        have; if it fails, none of them is remembered."""
        try:
            with _told(self.folder), self._connection:
                yield
        except BaseException:
            self._derivations = StoredDerivations(self._connection)
            raise

    def _row(self, record: Record) -> tuple[Any, ...]:
        """The row of a record, in a transaction: its derivation may be stored, too."""
        fields = facts_json(record)
        fields["derivation"] = self._derivations.number(record.variant.derivation)
        columns = [fields.pop(name) for name in COLUMNS]
        columns[COLUMNS.index("parameters")] = json.dumps(columns[COLUMNS.index("parameters")])
        return (*columns, packed(json.dumps(fields, allow_nan=False)))

    def _record(self, row: tuple[Any, ...]) -> Record:
        fields = dict(zip(COLUMNS, row[:-1], strict=True))
        with _readable(self.folder, f"what it says of {ascii(fields['id'])[:60]} is no outcome"):
            fields["parameters"] = loaded(fields["parameters"], "parameters").values
            details = loaded(unpacked(row[-1], "details"), "details").values
            stored = brought_up({**details, **fields}, self._format)
            if self._format < NEWEST:
                return from_json(stored)
            steps = self._derivations.steps(Fields(stored, "outcome").whole("derivation"))
            found = from_json({**stored, "derivation": []})
            return replace(found, variant=replace(found.variant, derivation=steps))

    def add_peers(self, peers: Sequence[Peer]) -> None:
        """Store the measurements of peers; the last one of each counts."""
        with _told(self.folder), self._connection:
            self._connection.executemany(
                "INSERT INTO peer VALUES (?)", [[json.dumps(asdict(peer))] for peer in peers]
            )

    def peers(self) -> list[Peer]:
        """The last measurement of each peer; times are at the machine's usual pace."""
        with _told(self.folder):
            rows = self._connection.execute("SELECT json FROM peer ORDER BY rowid").fetchall()
        with _readable(self.folder, "what it says of a peer is no measurement"):
            found = [peer_from(loaded(text, "peer")) for (text,) in rows]
        last = list({peer.name: peer for peer in found}.values())
        return peers_at_pace(last, usual_of(self._as_stored()))

    def add_lost_form(self, lost: LostForm) -> None:
        """Store a form that was not derived."""
        with _told(self.folder), self._connection:
            self._connection.execute("INSERT INTO lost_form VALUES (?)", [json.dumps(asdict(lost))])

    def forget_lost_forms(self) -> None:
        """Forget the lost forms, because a run that goes on derives its forms again."""
        with _told(self.folder), self._connection:
            self._connection.execute("DELETE FROM lost_form")

    def lost_forms(self) -> list[LostForm]:
        """The forms that were not derived, each once, in the order they were lost."""
        if "lost_form" in ABSENT.get(self._format, ()):
            return []
        with _told(self.folder):
            rows = self._connection.execute("SELECT json FROM lost_form ORDER BY rowid").fetchall()
        with _readable(self.folder, "what it says of a form that was lost is none"):
            found = [lost_form_from(loaded(text, "lost form")) for (text,) in rows]
        return list({form.name: form for form in found}.values())

    def close(self) -> None:
        self._connection.close()
        if self._lock:
            self._lock.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _check(self) -> None:
        self._format = demand_our_tables(self._connection, self.folder / FILE)


def _demand_readable(environment: Environment) -> None:
    """Raise a UserError for an environment that could not be read again, before anything of it is
    written."""
    try:
        environment_from(environment.dump())
    except (Damaged, ValueError) as error:
        raise UserError(f"the environment of the run cannot be stored: {error}") from error


def _holds_outcomes(folder: Path) -> bool:
    """True if a run stored outcomes in `folder`, or its file has data but no table for them."""
    if not (folder / FILE).exists() or not (folder / FILE).stat().st_size:
        return False
    with closing(connect(folder, "rw")) as connection:
        tables = "SELECT count(*) FROM sqlite_master WHERE name = 'outcome'"
        (there,) = connection.execute(tables).fetchone()
        return not there or bool(connection.execute("SELECT 1 FROM outcome LIMIT 1").fetchone())


@contextmanager
def _readable(folder: Path, otherwise: str) -> Iterator[None]:
    """The context in which an error from stored data, which somebody may have changed, becomes a
    UserError that the run's file is damaged; `otherwise` says in it what is wrong there."""
    try:
        yield
    except (Damaged, ValueError, TypeError) as error:
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
    """The context in which errors of SQLite and of files become a UserError, in the user's
    words."""
    try:
        yield
    except sqlite3.Error as error:
        raise UserError(_explained(folder / FILE, error)) from error
    except UnicodeDecodeError as error:  # in the words of SQLite, too
        raise UserError(
            f"{folder / FILE} is damaged: expected text in UTF-8, found other bytes"
        ) from error
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
