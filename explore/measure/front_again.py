"""The measuring of the front again, its variants in turns, until no other variant may belong to it.

Times from different minutes are hard to compare, even at the usual pace. So candidates that look
better than the front are measured in turns with it, twice as many variants each time. A time from
the worst part of a slow spell is trusted less: if its variant may be on the front, it is measured
again.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import count

from codegen.plan import Plan
from explore.measure.measure_tasks import Again, remeasured
from explore.options.units import show_time
from explore.results.front import front, usable
from explore.results.pace import SLOW, clock_ns, slower_words
from explore.results.records import NOISY, Failed, Measured, Record, latest
from explore.run_store.store import Store
from explore.workers.workers import Workers
from ir.core.frozen import frozen
from ir.text.counted import counted

NEAR = 0.95  # a time this much shorter is within luck
DOUBTFUL = 0.8  # and this much, if it was taken while the machine was slow
TURNS = 3  # that doubtful points of the front are measured again, at most
BESIDE = 8  # variants beside the front the first time, at most


@frozen
class _Bench:
    """The means of measuring again: the run's store, the worker on the device, the plans of
    variants, the seconds since the run began, the printer of messages, and the seconds that the run
    has left (None: no limit)."""

    store: Store
    device: Workers
    plans: Callable[[Sequence[Record]], list[Plan]]
    elapsed: Callable[[], float]
    note: Callable[[str], None]
    left: Callable[[], float | None]

    @property
    def late(self) -> bool:
        """True if the time that the run may take is up."""
        left = self.left()
        return left is not None and left < 0

    def room(self, each_s: float) -> int | None:
        """The number of variants that there is time for, if each takes `each_s` seconds; None if
        there is time for any number, or if that is not known (0)."""
        left = self.left()
        return None if left is None or not each_s else int(max(0.0, left) / each_s)

    def measure(self, chosen: Sequence[Record], round: int) -> None:
        """Measure the `chosen` variants in turns, and store their records with this number of
        round."""
        plans = tuple(self.plans(chosen))
        left = self.left()
        task = Again(plans, limit_s=None if left is None else max(0.0, left))
        self.device.submit(task, timeout=60.0 + 10.0 * len(plans))
        (done,) = self.device.results()
        now = self.elapsed(), time.time(), round
        if isinstance(done.result, Failed):
            self.store.append([Record(r.variant, r.outcome, *now) for r in chosen])
            return
        self.store.append(
            [
                Record(r.variant, remeasured(r.outcome, taken, kernels), *now)
                for r, taken, kernels in zip(
                    chosen, done.result.readings, done.result.kernels_ns, strict=True
                )
                if isinstance(r.outcome, Measured)
            ]
        )


def measure_again(
    store: Store,
    device: Workers,
    plans: Callable[[Sequence[Record]], list[Plan]],
    elapsed: Callable[[], float],
    note: Callable[[str], None],
    left: Callable[[], float | None] = lambda: None,
) -> None:
    """Measure the variants of the front again, and all others that might belong there, on the
    worker `device`. `plans` gives the plans of records, `elapsed` the seconds since the run began,
    and messages go to `note`.

    Times of later rounds replace earlier ones, so that a variant which was on the front by luck
    falls off it. `left` gives the seconds that the run has left (None: no limit). Beyond them, no
    pass over the front begins but the first two, and nothing is measured that was measured again
    already.
    """
    before = front(store.records())
    bench = _Bench(store, device, plans, elapsed, note, left)
    _until_nothing_is_left(bench)
    while _calmer(bench):
        _until_nothing_is_left(bench)
    for line in _doubts(_doubtful(store.records())):
        note(line)
    if said := vanished(before, store.records()):
        note(said)


def _calmer(bench: _Bench) -> bool:
    """Measure again those variants of the front whose times are noisy or from a slow spell.
    Variants that were measured again often enough, by earlier starts of the run too, are left out.
    Returns False if no variant is left, or if the time is up."""
    records = bench.store.records()
    again = Counter(r.variant.id for r in records if r.round > 0)
    left = [r for r in _doubtful(records) if again[r.variant.id] <= TURNS]
    if not left or bench.late:
        return False
    bench.measure(left, 1 + max(r.round for r in records))
    return True


def _doubtful(records: Sequence[Record]) -> list[Record]:
    """The variants of the front whose times are noisy or come from a slow spell."""
    return [r for r in front(records) if _noisy(r) or _slow(r)]


def _doubts(doubtful: Sequence[Record]) -> Iterator[str]:
    """Lines about times that stay noisy or slow however often they are measured."""
    noisy, slow = filter(_noisy, doubtful), filter(_slow, doubtful)
    if names := ", ".join(r.variant.id for r in noisy):
        yield f"noisy, with a spread over {NOISY:.0%} however often it was measured: {names}"
    if late := [r.variant.id for r in slow]:
        one = len(late) == 1
        names = f"{', '.join(late)} {'was' if one else 'were'} measured"
        so = "its time is an estimate" if one else "their times are estimates"
        yield f"the machine was slow whenever {names}: {so}"


def _noisy(record: Record) -> bool:
    return isinstance(record.outcome, Measured) and record.outcome.noisy


def _slow(record: Record) -> bool:
    """True if a record's time was measured in the worst part of a slow spell."""
    return isinstance(record.outcome, Measured) and record.outcome.slowdown >= SLOW


