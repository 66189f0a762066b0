"""The machine's pace, which is what the yardstick took beside each time, and times converted to one
pace.

A shared machine's speed drifts by a factor of two within minutes. So times are not compared as the
clock read them, but as it would have read them at the machine's usual pace.
"""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from explore.results.records import Bounds, Measured, Outcome, Peer, Record
from ir.core.frozen import frozen

ALIKE = 0.05  # paces that differ by less are one: a yardstick has noise of its own
QUIET = 0.25  # a pace this near the quickest is one of a machine left alone
SLOW = 1.2  # times slower than usual: what was measured then is doubtful
MOST = 4.0  # times slower: beyond, a machine is busy, and what a kernel gets of it is luck
FEW = 3  # readings in a row, at least, that make a spell


@frozen
class Reading:
    """A time by the host's clock, with the yardstick's time around it, both in nanoseconds."""

    ns: float
    yardstick_ns: float


@frozen
class Level:
    """The times of several readings converted to one pace, `yardstick_ns`: the median of the
    yardstick's times in these readings."""

    times_ns: tuple[float, ...]
    yardstick_ns: float

    @staticmethod
    def of(readings: Sequence[Reading]) -> "Level":
        """The level of readings: their times, all converted to the median of their yardstick's
        times."""
        pace = statistics.median(r.yardstick_ns for r in readings)
        return Level(tuple(r.ns / slowdown(r.yardstick_ns, pace) for r in readings), pace)

    @property
    def median_ns(self) -> float:
        return statistics.median(self.times_ns)

    def at(self, yardstick_ns: float) -> float:
        """The median of the times at another pace."""
        return self.median_ns / slowdown(self.yardstick_ns, yardstick_ns)

    @property
    def spread(self) -> float:
        """The interquartile range of the times over their median."""
        if len(self.times_ns) < 2 or not self.median_ns:
            return 0.0
        low, _, high = statistics.quantiles(self.times_ns, n=4, method="inclusive")
        return (high - low) / self.median_ns


@frozen
class Spell:
    """A stretch of a run in which the machine was slower than usual, by `factor`: when it began, in
    seconds since the run began, and how long it was."""

    begun_s: float  # since the run began
    seconds: float
    factor: float

    @property
    def words(self) -> str:
        """The spell in words: `the machine slowed by 1.9 for 3 minutes, 12 minutes into the
        run`."""
        lasted, after = _duration(self.seconds), _duration(self.begun_s)
        by = slower_words(self.factor)
        return f"the machine slowed by {by} for {lasted}, {after} into the run"


def slowdown(yardstick_ns: float | None, usual_ns: float | None) -> float:
    """The factor by which a machine is slower than usual, by its yardstick, and which its times are
    divided by: at most `MOST`; 1 if a time is not known."""
    if not yardstick_ns or not usual_ns or abs(yardstick_ns / usual_ns - 1) < ALIKE:
        return 1.0
    return min(MOST, yardstick_ns / usual_ns)


def slower_words(factor: float) -> str:
    """A factor of `slowdown` in words: `1.9`, or `4 or more`."""
    return f"{factor:.2g} or more" if factor >= MOST else f"{factor:.2g}"


def usual_ns(yardsticks: Sequence[float]) -> float | None:
    """The usual pace of a machine: the middle one of the yardstick's times that are near the least;
    None if there are none."""
    if not yardsticks:
        return None
    return statistics.median(yardsticks[n] for n in quiet(yardsticks, None))


def quiet(yardsticks: Sequence[float], usual: float | None) -> list[int]:
    """The numbers of those of the yardstick's times that are near the least of them, and near the
    `usual` one, if it is known: what was measured beside these was measured on a machine left
    alone."""
    least = min((*yardsticks, *([usual] if usual else ())), default=0.0)
    return [n for n, ns in enumerate(yardsticks) if ns <= (1 + QUIET) * least]


def clock_ns(outcome: Measured) -> float:
    """The time of an outcome as the clock read it, before it was converted to the usual pace."""
    return outcome.time_ns * outcome.slowdown


