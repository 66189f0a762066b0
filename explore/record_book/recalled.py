"""The knowledge that a search begins from: the variants that a record book has of its program, and
of similar programs.

Only variants that were measured on this machine, on this device with this driver and by this
version, count as tried. All others are hints: their constraints are checked, their kernels proved,
and their times measured again."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, zip_longest

from explore.record_book.distance import distance
from explore.record_book.entries import Entry, Place
from explore.record_book.program_identity import Identity
from explore.record_book.record_book import RecordBook
from explore.record_book.suited import Suited
from explore.results.front import pareto
from explore.results.records import Measured, Record, Variant
from ir.core.frozen import frozen

AGAIN = 4  # variants of the known front that are measured again
ASKED = 4  # variants of the same program, good elsewhere, that are tried first
HINTS = 48  # variants of other programs, devices and versions that are candidates here
NEAREST = 4  # programs that are learned from
LEARNED = 1000  # variants that are learned from, of the nearest; of the next, half as many, …

BEATEN = 1.5  # times slower than what is right, by some groups: it is not tried again


@frozen
class Hint:
    """A form and its parameters' values that were good once; whether they are legal is checked
    again."""

    family: str
    form: str
    parameters: tuple[tuple[str, int], ...]


@frozen
class Recalled:
    """The knowledge of a record book for a search: the front of the same program (`again`), its
    `variants` that were tried, variants to begin with (`asked`), hints from other devices and
    programs, and records from which the times of kernels are learned."""

    again: tuple[Entry, ...] = ()
    variants: tuple[Variant, ...] = ()
    asked: tuple[Hint, ...] = ()
    hints: tuple[Hint, ...] = ()
    learned: tuple[Record, ...] = ()

    @property
    def tried(self) -> frozenset[str]:
        """The ids of the program's variants that were tried."""
        return frozenset(variant.id for variant in self.variants)

    @property
    def first(self) -> tuple[Hint, ...]:
        """The hints that are tried before all others: those of the known front, then those asked
        for."""
        return tuple(dict.fromkeys([*map(hint_of, self.again), *self.asked]))

    @property
    def likely(self) -> tuple[Hint, ...]:
        """The hints that are candidates like others, to be tried when their predicted times are
        good."""
        first = set(self.first)
        return tuple(hint for hint in self.hints if hint not in first)

    def budget(self, variants: int) -> int:
        """The number of variants to try if the user asks for `variants`: fewer by those that were
        tried here before, and beside them those of the known front, which are measured again."""
        return len(self.again) + max(0, variants - len(self.tried))

    def beginning_with(self, records: Sequence[Record]) -> "Recalled":
        """The same knowledge with the variants of `records` to be tried right after the known
        front, before all others."""
        made = (Hint(r.variant.family, r.variant.form, r.variant.parameters) for r in records)
        return replace(self, asked=tuple(dict.fromkeys([*made, *self.asked])))

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
    suited: Suited,
    before: float | None = None,
) -> Recalled:
    """The knowledge of a record book on the program with this identity, for a search on the device
    `place` by `version`, which uses the entries that are `suited` to it; with `before` (seconds
    since 1970), as it was at that time."""
    known = [e for e in book.of_program(identity, before) if suited.allows(e)]
    same = [e for e in known if suited.judged_alike(e)]
    whole = suited.options.domain is None  # of narrower parameters, nobody noted which were tried
    own = [e for e in same if whole and _counts(e, place, version)]
    best = front_of(own)
    slow = [e for e in known if whole and _counts(e, place, version) and _beaten(e, best)]
    again = best[:AGAIN]
    near = [
        [e for e in book.of_program(other, before) if suited.allows(e)]
        for other in nearest(book, identity, place, before)
    ]
    elsewhere = [] if own else same
    ranked = [_ranked(filter(suited.right, entries)) for entries in (elsewhere, *near)]
    hints = dict.fromkeys(map(hint_of, in_turns(ranked)))
    here = [[e for e in entries if _on(e, place) and _ran(e)] for entries in (own or same, *near)]
    told = [sampled(entries, LEARNED >> n) for n, entries in enumerate(filter(None, here))]
    return Recalled(
        again=tuple(again),
        variants=tuple(e.record.variant for e in (*own, *slow)),
        asked=tuple(map(hint_of, ranked[0][:ASKED])),
        hints=tuple(islice(hints, 0 if own else HINTS)),
        learned=tuple(e.record for entries in told for e in entries),
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


def in_turns(several: Iterable[Sequence[Entry]]) -> Iterator[Entry]:
    """The entries of several lists: the first of each, then the second of each, and so on."""
    for turn in zip_longest(*several):
        yield from filter(None, turn)


def sampled(entries: Sequence[Entry], count: int) -> list[Entry]:
    """At most `count` of some entries that are in the order of their times: half of them are the
    fastest, and half are spread evenly over the rest. A model that knows no slow kernels would take
    every kernel for a fast one."""
    if len(entries) <= count:
        return list(entries)
    fast = (count + 1) // 2
    rest, wanted = entries[fast:], count - fast
    return [*entries[:fast], *(rest[n * len(rest) // wanted] for n in range(wanted))]


def _ranked(entries: Iterable[Entry]) -> list[Entry]:
    """The entries that have times, the fastest first."""
    return sorted((e for e in entries if e.time_ns is not None), key=lambda e: e.time_ns or 0.0)


def _counts(entry: Entry, place: Place, version: str) -> bool:
    """True if an entry's variant counts as tried: it was measured here, on this device and by this
    version."""
    return entry.here and entry.place == place and entry.version == version


def _beaten(entry: Entry, best: Sequence[Entry]) -> bool:
    """True if an entry's variant was only tried on some of its groups, so that no result was
    checked, and one on the front, `best`, is much faster and needs no more memory."""
    outcome, memory = entry.record.outcome, entry.memory_bytes
    if not isinstance(outcome, Measured) or outcome.error is not None or memory is None:
        return False
    return any(
        e.time_ns is not None
        and BEATEN * e.time_ns < outcome.time_ns
        and (e.memory_bytes or 0) <= memory
        for e in best
    )


def _ran(entry: Entry) -> bool:
    """True if an entry's variant ran, so that its time, or an estimate of it, is known."""
    return isinstance(entry.record.outcome, Measured)


def _on(entry: Entry, place: Place) -> bool:
    """True if an entry's times were measured on a device of the name and platform of `place`."""
    return (entry.place.device, entry.place.platform) == (place.device, place.platform)
