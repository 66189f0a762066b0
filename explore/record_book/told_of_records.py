"""Lines of text on the contents of a record book: on one program, before its search begins, and on
the whole book."""

import time
from collections.abc import Iterator

from explore.options.units import show_bytes, show_time
from explore.record_book.recalled import Recalled
from explore.record_book.record_book import RecordBook, Summary
from ir.text.counted import counted


def told_of(known: Recalled) -> Iterator[str]:
    """Lines on the known variants that the search of a program begins from: its best variants of
    earlier runs, or else those that were good for other programs. No lines if the record book holds
    neither."""
    for entry in known.again:
        when = time.strftime("%Y-%m-%d", time.gmtime(entry.record.unix_s))
        yield (
            f"known since {when}: {entry.record.variant.id}, {show_time(entry.time_ns)}, "
            f"{show_bytes(entry.memory_bytes)}; it is measured again"
        )
    if known.tried:
        yield f"{counted(len(known.tried), 'variant')} of this program tried on this device before"
    elif known.hints:
        yield (
            f"{counted(len(known.hints), 'variant')}, good elsewhere, to begin with; "
            f"{counted(len(known.learned), 'record')} to learn from"
        )


def listed(book: RecordBook) -> Iterator[str]:
    """Lines on the contents of a record book: for each program, device and version, how many
    variants there are, and the best time."""
    for s in book.summaries():
        yield line_of(s)


def line_of(s: Summary) -> str:
    """The line on a summary: the program, its sizes, the device, the version, how many variants
    there are and how many of them failed, and the best time."""
    where = "" if s.here else ", merged"
    failed = f", {s.failed} without a time" if s.failed else ""
    what = f"{s.name} {_shortened(s.sizes)}  {s.device}  {s.version}{where}"
    return f"{what}: {counted(s.count, 'variant')}{failed}, best {show_time(s.best_ns)}"


def _shortened(sizes: str) -> str:
    """The text `sizes`, a list such as `[3, 64, 64]`, as its numbers with `×` between them, each
    number once, eight at most."""
    once = list(dict.fromkeys(sizes.strip("[]").split(", ")))
    return "×".join(once[:8]) + ("…" if len(once) > 8 else "")
