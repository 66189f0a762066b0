"""The front measured again, interleaved, until nothing that was not may be on it.

Times of different minutes do not compare: if the machine is slower now, many that were not measured
again look faster. So what looks better is measured beside the front, twice as many each time.
"""

import time
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from codegen.plan import Plan
from explore.measure.measure_variant import Again, remeasured
from explore.results.front import front, usable
from explore.results.records import Failed, Measured, Record
from explore.results.store import Store
from explore.workers.pool import Pool

NEAR = 0.95  # a time this much shorter is within luck
BESIDE = 8  # variants beside the front the first time, at most


def measure_again(
    store: Store,
    device: "Pool[Any, Any]",
    plans: Callable[[Sequence[Record]], list[Plan]],
    elapsed: Callable[[], float],
    note: Callable[[str], None],
) -> None:
    """Later rounds replace earlier times, so luck falls off the front and what it hid comes up."""
    for turn in count():
        records = store.records()
        chosen = contenders(records, BESIDE << turn)
        if all(r.round > 0 for r in chosen):
            return
        if turn == 0:
            note(f"measuring the front again: {len(chosen)} variants in turns")
        store.append(
            _timed(chosen, plans(chosen), 1 + max(r.round for r in records), device, elapsed)
        )


def contenders(records: Sequence[Record], beside: int = BESIDE) -> list[Record]:
    """The front of what was measured again, or of all, and what luck alone may have kept off it,
    the nearest first: also what was given up beside a time that was too short."""
    found = usable(records, early=True)
    best = front([r for r in found if r.round > 0]) or front(found)
    held = {r.variant.id for r in best}
    others = [r for r in found if r.round == 0 and r.variant.id not in held]
    far = sorted(((_behind(r, best), i) for i, r in enumerate(others)))
    return best + [others[i] for times, i in far[:beside] if NEAR * times < 1]


def _behind(record: Record, best: Sequence[Record]) -> float:
    """How many times longer it takes than the front with as much memory."""
    memory, time_ns = record.memory_bytes or 0, record.time_ns or 0.0
    there = [r.time_ns or 0.0 for r in best if (r.memory_bytes or 0) <= memory]
    return time_ns / min(there) if there else 0.0


def _timed(
    chosen: Sequence[Record],
    plans: Sequence[Plan],
    round: int,
    device: "Pool[Any, Any]",
    elapsed: Callable[[], float],
) -> list[Record]:
    device.submit(Again(tuple(plans)), timeout=60.0 + 10.0 * len(plans))
    (done,) = device.results()
    if isinstance(done.result, Failed):
        return [Record(r.variant, r.outcome, elapsed(), time.time(), round) for r in chosen]
    return [
        Record(r.variant, remeasured(r.outcome, medians), elapsed(), time.time(), round)
        for r, medians in zip(chosen, done.result, strict=True)
        if isinstance(r.outcome, Measured)
    ]
