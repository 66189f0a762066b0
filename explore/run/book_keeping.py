"""The use of a record book by a run: outcomes are kept in it, and what a search can begin from is
recalled from it."""

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from explore.measure.reference import largest_error
from explore.options.options import Options
from explore.record_book.book_file import user_file
from explore.record_book.device_facts import DeviceFacts
from explore.record_book.entries import Place, Subject, entry_of
from explore.record_book.program_identity import identity_of
from explore.record_book.recalled import NOTHING, Recalled, recalled
from explore.record_book.record_book import RecordBook
from explore.record_book.suited import Suited
from explore.record_book.told_of_records import told_of
from explore.results.records import Failed, Measured, Outcome, Record
from explore.results.run_environment import NAMED, NO, OWN, Environment
from explore.results.version import version
from explore.run.target import Target, numbers_of
from ir.core.nodes import Program
from ir.errors import UserError
from ir.text.show import show

FRESH = 12 * 3600.0  # seconds for which a search takes the measured facts of a device for true

Records = str | Path | bool | None  # a file; True or None: the user's own; False: none


def place_of(target: Target) -> Place:
    """The target's device as a place of the record book, with the limits that the run takes it to
    have."""
    limits = json.dumps(numbers_of(target.profile), sort_keys=True)
    return Place(target.name, target.platform, target.driver, limits)


def subject_of(program: Program) -> Subject:
    """The program as a subject of the record book: its identity, name and text."""
    return Subject(identity_of(program), program.name, show(program))


def suited_to(program: Program, options: Options) -> Suited:
    """The judge of the entries of a record book that suit a search of a program."""
    return Suited(program, options, largest_error(program, options.max_error))


def opened(records: Records, note: Callable[[str], None]) -> RecordBook | None:
    """The record book that `records` means, opened; None if none is wanted, or if the user's own
    cannot be opened, which is noted. A file that is named must be a record book."""
    if records is False:
        return None
    if isinstance(records, str | Path):
        return RecordBook(Path(records))
    file = user_file()
    try:
        return None if file is None else RecordBook(file)
    except UserError as error:
        note(f"nothing is kept beside the run: {error.message}")
        return None


def state_of(records: Records) -> str:
    """The text that stays the same as long as the record book that `records` means is not written
    to: its file, with the file's size and time."""
    file = Path(records) if isinstance(records, str | Path) else user_file()
    if records is False or file is None:
        return NO
    parts = [path.stat() for path in (file, Path(f"{file}-wal")) if path.is_file()]
    return repr([str(file.resolve()), *((p.st_size, p.st_mtime_ns) for p in parts if p.st_size)])


def book_of(records: Records) -> str:
    """The word that a run stores for the record book that `records` means."""
    return NO if records is False else NAMED if isinstance(records, str | Path) else OWN


def book_again(records: Records, stored: Environment, folder: Path) -> Records:
    """The record book for a run in `folder` that goes on: what `records` says, or, if that is None,
    the one that it has used so far."""
    if records is not None or stored.records == OWN:
        return records
    if stored.records == NO:
        return False
    raise UserError(
        f"{folder} used a file of records that its user named, and does not store where it is: "
        "expected --records FILE, or --no-records to go on without one"
    )


@dataclass(slots=True)
class BookKeeping:
    """The use that a run makes of a record book: it recalls what to begin from, and keeps outcomes
    in `book`, and compiled kernels in `codes`. Without a book, every method does nothing."""

    book: RecordBook | None
    program: Program
    subject: Subject
    place: Place
    note: Callable[[str], None]
    failed: bool = field(default=False)
    codes: RecordBook | None = None  # where compiled kernels are kept

    @staticmethod
    @contextmanager
    def begun(records: Records, program: Program, target: Target) -> "Iterator[BookKeeping]":
        """The use of a record book by a run of a program on a target. If the target's device is not
        on this machine, no variants are kept, but what compilers say of kernels is."""
        with ExitStack() as stack:
            book = opened(records, _say)
            if book is not None:
                stack.enter_context(book)
                if not book.writable:
                    _say(f"{book.file} is read-only: it gives hints, and nothing is kept in it")
            ours = book if target.device is not None else None
            about = program, subject_of(program), place_of(target)
            yield BookKeeping(ours, *about, _say, codes=book)

    def tell(self, options: Options, before: float) -> Recalled:
        """The knowledge in the record book for a search, as it was at the time `before`, in seconds
        since 1970; lines about it are printed."""
        known = self.recall(options, before)
        for line in told_of(known):
            self.note(line)
        return known

    def recall(self, options: Options, before: float) -> Recalled:
        """The knowledge in the record book for a search, as it was at the time `before`, in seconds
        since 1970. A search in random order recalls nothing, so that a seed gives the same variants
        everywhere."""
        if self.book is None or options.strategy == "random":
            return NOTHING
        try:
            return recalled(
                *(self.book, self.subject.identity, self.place, version()),
                *(suited_to(self.program, options), before),
            )
        except UserError as error:
            self._gave_up(error)
            return NOTHING

    def facts(self, known: Recalled, variants: int) -> DeviceFacts | None:
        """The facts of the device from the record book, so that the first result of a program whose
        front is known need not wait until they are measured again; None for any other program. A
        run that has something left to search, of `variants`, takes none that are older than a few
        hours."""
        if self.book is None or not known.again:
            return None
        try:
            since = 0.0 if known.settles(variants) else time.time() - FRESH
            return self.book.facts(self.place, version(), since)
        except UserError as error:
            self._gave_up(error)
            return None

    def keep_facts(self, facts: DeviceFacts) -> None:
        """Keep the measured facts of the device, unless the record book cannot be written."""
        if self.book is None or self.failed or not self.book.writable:
            return
        try:
            self.book.keep_facts(self.place, version(), facts, time.time())
        except UserError as error:
            self._gave_up(error)

    def keep(self, records: Sequence[Record]) -> None:
        """Keep the outcomes of these records, unless the record book cannot be written, which is
        noted once. Predictions are not kept, nor is it that no worker could start. That a result
        was too inexact for this run, though not for most, replaces nothing that is known."""
        if self.book is None or self.failed or not self.book.writable:
            return
        usual, told = largest_error(self.program, None), [r for r in records if _tells(r.outcome)]
        about = self.subject, self.place, version()
        try:
            for replacing in (True, False):
                some = [r for r in told if _fails_by_less(r.outcome, usual) != replacing]
                if some:
                    self.book.add((entry_of(r, *about) for r in some), replacing=replacing)
        except UserError as error:
            self._gave_up(error)

    def _gave_up(self, error: UserError) -> None:
        self.failed = True
        self.note(f"no more is kept beside the run: {error.message}")


def _tells(outcome: Outcome) -> bool:
    """True if an outcome tells other runs of the program something about its variant."""
    return isinstance(outcome, Measured) or (
        isinstance(outcome, Failed) and outcome.stage != "start"
    )


def _fails_by_less(outcome: Outcome, error: float) -> bool:
    """True if an outcome is that of a wrong result whose error is at most `error`."""
    return isinstance(outcome, Failed) and outcome.error is not None and outcome.error <= error


def _say(line: str) -> None:
    """Print a line to the error output, apart from the results."""
    print(line, file=sys.stderr, flush=True)
