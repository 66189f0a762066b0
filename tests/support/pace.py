"""Limits on the processor's time that a test takes, as multiples of what a fixed piece of work
takes on this machine at that moment, so that tests hold on slow machines, too."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

UNIT = 400_000  # turns of the loop of a yardstick: 0.02 to 0.03 s on an AMD EPYC of Zen 3


def yardstick() -> float:
    """The processor's seconds that a loop of plain Python takes here and now."""
    begun, total = time.process_time(), 0
    for i in range(UNIT):
        total += i & 7
    return time.process_time() - begun


@contextmanager
def in_yardsticks(most: float) -> Iterator[None]:
    """Fail if what is done inside takes more processor's time than `most` yardsticks; the slower
    one of those before and after counts."""
    before, begun = yardstick(), time.process_time()
    yield
    took = time.process_time() - begun
    assert took < most * max(before, yardstick())
