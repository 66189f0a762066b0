"""The bench: variants that run on the device, or wait for it."""

# key: n number of a candidate

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from explore.building.build_variant import Made
from explore.measure.measure_variant import RUN_LIMIT, Measure
from explore.results.records import Variant
from explore.workers.pool import Pool


@dataclass(frozen=True, slots=True)
class Waiting:
    """A built variant that waits for the device; `rounding`: the known error of its laws."""

    number: int
    variant: Variant
    made: Made
    rounding: float


@dataclass(slots=True)
class Bench:
    """The one device, if it is here, and its queue; equal kernels are measured once. `ceiling` says
    above which time, in nanoseconds, a variant is hopeless."""

    device: "Pool[Any, Any] | None"
    ceiling: Callable[[Variant], float | None]
    usual_ns: float | None = None  # the machine's pace, to which times are taken as they come
    running: dict[int, Variant] = field(default_factory=dict)  # in measurement, or waiting for it
    equal: dict[str, list[int]] = field(default_factory=dict)  # numbers by key: of equal kernels
    queue: deque[Waiting] = field(default_factory=deque)

    def join(self, n: int, variant: Variant) -> bool:
        """Let a variant share the outcome of equal kernels; False if none are here."""
        if variant.key not in self.equal:
            return False
        self.equal[variant.key].append(n)
        return True

    def put(self, waiting: Waiting) -> None:
        """Queue a variant."""
        self.running[waiting.number] = waiting.variant
        self.equal[waiting.variant.key] = []
        self.queue.append(waiting)
        self.feed()

    def feed(self) -> None:
        """Give the device the next variant once it is free: what is hopeless is told by all that
        was measured before, of the same round too."""
        while self.queue and self.device is not None and self.device.free:
            task = self._task(self.queue.popleft())
            self.device.submit(task, _patience(task.ceiling_ns))

    def _task(self, w: Waiting) -> Measure:
        made, ceiling = w.made, self.ceiling(w.variant)
        assert made.plan is not None
        return Measure(w.number, made.plan, ceiling, self.usual_ns, made.build_ns, w.rounding)

    def take(self, n: int) -> tuple[Variant, list[int]]:
        """A variant that is measured, and the numbers of those with equal kernels."""
        variant = self.running.pop(n)
        return variant, self.equal.pop(variant.key, [])

    def clear_queue(self) -> bool:
        """Forget what waits; True if there was something."""
        left = [w.number for w in self.queue]
        self.queue.clear()
        for n in left:
            self.take(n)
        return bool(left)


def _patience(ceiling_ns: float | None) -> float:
    """The seconds after which a variant that may not be slower than `ceiling_ns` is ended."""
    return RUN_LIMIT if ceiling_ns is None else min(RUN_LIMIT, 5.0 + 100 * ceiling_ns / 1e9)
