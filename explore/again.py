"""The front measured again, interleaved, until every point of it has stood that test."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from explore.front import front
from explore.measure import Again, remeasured
from explore.records import Failed, Measured, Record
from explore.store import Store
from explore.worker import Pool

MOST = 4  # times, at most


def measure_again(
    store: Store,
    device: "Pool[Any, Any]",
    elapsed: Callable[[], float],
    note: Callable[[str], None],
) -> None:
    """Later rounds replace earlier times, so luck falls off the front and what it hid comes up."""
    for round in range(1, MOST + 1):
        records = store.records()
        fresh = [r for r in front(records) if r.round == 0]
        if not fresh:
            return
        if round == 1:
            note(f"measuring the front again: {len(fresh)} variants in turns")
        store.append(_timed(fresh, round, device, elapsed))


def _timed(
    fresh: Sequence[Record],
    round: int,
    device: "Pool[Any, Any]",
    elapsed: Callable[[], float],
) -> list[Record]:
    plans = tuple(r.variant.plan for r in fresh if r.variant.plan is not None)
    device.submit(Again(plans), timeout=60.0 + 10.0 * len(plans))
    (done,) = device.results()
    if isinstance(done.result, Failed):
        return [Record(r.variant, r.outcome, elapsed(), time.time(), round) for r in fresh]
    return [
        Record(r.variant, remeasured(r.outcome, medians), elapsed(), time.time(), round)
        for r, medians in zip(fresh, done.result, strict=True)
        if isinstance(r.outcome, Measured)
    ]
