"""The record book of a user: outcomes of variants on programs and devices, kept from run to run."""

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from explore.options.stored_fields import LONG, TEXT, Damaged, Fields
from explore.record_book.book_file import absent_from, connect, patiently
from explore.record_book.device_facts import DeviceFacts, facts_from
from explore.record_book.entries import Entry, Place, Subject, details, entry_from, identity_from
from explore.record_book.program_identity import Identity
from explore.run_store.packed_text import packed, unpacked
from ir.core.frozen import frozen
from ir.errors import UserError

LIMIT = 64 << 20  # bytes of a book
LOG = 4 << 20  # bytes of its write-ahead log, above which the log is emptied
EMPTYING_MS = 500  # milliseconds to wait for others before it is emptied
MOST_CODE = 10_000  # kernels whose code is kept, a kilobyte each
LEFT = 0.75  # of the limit, once that is passed
BEST = 16  # the fastest and the leanest of a program on a device, which are forgotten last

_JOINED = """SELECT shape, sizes, kinds, name, program, device, platform, driver, limits, version,
  here, details FROM entry JOIN subject ON subject.id = entry.subject
  JOIN place ON place.id = entry.place"""
_FIELDS = ("shape", "sizes", "kinds", "name", "program", "device", "platform", "driver", "limits")


@frozen
class Summary:
    """A summary of a program's entries on one device by one version: how many variants there are,
    how many of them failed, and the least time in nanoseconds. `here` is true if they were measured
    here, not merged from elsewhere."""

    name: str
    sizes: str
    device: str
    version: str
    here: bool
    count: int
    failed: int
    best_ns: float | None


