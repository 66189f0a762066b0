"""The bench: variants that run on the device, or wait for it."""

# key: n number of a candidate

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from explore.building.build_variant import Made
from explore.measure.measure_variant import RUN_LIMIT, Measure
from explore.results.records import Failed, Outcome, Variant
from explore.workers.workers import Workers

LEAST = 0.1  # seconds that a measurement gets, however late it is


@dataclass(frozen=True, slots=True)
class Waiting:
    """A built variant that waits for the device: its candidate's number, the variant, what was made
    of it, and the known error of its derivation, in machine epsilons (`rounding`)."""

    number: int
    variant: Variant
    made: Made
    rounding: float


@dataclass(slots=True)
class Bench:
    """The one worker on the device (None if the device is not here) and the queue of variants for
    it. Of variants with equal kernels, one is measured for all: `running` are those that are
    measured or wait for it, by number, and `equal` has, by the key of their kernels, the numbers of
    the variants that share their outcomes.

    `ceiling` gives the time in nanoseconds above which a variant is hopeless, or None; times are
    converted to the pace `usual_ns`. `left` gives the seconds that the run has left for a
    measurement, or None; `cut` are the numbers of those that have less than they might need.
    """

    device: Workers | None
    ceiling: Callable[[Variant], float | None]
    usual_ns: float | None = None  # the machine's pace, to which times are taken as they come
    running: dict[int, Variant] = field(default_factory=dict)  # in measurement, or waiting for it
    equal: dict[str, list[int]] = field(default_factory=dict)  # numbers by key: of equal kernels
    queue: deque[Waiting] = field(default_factory=deque)
    left: Callable[[], float | None] = lambda: None
    cut: set[int] = field(default_factory=set)

    def join(self, n: int, variant: Variant) -> bool:
        """Let variant number n share the outcome of a waiting or running variant with equal
        kernels; False if there is none."""
        if variant.key not in self.equal:
            return False
        self.equal[variant.key].append(n)
        return True

    def put(self, waiting: Waiting) -> None:
        """Add a variant to the queue."""
        self.running[waiting.number] = waiting.variant
        self.equal[waiting.variant.key] = []
        self.queue.append(waiting)
        self.feed()

    def feed(self) -> None:
        """Give the device the next variant if it is free; its ceiling comes from all that was
        measured before, in this round too."""
        while self.queue and self.device is not None and self.device.free:
            task = self._task(self.queue.popleft())
            patience, left = _patience(task.ceiling_ns), self.left()
            if left is not None and left < patience:
                self.cut.add(task.number)
                patience = max(LEAST, left)
            self.device.submit(task, patience)

    def _task(self, w: Waiting) -> Measure:
        made, ceiling = w.made, self.ceiling(w.variant)
        assert made.plan is not None
        return Measure(w.number, made.plan, ceiling, self.usual_ns, made.build_ns, w.rounding)

    def unfinished(self, n: int, outcome: Outcome) -> bool:
        """True if the measurement of variant number n was ended because the run's time was up: that
        says nothing of the variant."""
        return n in self.cut and isinstance(outcome, Failed) and outcome.timed_out

    def take(self, n: int) -> tuple[Variant, list[int]]:
        """The variant number n, now measured, and the numbers of variants with equal kernels; they
        leave the bench."""
        variant = self.running.pop(n)
        return variant, self.equal.pop(variant.key, [])

    def clear_queue(self) -> bool:
        """Empty the queue; True if it held a variant."""
        left = [w.number for w in self.queue]
        self.queue.clear()
        for n in left:
            self.take(n)
        return bool(left)


def _patience(ceiling_ns: float | None) -> float:
    """The seconds that the worker on the device has for a variant before it is ended: enough for
    one that is not slower than `ceiling_ns`; the usual limit if that is None."""
    return RUN_LIMIT if ceiling_ns is None else min(RUN_LIMIT, 5.0 + 100 * ceiling_ns / 1e9)
