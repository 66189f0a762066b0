"""The difference between two runs of a program: variants are compared by their names, fronts by how
much memory their points take.

Two times of a variant count as the same if they differ by less than their spread."""

from collections.abc import Iterator, Sequence
from math import inf

from explore.options.units import show_bytes, show_time
from explore.results.front import front, usable
from explore.results.records import Failed, Measured, Record, latest
from ir.core.frozen import frozen
from ir.text.counted import counted


@frozen
class Changed:
    """A variant that ran in both runs: its record in the first (`before`) and in the second
    (`after`)."""

    before: Record
    after: Record

    @property
    def ratio(self) -> float:
        return (self.after.time_ns or inf) / (self.before.time_ns or inf)

    @property
    def luck(self) -> float:
        """The share of a time by which the two times may differ because of their spreads alone."""
        return max(_spread(self.before), _spread(self.after))

    def slower(self, part: float) -> bool:
        """True if the second time is longer than the first by more than the share `part` of it, and
        by more than `luck`."""
        return self.ratio > 1 + max(part, self.luck)

    def faster(self, part: float) -> bool:
        """True if the first time is longer than the second by more than the share `part` of it, and
        by more than `luck`."""
        return 1 / self.ratio > 1 + max(part, self.luck)


@frozen
class Difference:
    """The difference between two runs: variants that ran in both (`both`), those that fail in the
    second alone (`broken`) and in the first alone (`mended`). `fronts` has each point of the first
    front, beside the quickest variant of the second run that takes no more memory (None: there is
    none). `joined` are the variants of the second front that the first run's front lacks."""

    both: tuple[Changed, ...]
    broken: tuple[Record, ...]
    mended: tuple[Record, ...]
    fronts: tuple[tuple[Record, Record | None], ...]
    joined: tuple[Record, ...]  # on the second front alone

    def slower(self, part: float) -> list[str]:
        """Lines on what became slower by more than the share `part`: points of the first run's
        front, and the variants that were on it."""
        return [*self._slower_points(part), *self._slower_variants(part)]

    def _slower_points(self, part: float) -> Iterator[str]:
        """Lines on the points of the first run's front that the second run does not match: the
        point's own variant fails there or is slower by more than the share `part`; and the quickest
        variant there that takes no more memory is slower than the point by more than that, or there
        is none."""
        still = {pair.before.variant.id for pair in self.both if not pair.slower(part)}
        for before, after in self.fronts:
            if before.variant.id in still:
                continue
            if after is None:
                yield f"nothing is left within {show_bytes(before.memory_bytes)}"
            elif (pair := Changed(before, after)).slower(part):
                yield (
                    f"the best within {show_bytes(before.memory_bytes)} is {pair.ratio:.2f} times "
                    f"as slow: {before.variant.id} at {show_time(before.time_ns)}, now "
                    f"{after.variant.id} at {show_time(after.time_ns)}"
                )

    def _slower_variants(self, part: float) -> Iterator[str]:
        on_front = {before.variant.id for before, _ in self.fronts}
        for pair in self.both:
            if pair.before.variant.id in on_front and pair.slower(part):
                yield f"on the front before: {line_of(pair)}"


def difference(before: Sequence[Record], after: Sequence[Record]) -> Difference:
    """The difference between two runs, given by their records."""
    first, second = (
        {r.variant.id: r for r in latest(records) if not _early(r)} for records in (before, after)
    )
    both = [(first[id], second[id]) for id in first if id in second]
    ran = [(a, b) for a, b in both if a.time_ns is not None and b.time_ns is not None]
    old, new, there = front(before), front(after), usable(after)
    held = {r.variant.id for r in old}
    return Difference(
        both=tuple(Changed(a, b) for a, b in ran),
        broken=tuple(b for a, b in both if a.time_ns is not None and isinstance(b.outcome, Failed)),
        mended=tuple(b for a, b in both if isinstance(a.outcome, Failed) and b.time_ns is not None),
        fronts=tuple((r, _within(there, r.memory_bytes)) for r in old),
        joined=tuple(r for r in new if r.variant.id not in held),
    )


def told(found: Difference, part: float) -> Iterator[str]:
    """Lines on the difference between two runs; times that differ by at most the share `part` count
    as the same."""
    slower = [pair for pair in found.both if pair.slower(part)]
    faster = [pair for pair in found.both if pair.faster(part)]
    same = len(found.both) - len(slower) - len(faster)
    yield (
        f"{counted(len(found.both), 'variant')} ran in both: {len(faster)} faster, "
        f"{len(slower)} slower, {same} the same within {part:.0%} or their spread"
    )
    for title, pairs in (("faster", faster), ("slower", slower)):
        ranked = sorted(pairs, key=lambda pair: -abs(pair.ratio - 1))
        yield from (f"  {title}  {line_of(pair)}" for pair in ranked)
    for title, records in (("fails now", found.broken), ("runs now", found.mended)):
        yield from (f"  {title}  {_name(r)}{_reason(r)}" for r in records)
    for before, after in found.fronts:
        now = "nothing" if after is None else f"{_name(after)} at {show_time(after.time_ns)}"
        yield (
            f"front within {show_bytes(before.memory_bytes)}: {_name(before)} at "
            f"{show_time(before.time_ns)}, now {now}"
        )
    for record in found.joined:
        yield f"  new on the front  {_name(record)} at {show_time(record.time_ns)}"


def line_of(pair: Changed) -> str:
    """The line on a variant's times in both runs, with the share by which spread alone may explain
    their difference."""
    times = f"{show_time(pair.before.time_ns)}, now {show_time(pair.after.time_ns)}"
    return f"{_name(pair.before)}: {times}, {pair.ratio:.2f} times (± {pair.luck:.1%})"


def _within(records: Sequence[Record], memory: int | None) -> Record | None:
    """The quickest of the records that take at most `memory` bytes; None if there is none."""
    fit = [r for r in records if (r.memory_bytes or 0) <= (memory or 0)]
    return min(fit, key=lambda r: r.time_ns or inf, default=None)


def _name(record: Record) -> str:
    variant = record.variant
    words = " ".join([variant.form, *(f"{p}={n}" for p, n in variant.parameters)]).strip()
    return f"{variant.id} ({words})" if words else variant.id


def _reason(record: Record) -> str:
    outcome = record.outcome
    return f": {outcome.stage}: {outcome.reason}" if isinstance(outcome, Failed) else ""


def _spread(record: Record) -> float:
    return record.outcome.spread if isinstance(record.outcome, Measured) else 0.0


def _early(record: Record) -> bool:
    """True if a variant was given up after few runs: its time is an estimate."""
    return isinstance(record.outcome, Measured) and record.outcome.stopped_early
