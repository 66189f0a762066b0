"""Inferences back to back, batch by batch, with the yardstick between them."""

import time
from collections.abc import Callable
from typing import Protocol

from explore.results.pace import Reading

BATCHES, LIMIT = 5, 0.6  # batches, seconds


class Batches(Protocol):
    """The series of inferences that is timed in batches; a caller implements its methods."""

    def batch(self, count: int) -> float:
        """Run a batch of `count` inferences, and return the nanoseconds that one takes."""

    def warm(self) -> None:
        """Run an inference that is not timed."""

    def enough(self, inference_ns: float) -> int:
        """The number of inferences that make a batch long enough to time, if one takes
        `inference_ns`."""


def readings(
    series: Batches,
    yardstick: Callable[[], float],
    inference_ns: float,
    batches: int = BATCHES,
    limit_s: float = LIMIT,
    clock: Callable[[], float] = time.monotonic,
) -> list[Reading]:
    """The readings of at most `batches` batches, each with the mean of the yardstick before and
    after.

    Batches are sized for inferences that take about `inference_ns`. After `limit_s` seconds no
    further batch is begun.
    """
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
