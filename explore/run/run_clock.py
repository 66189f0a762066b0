"""The time that a run takes, and whether it is up."""

import time
from collections.abc import Callable
from dataclasses import dataclass

LAST_SHARE, LAST_MOST = 0.15, 30.0  # of a limited run, to measure the front again; seconds


@dataclass(slots=True)
class RunClock:
    """The clock of a run, which was begun at the time `begun` and had taken `earlier_s` seconds
    before it was resumed; this start of it may take `limit_s` seconds (None: no limit). A part of
    these is kept for measuring the front again."""

    limit_s: float | None
    begun: float  # by the clock: when the run was, with what it derived
    earlier_s: float = 0.0
    clock: Callable[[], float] = time.monotonic

    def late(self) -> bool:
        """True if it is time to end the search."""
        left = self.left()
        return left is not None and left < self._kept()

    def over(self) -> bool:
        """True if the time that this start of the run may take is up."""
        left = self.left()
        return left is not None and left < 0

    def left(self) -> float | None:
        """Seconds of the time that this start of the run may take; None if it may take any."""
        return None if self.limit_s is None else self.limit_s - self._here()

    def to_measure(self) -> float | None:
        """Seconds that the measurement of a variant may take now, until half of the time that is
        kept for measuring the front again is used up; None if it may take any."""
        left = self.left()
        return None if left is None else left - self._kept() / 2

    def elapsed(self) -> float:
        """Seconds that this run has taken, earlier starts included."""
        return self.earlier_s + self._here()

    def _kept(self) -> float:
        return min(LAST_MOST, LAST_SHARE * (self.limit_s or 0.0))

    def _here(self) -> float:
        return self.clock() - self.begun