class RecordBook:
    """An open record book: entries are added to it, and found by program and device."""

    def __init__(self, file: Path, limit_bytes: int = LIMIT, *, reading: bool = False) -> None:
        """The record book in a file; one for `reading` leaves the file as it is. Nothing in a book
        that cannot be written to counts as measured here: it came from elsewhere."""
        self.file, self._limit = file, limit_bytes
        with self._told():
            self._connection, self.writable = connect(file, reading)
            self._absent = absent_from(self._connection)

    def add(self, entries: Iterable[Entry], *, replacing: bool = True) -> int:
        """Keep entries; on return they outlive the end of this process. An entry replaces an
        earlier one of the same variant or, if not `replacing`, leaves it. Returns how many were
        given."""
        rows = list(entries)
        if not self.writable:
            raise UserError(f"cannot write {self.file}: it is read-only")
        with self._changing():
            for entry in rows:
                self._add(entry, "REPLACE" if replacing else "IGNORE")
        if self._bytes() > self._limit:
            self.shrink(int(LEFT * self._limit))
        return len(rows)

    def _add(self, entry: Entry, otherwise: str) -> None:
        key = self._subject(entry.subject), self._place(entry.place), entry.version, entry.here
        record = entry.record
        status = "measured" if entry.time_ns is not None else "other"
        self._connection.execute(
            f"INSERT OR {otherwise} INTO entry (subject, place, version, here, variant, family,"
            " status, time_ns, memory_bytes, unix_s, details)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                *key,
                *(record.variant.id, record.variant.family, status, entry.time_ns),
                *(
                    entry.memory_bytes,
                    record.unix_s,
                    packed(json.dumps(details(entry), allow_nan=False)),
                ),
            ],
        )

    def _subject(self, subject: Subject) -> int:
        identity = subject.identity
        key = identity.shape, json.dumps(identity.sizes)
        more = json.dumps(dict(identity.kinds)), subject.name, subject.program
        self._connection.execute(
            "INSERT OR IGNORE INTO subject (shape, sizes, kinds, name, program)"
            " VALUES (?, ?, ?, ?, ?)",
            [*key, *more],
        )
        return self._one("SELECT id FROM subject WHERE shape = ? AND sizes = ?", key)

    def _place(self, place: Place) -> int:
        key = place.device, place.platform, place.driver, place.limits
        self._connection.execute(
            "INSERT OR IGNORE INTO place (device, platform, driver, limits) VALUES (?, ?, ?, ?)",
            key,
        )
        sql = "SELECT id FROM place WHERE device = ? AND platform = ? AND driver = ? AND limits = ?"
        return self._one(sql, key)

    def _one(self, sql: str, key: Sequence[Any]) -> int:
        (found,) = self._connection.execute(sql, key).fetchone()
        return int(found)

    # ---- what is known

    def of_program(self, identity: Identity, before: float | None = None) -> list[Entry]:
        """The entries of a program at its sizes, on every device and by every version, the fastest
        first; with `before`, only those measured before that time, in seconds since 1970."""
        where = "WHERE shape = ? AND sizes = ? AND unix_s <= ? ORDER BY time_ns IS NULL, time_ns"
        key = identity.shape, json.dumps(identity.sizes), _until(before)
        return list(self._entries(where, key))

    def on_device(self, device: str, platform: str, before: float | None = None) -> list[Identity]:
        """The identities of the programs of which a variant ran on a device of this platform, with
        any driver; with `before`, only before that time, in seconds since 1970."""
        sql = """SELECT DISTINCT shape, sizes, kinds FROM subject
  JOIN entry ON entry.subject = subject.id JOIN place ON place.id = entry.place
  WHERE device = ? AND platform = ? AND unix_s <= ? AND status = 'measured'"""
        found = []
        for row in self._rows(sql, (device, platform, _until(before))):
            fields = dict(zip(_FIELDS, row, strict=False))
            found += [identity for identity in _readable(fields, _identity) if identity]
        return found

    def every(self) -> Iterator[Entry]:
        """All entries, in the order in which they came."""
        return self._entries("ORDER BY entry.id", ())

    def summaries(self) -> list[Summary]:
        """A summary for each program, device and version."""
        sql = """SELECT name, sizes, device, version, here, count(*), sum(status != 'measured'),
  min(time_ns) FROM entry JOIN subject ON subject.id = entry.subject
  JOIN place ON place.id = entry.place GROUP BY entry.subject, entry.place, version, here
  ORDER BY max(unix_s) DESC"""
        names = ("name", "sizes", "device", "version", "here", "count", "failed", "best_ns")
        rows = (dict(zip(names, row, strict=True)) for row in self._rows(sql, ()))
        return [summary for fields in rows for summary in _readable(fields, _summary)]

    def _entries(self, more: str, key: Sequence[Any]) -> Iterator[Entry]:
        """The entries that the SQL condition `more` with the values `key` selects; entries that
        cannot be read are left out."""
        for row in self._rows(f"{_JOINED} {more}", key):
            fields = dict(zip((*_FIELDS, "version", "here", "details"), row, strict=True))
            yield from _readable({**fields, "here": fields["here"] and self.writable}, _entry)

    # ---- facts of devices

    def keep_facts(self, place: Place, version: str, facts: DeviceFacts, unix_s: float) -> None:
        """Keep the facts of a device that a version found at the time `unix_s`; they replace those
        that it found before."""
        with self._changing():
            self._connection.execute(
                "INSERT OR REPLACE INTO device_facts VALUES (?, ?, ?, ?)",
                [self._place(place), version, facts.dump(), unix_s],
            )

    def facts(self, place: Place, version: str, since: float = 0.0) -> DeviceFacts | None:
        """The facts of a device that a version found at the time `since`, in seconds since 1970, or
        later; None if there are none."""
        if "device_facts" in self._absent:
            return None
        sql = """SELECT facts FROM device_facts JOIN place ON place.id = device_facts.place
  WHERE device = ? AND platform = ? AND driver = ? AND limits = ? AND version = ? AND unix_s >= ?"""
        key = place.device, place.platform, place.driver, place.limits, version, since
        found = [f for (text,) in self._rows(sql, key) for f in _readable({"facts": text}, _facts)]
        return found[0] if found else None

    # ---- what compilers made of kernels

    def code(self, key: str) -> str | None:
        """The text that was kept under a key; None if there is none that can be read."""
        if "code" in self._absent:
            return None
        rows = self._rows("SELECT details FROM code WHERE key = ?", (key,))
        try:
            return unpacked(rows[0][0], "code", TEXT) if rows else None
        except (Damaged, UnicodeDecodeError):
            return None

    def keep_code(self, key: str, text: str) -> None:
        """Keep a text under a key; if there are too many texts then, the oldest are forgotten."""
        with self._changing():
            self._connection.execute(
                "INSERT OR REPLACE INTO code VALUES (?, ?, ?)",
                [key, time.time(), packed(text)],
            )
            self._connection.execute(
                "DELETE FROM code WHERE key IN (SELECT key FROM code ORDER BY unix_s DESC"
                f" LIMIT -1 OFFSET {MOST_CODE})"
            )

    # ---- its size

    def forget(self, *, other_than: str | None = None, before: float = 0.0) -> int:
        """Forget all entries and facts of devices that are of another version than `other_than`
        (None: of no version), and all, texts of compilers too, that were found before the time
        `before`, in seconds since 1970; returns how many entries were forgotten."""
        with self._changing():
            gone = self._connection.execute(
                "DELETE FROM entry WHERE version != coalesce(?, version) OR unix_s < ?",
                [other_than, before],
            ).rowcount
            self._connection.execute(
                "DELETE FROM device_facts WHERE version != coalesce(?, version) OR unix_s < ?",
                [other_than, before],
            )
            self._connection.execute("DELETE FROM code WHERE unix_s < ?", [before])
            self._orphans()
        self._compact()
        return gone

    def shrink(self, size: int) -> None:
        """Forget what the book holds until it takes at most `size` bytes: first the oldest texts of
        compilers, which can be made again; then entries, of each program on each device first those
        that are neither among the fastest nor among the leanest, the oldest first."""
        self._shrink_code(size)
        order = f"""SELECT id FROM (SELECT id, unix_s,
  row_number() OVER (PARTITION BY subject, place, version ORDER BY time_ns IS NULL, time_ns) AS t,
  row_number() OVER (PARTITION BY subject, place, version ORDER BY time_ns IS NULL, memory_bytes,
    time_ns) AS m
  FROM entry) ORDER BY min(t, m) <= {BEST}, unix_s LIMIT ?"""
        while self._bytes() > size and (count := self._one("SELECT count(*) FROM entry", ())):
            share = 1 - size / self._bytes()
            with self._changing():
                limit = [max(1, int(count * min(1.0, share + 0.05)))]
                self._connection.execute(f"DELETE FROM entry WHERE id IN ({order})", limit)
                self._orphans()
            self._compact()

    def _shrink_code(self, size: int) -> None:
        """Forget the oldest texts of compilers until the book takes at most `size` bytes, or none
        is left."""
        sql = "SELECT coalesce(sum(length(key) + length(details)), 0) FROM code"
        while (more := self._bytes() - size) > 0 and (held := self._one(sql, ())):
            count = self._one("SELECT count(*) FROM code", ())
            with self._changing():
                self._connection.execute(
                    "DELETE FROM code WHERE key IN (SELECT key FROM code ORDER BY unix_s LIMIT ?)",
                    [max(1, int(count * min(0.5, more / held + 0.05)))],
                )
        self._compact()

    def _orphans(self) -> None:
        self._connection.execute(
            "DELETE FROM device_facts WHERE place NOT IN (SELECT place FROM entry)"
        )
        for table in ("subject", "place"):
            self._connection.execute(
                f"DELETE FROM {table} WHERE id NOT IN (SELECT {table} FROM entry)"
            )

    def _compact(self) -> None:
        """Make the file smaller by the bytes of forgotten entries, unless other processes are using
        it."""
        try:
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.OperationalError:
            return

    def _bytes(self) -> int:
        """The bytes that the entries take; pages that are free do not count."""
        pages = self._one("PRAGMA page_count", ()) - self._one("PRAGMA freelist_count", ())
        return pages * self._one("PRAGMA page_size", ())

    # ---- SQLite

    def _rows(self, sql: str, key: Sequence[Any]) -> list[tuple[Any, ...]]:
        with self._told():
            return patiently(lambda: self._connection.execute(sql, key).fetchall())

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """The context of a transaction: the changes made in it are kept all together, or not at
        all."""
        with self._told():
            patiently(lambda: self._connection.execute("BEGIN IMMEDIATE"))
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            self._shorten_log()

    def _shorten_log(self) -> None:
        """Empty the write-ahead log if it is long, unless another process is still reading in it.
        SQLite alone begins it anew only when no process writes, so that it would grow without end
        where several always do."""
        log = Path(f"{self.file.resolve()}-wal")
        if not log.exists() or log.stat().st_size <= LOG:
            return
        (patience,) = self._connection.execute("PRAGMA busy_timeout").fetchone()
        self._connection.execute(f"PRAGMA busy_timeout = {EMPTYING_MS}")
        try:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.OperationalError:
            return  # it is kept, and emptied later
        finally:
            self._connection.execute(f"PRAGMA busy_timeout = {patience}")

    @contextmanager
    def _told(self) -> Iterator[None]:
        """The context in which errors of SQLite and of files become a UserError."""
        try:
            yield
        except sqlite3.Error as error:
            raise UserError(f"cannot use the records in {self.file}: {error}") from error
        except OSError as error:
            raise UserError(f"cannot write {self.file}: {error.strerror}") from error

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> "RecordBook":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _until(before: float | None) -> float:
    return float("inf") if before is None else before


