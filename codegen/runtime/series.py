"""Inferences back to back: what one of many costs its user, gaps between kernels included."""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import TypeAlias

from codegen.runtime.queue import Queue, Recorded
from codegen.runtime.results import RunFailed

Clock: TypeAlias = Callable[[], int]  # nanoseconds

BATCH_NS = 8e6  # so long that waiting for its end is a small part of a batch
MOST = 1024  # inferences of a batch: a driver's queue is not endless


class Series:
    """Inferences that are enqueued on a queue that is in order and not profiled; they use the
    recorded launches in `turns` one after the other, each on buffers of its own."""

    def __init__(self, queue: Queue, turns: Sequence[Recorded], clock: Clock) -> None:
        self._queue, self._turns, self._clock = queue, turns, clock
        self._next = 0

    def beside(self, others: "Sequence[Series]") -> "Series":
        """The inferences of this series and of others on the same queue, in turns."""
        every = [turn for series in (self, *others) for turn in series._turns]
        return Series(self._queue, every, self._clock)

    def batch(self, count: int) -> float:
        """The nanoseconds that an inference takes in a batch of `count`, by the host's clock from
        before the first is enqueued to after the last has ended."""
        turns = [self._turns[(self._next + i) % len(self._turns)] for i in range(count)]
        self._next += count
        calls = list(chain.from_iterable(turn.calls for turn in turns))
        begun = self._clock()
        statuses = [call() for call in calls]
        self._queue.finish()
        took = self._clock() - begun
        _demand_taken(statuses)
        return took / count

    def warm(self) -> None:
        """Run an inference that is not timed."""
        self.batch(1)

    def enough(self, inference_ns: float) -> int:
        """The number of inferences, two at least, that make a batch long enough if each takes
        `inference_ns`."""
        return int(min(MOST, max(2, -(-BATCH_NS // max(inference_ns, 1.0)))))


def launched(recorded: Recorded) -> None:
    """Enqueue recorded launches, and wait for none of them."""
    _demand_taken([call() for call in recorded.calls])


def _demand_taken(statuses: Sequence[int]) -> None:
    """Raise RunFailed unless the driver took every launch, that is, all `statuses` are 0."""
    for status in statuses:
        if status:
            raise RunFailed(f"enqueuing a kernel: OpenCL error {status}")
