"""The front measured again, interleaved, until every point of it has stood that test."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from explore.front import front, usable
from explore.measure import Again, remeasured
from explore.records import Failed, Measured, Record
from explore.store import Store
from explore.worker import Pool

MOST = 4  # times, at most
NEAR = 0.95  # a time this much shorter is within luck
BESIDE = 8  # variants beside the front, at most


def measure_again(
    store: Store,
    device: "Pool[Any, Any]",
    elapsed: Callable[[], float],
    note: Callable[[str], None],
) -> None:
    """Later rounds replace earlier times, so luck falls off the front and what it hid comes up."""
    for round in range(1, MOST + 1):
        records = store.records()
        if all(r.round > 0 for r in front(records)):
            return
        chosen = contenders(records)
        if round == 1:
            note(f"measuring the front again: {len(chosen)} variants in turns")
        store.append(_timed(chosen, round, device, elapsed))


def contenders(records: Sequence[Record]) -> list[Record]:
    """The front, and what luck alone may have kept off it, the nearest first."""
    best = front(records)
    held = {r.variant.id for r in best}
    others = [r for r in usable(records) if r.round == 0 and r.variant.id not in held]
    far = sorted(((_behind(r, best), i) for i, r in enumerate(others)))
    return best + [others[i] for times, i in far[:BESIDE] if NEAR * times < 1]


def _behind(record: Record, best: Sequence[Record]) -> float:
    """How many times longer it takes than the front with as much memory."""
    memory, time_ns = record.memory_bytes or 0, record.time_ns or 0.0
    there = [r.time_ns or 0.0 for r in best if (r.memory_bytes or 0) <= memory]
    return time_ns / min(there)


def _timed(
    chosen: Sequence[Record],
    round: int,
    device: "Pool[Any, Any]",
    elapsed: Callable[[], float],
) -> list[Record]:
    plans = tuple(r.variant.plan for r in chosen if r.variant.plan is not None)
    device.submit(Again(plans), timeout=60.0 + 10.0 * len(plans))
    (done,) = device.results()
    if isinstance(done.result, Failed):
        return [Record(r.variant, r.outcome, elapsed(), time.time(), round) for r in chosen]
    return [
        Record(r.variant, remeasured(r.outcome, medians), elapsed(), time.time(), round)
        for r, medians in zip(chosen, done.result, strict=True)
        if isinstance(r.outcome, Measured)
    ]
