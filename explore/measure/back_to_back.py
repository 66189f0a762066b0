"""Inferences back to back, batch by batch, with the yardstick between them."""

import time
from collections.abc import Callable
from typing import Protocol

from explore.results.pace import Reading

BATCHES, LIMIT = 5, 0.6  # batches, seconds


class Batches(Protocol):
    """The part of a series of inferences that readings are taken of."""

    def batch(self, count: int) -> float:
        """Nanoseconds of an inference in a batch of `count`."""

    def warm(self) -> None:
        """An inference that is not timed."""

    def enough(self, inference_ns: float) -> int:
        """Inferences that make a batch long enough."""


def readings(
    series: Batches,
    yardstick: Callable[[], float],
    inference_ns: float,
    batches: int = BATCHES,
    limit_s: float = LIMIT,
    clock: Callable[[], float] = time.monotonic,
) -> list[Reading]:
    """Readings of batches, at most so many, none begun after the limit but the first. A reading's
    yardstick is the mean of that before it and that after it."""
    series.warm()
    count, until = series.enough(inference_ns), clock() + limit_s
    found: list[Reading] = []
    before = yardstick()
    while len(found) < batches and (not found or clock() < until):
        took = series.batch(count)
        after = yardstick()
        found.append(Reading(took, (before + after) / 2))
        before = after
    return found
