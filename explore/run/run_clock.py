"""The time that a run takes, and whether it is up."""

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True)
class RunClock:
    """The clock of a run, which was begun at the time `begun` and had taken `earlier_s` seconds
    before it was resumed; this start of it may take `limit_s` seconds (None: no limit)."""

    limit_s: float | None
    begun: float  # by the clock: when the run was, with what it derived
    earlier_s: float = 0.0
    clock: Callable[[], float] = time.monotonic

    def late(self) -> bool:
        """True if the time that this start of the run may take is up."""
        return self.limit_s is not None and self._here() > self.limit_s

    def elapsed(self) -> float:
        """Seconds that this run has taken, earlier starts included."""
        return self.earlier_s + self._here()

    def _here(self) -> float:
        return self.clock() - self.begun
