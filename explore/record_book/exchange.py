"""Record books exported as lines of JSON, and merged from such files, from other record books and
from runs.

Merged entries are not trusted: each line is checked, their number and length are limited, and an
entry counts as measured elsewhere, even if it is this user's own."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from explore.options.stored_fields import TEXT, Damaged, loaded
from explore.record_book.entries import (
    Entry,
    Place,
    Subject,
    entry_from,
    entry_json,
    entry_of,
)
from explore.record_book.program_identity import identity_of
from explore.record_book.record_book import RecordBook
from explore.results.records import Predicted, latest
from explore.run_store.store import Store
from ir.errors import UserError
from ir.parse import parse
from ir.text.show import show

MOST = 1 << 20  # entries that are taken from one file
_SQLITE = b"SQLite format 3\0"


def lines_of(book: RecordBook) -> Iterator[str]:
    """The entries of a book, one JSON object a line."""
    for entry in book.every():
        yield json.dumps(entry_json(entry), allow_nan=False, sort_keys=True)


def merge(book: RecordBook, file: Path) -> int:
    """Add the entries of a file (another record book, or an exported one) or of a run to a record
    book, as measured elsewhere; returns how many. If the file is damaged, nothing is added."""
    return book.add(replace(entry, here=False) for entry in _entries(file))


def _entries(file: Path) -> list[Entry]:
    if file.is_dir():
        return _of_run(file)
    try:
        with open(file, "rb") as opened:
            start = opened.read(len(_SQLITE))
    except OSError as error:
        raise UserError(f"cannot read {file}: {error.strerror}") from None
    if start == _SQLITE:
        with RecordBook(file, reading=True) as other:
            return list(other.every())
    return list(_from_lines(file))


def _of_run(folder: Path) -> list[Entry]:
    """The entries of a run in a folder: the latest outcome of each variant."""
    with Store.read(folder) as store:
        known, records = store.environment, latest(store.records())
    program = parse(known.program_run, known.name)
    subject = Subject(identity_of(program), known.name, show(program))
    limits = {name: list(values) for name, values in known.numbers.items()}
    place = Place(known.device, known.platform, known.driver, json.dumps(limits, sort_keys=True))
    ran = [r for r in records if not isinstance(r.outcome, Predicted)]
    return [entry_of(r, subject, place, known.version) for r in ran]


def _from_lines(file: Path) -> Iterator[Entry]:
    with open(file, encoding="utf-8", errors="surrogateescape") as lines:  # which no record has
        for number, line in enumerate(iter(lambda: lines.readline(TEXT), ""), 1):
            if number > MOST:
                raise UserError(f"{file}: expected at most {MOST:,} records, found more")
            try:
                yield entry_from(loaded(line, "record").values)
            except (Damaged, ValueError, TypeError) as error:
                raise UserError(f"{file}, line {number}: {error}") from error
