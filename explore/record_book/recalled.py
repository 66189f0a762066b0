"""The knowledge that a search begins from: the variants that a record book has of its program, and
of similar programs.

Only variants that were measured on this machine, on this device with this driver and by this
version, count as tried. All others are hints: their constraints are checked, their kernels proved,
and their times measured again."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from explore.options.options import Options
from explore.record_book.distance import distance
from explore.record_book.entries import Entry, Place
from explore.record_book.program_identity import Identity
from explore.record_book.record_book import RecordBook
from explore.results.front import pareto
from explore.results.records import Measured, Record

AGAIN = 4  # variants of the known front that are measured again
HINTS = 8  # variants of other programs, devices and versions that are tried first
NEAREST = 4  # programs that are learned from
LEARNED = 600  # variants that are learned from


@dataclass(frozen=True, slots=True)
class Hint:
    """A form and its parameters' values that were good once; whether they are legal is checked
    again."""

    family: str
    form: str
    parameters: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Recalled:
    """The knowledge of a record book for a search: the front of the same program (`again`), the
    names of its variants that were tried, hints from other devices and programs, and records from
    which the times of kernels are learned."""

    again: tuple[Entry, ...] = ()
    tried: frozenset[str] = frozenset()
    hints: tuple[Hint, ...] = ()
    learned: tuple[Record, ...] = ()

    @property
    def first(self) -> tuple[Hint, ...]:
        """The hints in the order in which they are tried: first those of the known front, then all
        others."""
        return tuple(dict.fromkeys([*map(hint_of, self.again), *self.hints]))

    def budget(self, variants: int) -> int:
        """The number of variants to try if the user asks for `variants`: fewer by those that were
        tried here before, but at least those of the known front, which are measured again in any
        case."""
        return max(len(self.again), variants - len(self.tried)) if self.tried else variants

    def beginning_with(self, records: Sequence[Record]) -> "Recalled":
        """This knowledge with the variants of `records` as hints that are tried right after the
        known front, before all others."""
        made = (Hint(r.variant.family, r.variant.form, r.variant.parameters) for r in records)
        return replace(self, hints=tuple(dict.fromkeys([*made, *self.hints])))

    def settles(self, variants: int) -> bool:
        """True if at least `variants` variants were tried here before: then nothing is searched,
        and only the known front is measured again."""
        return bool(self.again) and len(self.tried) >= variants


NOTHING = Recalled()


def hint_of(entry: Entry) -> Hint:
    """The hint that an entry gives."""
    variant = entry.record.variant
    return Hint(variant.family, variant.form, variant.parameters)


def recalled(
    book: RecordBook,
    identity: Identity,
    place: Place,
    version: str,
    options: Options,
    before: float | None = None,
) -> Recalled:
    """The knowledge of a record book on the program with this identity, for a search with these
    options on the device `place` by `version`; with `before` (seconds since 1970), as it was at
    that time."""
    same = [e for e in book.of_program(identity, before) if _asked_for(e, options)]
    own = [e for e in same if _counts(e, place, version)]
    again = front_of(own)[:AGAIN]
    near = [
        [e for e in book.of_program(other, before) if _asked_for(e, options)]
        for other in nearest(book, identity, place, before)
    ]
    elsewhere = [e for e in same if not _counts(e, place, version)]
    hints = dict.fromkeys(_hints([] if own else elsewhere, near))
    here = [e for several in ([*own], *near) for e in several if _on(e, place)]
    return Recalled(
        again=tuple(again),
        tried=frozenset(e.record.variant.id for e in own),
        hints=tuple(islice(hints, 0 if own else HINTS)),
        learned=tuple(e.record for e in here[:LEARNED] if isinstance(e.record.outcome, Measured)),
    )


def front_of(entries: Iterable[Entry]) -> list[Entry]:
    """The entries that no other beats in time and memory, the fastest first."""
    ran = [e for e in entries if e.time_ns is not None]
    return pareto(ran, lambda e: (e.time_ns or 0.0, float(e.memory_bytes or 0)))


def nearest(
    book: RecordBook, identity: Identity, place: Place, before: float | None = None
) -> list[Identity]:
    """The identities of other programs in a record book that are nearest to `identity`, the nearest
    first. Only programs count of which a variant ran on the device `place`; with `before` (seconds
    since 1970), only if it ran before that time."""
    known = book.on_device(place.device, place.platform, before)
    far = [(distance(identity, other), n) for n, other in enumerate(known) if other != identity]
    return [known[n] for d, n in sorted(far)[:NEAREST] if d != float("inf")]


def _hints(elsewhere: Sequence[Entry], near: Sequence[Sequence[Entry]]) -> Iterator[Hint]:
    """The hints from entries of the same program on other devices, then those from `near` programs,
    one of each in turn. Of each program, the front comes first, and other fast variants follow."""
    ranked = [_ranked(several) for several in (elsewhere, *near)]
    for turn in range(HINTS):
        for several in ranked:
            yield from map(hint_of, several[turn : turn + 1])


def _ranked(entries: Sequence[Entry]) -> list[Entry]:
    fast = sorted((e for e in entries if e.time_ns is not None), key=lambda e: e.time_ns or 0.0)
    return fast[:HINTS]


def _counts(entry: Entry, place: Place, version: str) -> bool:
    """True if an entry's variant counts as tried: it was measured here, on this device and by this
    version."""
    return entry.here and entry.place == place and entry.version == version


def _on(entry: Entry, place: Place) -> bool:
    """True if an entry's times were measured on a device of the name and platform of `place`."""
    return (entry.place.device, entry.place.platform) == (place.device, place.platform)


def _asked_for(entry: Entry, options: Options) -> bool:
    """True if the options of a search allow the variant of an entry."""
    families = not options.families or entry.record.variant.family in options.families
    memory = entry.memory_bytes
    return families and (
        options.max_memory is None or memory is None or memory <= options.max_memory
    )