def _readable(fields: dict[str, Any], read: Any) -> Iterator[Any]:
    """The value of read(fields), where `fields` are those of a row, or no value if the row holds no
    valid entry."""
    try:
        yield read(fields)
    except (Damaged, ValueError, TypeError, RecursionError):
        return


def _summary(fields: dict[str, Any]) -> Summary:
    found = Fields.of(fields, "summary")
    name, sizes, device, version = (
        found.line(field, LONG) for field in ("name", "sizes", "device", "version")
    )
    count, failed = found.whole("count"), found.whole("failed")
    best = found.maybe("best_ns", found.number)
    return Summary(name, sizes, device, version, bool(fields["here"]), count, failed, best)


def _facts(fields: dict[str, Any]) -> DeviceFacts:
    return facts_from(fields["facts"])


def _entry(fields: dict[str, Any]) -> Entry:
    lists = {name: json.loads(fields[name]) for name in ("sizes", "kinds")}
    record = {"record": json.loads(unpacked(fields["details"], "details", TEXT))}
    return entry_from({**fields, **lists, **record}, here=bool(fields["here"]))


def _identity(fields: dict[str, Any]) -> Identity:
    lists = {name: json.loads(fields[name]) for name in ("sizes", "kinds")}
    return identity_from(Fields.of({**fields, **lists}, "program"))