def leveled(outcome: Measured, usual: float | None) -> Measured:
    """The outcome with its times converted to the pace `usual`. Converting it once more, to another
    pace, is as if it were converted to that pace alone."""
    now = slowdown(outcome.yardstick_ns, usual)
    by = outcome.slowdown / now
    return replace(
        outcome,
        time_ns=outcome.time_ns * by,
        runs_ns=tuple(ns * by for ns in outcome.runs_ns),
        kernels_ns=tuple(ns * by for ns in outcome.kernels_ns),
        slowdown=now,
    )


def at_pace(outcome: Outcome, usual: float | None) -> Outcome:
    """An outcome of any kind, with its times converted to the pace `usual` if it has measured
    ones."""
    return leveled(outcome, usual) if isinstance(outcome, Measured) else outcome


def at_usual_pace(records: Sequence[Record]) -> list[Record]:
    """The records with their times converted to the pace that is usual among them."""
    usual = usual_of(records)
    return [replace(r, outcome=at_pace(r.outcome, usual)) for r in records]


def peers_at_pace(peers: Sequence[Peer], usual: float | None) -> list[Peer]:
    """The peers with their times converted to the pace `usual` (None: it is not known, and times
    stay)."""
    return [_peer_at(p, slowdown(p.yardstick_ns, usual)) for p in peers]


def _peer_at(peer: Peer, slower: float) -> Peer:
    """The peer with its times divided by this factor."""
    ours = None if peer.ours_ns is None else peer.ours_ns / slower
    return replace(peer, time_ns=peer.time_ns / slower, ours_ns=ours)


def usual_of(records: Sequence[Record]) -> float | None:
    """The pace that is usual among records; None if none of them has a time of the yardstick."""
    return usual_ns([y for r in records if (y := _yardstick(r)) is not None])


def highest_peak(bounds: Bounds, records: Sequence[Record]) -> Bounds:
    """The bounds with the highest peak of arithmetic that records have seen: the yardstick is
    nothing but arithmetic, and a machine that was slow when its limits were measured may have been
    quick later."""
    seen = [y for r in records if (y := _yardstick(r)) is not None]
    if bounds.peak_flops is None or bounds.yardstick_operations is None or not seen:
        return bounds
    quickest = bounds.yardstick_operations / min(seen) * 1e9
    return replace(bounds, peak_flops=max(bounds.peak_flops, quickest))


def spells(records: Sequence[Record]) -> list[Spell]:
    """The stretches in which the machine was slow, in the order in which they came."""
    seen = sorted((r.elapsed_s, _slowdown(r)) for r in records if _yardstick(r) is not None)
    return list(_stretches(seen))


def told_of_spells(found: Sequence[Spell]) -> list[str]:
    """The line that tells the spells of a run: the spell itself, or how many there were, how slow,
    and for how long in all; no line if there were none."""
    if len(found) < 2:
        return [spell.words for spell in found]
    factors = [spell.factor for spell in found]
    lasted = _duration(sum(spell.seconds for spell in found))
    least, most = f"{min(factors):.2g}", slower_words(max(factors))
    by = f"by {most}" if most in (least, f"{least} or more") else f"by {least} to {most}"
    return [
        f"the machine slowed {len(found)} times, {by}, for {lasted} in all; "
        "times are as at its usual pace"
    ]


def _stretches(seen: Sequence[tuple[float, float]]) -> Iterator[Spell]:
    for slow, group in groupby(seen, lambda at: at[1] >= SLOW):
        there = list(group)
        if slow and len(there) >= FEW:
            begun, ended = there[0][0], there[-1][0]
            yield Spell(begun, ended - begun, statistics.median(factor for _, factor in there))


def _yardstick(record: Record) -> float | None:
    return record.outcome.yardstick_ns if isinstance(record.outcome, Measured) else None


def _slowdown(record: Record) -> float:
    return record.outcome.slowdown if isinstance(record.outcome, Measured) else 1.0


def _duration(seconds: float) -> str:
    """A duration in words: `40 seconds`, `3 minutes`."""
    count, unit = (seconds, "second") if seconds < 90 else (seconds / 60, "minute")
    whole = max(1, round(count))
    return f"{whole} {unit}{'s' * (whole != 1)}"