def vanished(before: Sequence[Record], records: Sequence[Record]) -> str | None:
    """The message that the best variant is no longer the one of `before`, the front before it was
    measured again; None if it still is."""
    now, again = front(records), {r.variant.id: r for r in latest(records)}
    if not before or not now or now[0].variant.id == before[0].variant.id:
        return None
    was = before[0]
    then, since = show_time(was.time_ns) + " once", show_time(again[was.variant.id].time_ns)
    if isinstance(was.outcome, Measured) and was.outcome.slowdown != 1:
        slow, read = slower_words(was.outcome.slowdown), show_time(clock_ns(was.outcome))
        then += f" (the clock read {read}, on a machine {slow} times slower than usual)"
    best = f"{now[0].variant.id} is the best at {show_time(now[0].time_ns)}"
    return f"{was.variant.id} was {then}, {since} when measured again: {best}"


def _until_nothing_is_left(bench: _Bench) -> None:
    """Measure the front and its contenders, more of them each time, until each was measured again
    or the time is up; after the first time, only as many as there is time for."""
    each_s = 0.0
    for turn in count():
        records = bench.store.records()
        chosen = contenders(records, BESIDE << turn)[: bench.room(each_s)]
        if all(r.round > 0 for r in chosen) or (turn and bench.late):
            return
        if turn == 0:
            bench.note(f"measuring the front again: {counted(len(chosen), 'variant')} in turns")
        begun = bench.elapsed()
        bench.measure(chosen, 1 + max(r.round for r in records))
        each_s = (bench.elapsed() - begun) / len(chosen)


def contenders(records: Sequence[Record], beside: int = BESIDE) -> list[Record]:
    """The variants of the front, and up to `beside` others near it that only bad luck may have kept
    off.

    Among them are variants that were given up because of a time on the front that proved too
    short.
    """
    found = usable(records, early=True)
    best = front([r for r in found if r.round > 0]) or front(found)
    held = {r.variant.id for r in best}
    others = [r for r in found if r.round == 0 and r.variant.id not in held]
    far = sorted((_luck(r) * _behind(r, best), i) for i, r in enumerate(others))
    return best + [others[i] for times, i in far[:beside] if times < 1]


def _luck(record: Record) -> float:
    """The fraction of a record's time to which a new measurement may lower it."""
    return DOUBTFUL if _slow(record) else NEAR


def _behind(record: Record, best: Sequence[Record]) -> float:
    """The ratio of a record's time to the least time among those of `best` that take no more memory
    than the record; 0 if there are none."""
    memory, time_ns = record.memory_bytes or 0, record.time_ns or 0.0
    there = [r.time_ns or 0.0 for r in best if (r.memory_bytes or 0) <= memory]
    return time_ns / min(there) if there else 0.0
