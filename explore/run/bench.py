"""The bench: variants that run on the device, or wait for it."""

# key: n number of a candidate

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from explore.measure.measure_tasks import RUN_LIMIT, Measure
from explore.results.pace import SLOW
from explore.results.records import Failed, Measured, Outcome, Variant
from explore.run.ledger import HOPELESS
from explore.workers.workers import Workers
from ir.core.frozen import frozen

SURE = 0.75  # of the ceiling: beyond, what some groups foretell is hopeless
LEAST = 0.1  # seconds that a measurement gets, however late it is


@frozen
class Waiting:
    """A built variant that waits for the device: its candidate's number, the variant, and the time
    that building it took."""

    number: int
    variant: Variant
    build_ns: float


class Foretold(NamedTuple):
    """A variant that was tried on some of its groups, and the outcome by these."""

    waiting: Waiting
    outcome: Measured


@dataclass(slots=True)
class Bench:
    """The one worker on the device (None if the device is not here) and the queue of variants for
    it. Of variants with equal kernels, one is measured for all: `running` are those that are
    measured or wait for it, by number, and `equal` has, by the key of their kernels, the numbers of
    the variants that share their outcomes.

    Those that take long are tried on some of their groups first (`queue`, then `trying` while that
    goes on); the quickest of those that were (`tried`, with what was foretold) is measured whole
    before the others, of which its time may show that they are hopeless. Those that would lead by a
    time that was converted from a slow machine's are measured once more when nothing else waits
    (`again`); `doubted` has their first outcomes.

    `ceiling` gives the time in nanoseconds above which a variant is hopeless, or None; times are
    converted to the pace `usual_ns`. `left` gives the seconds that the run has left for a
    measurement, or None; `cut` are the numbers of those that have less than they might need.
    """

    device: Workers | None
    ceiling: Callable[[Variant], float | None]
    usual_ns: float | None = None  # the machine's pace, to which times are taken as they come
    running: dict[int, Waiting] = field(default_factory=dict)  # in measurement, or waiting for it
    equal: dict[str, list[int]] = field(default_factory=dict)  # numbers by key: of equal kernels
    queue: deque[Waiting] = field(default_factory=deque)
    trying: dict[int, Waiting] = field(default_factory=dict)  # on some of their groups
    tried: dict[int, Foretold] = field(default_factory=dict)
    again: deque[Waiting] = field(default_factory=deque)
    doubted: dict[int, Measured] = field(default_factory=dict)
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
        self.running[waiting.number] = waiting
        self.equal[waiting.variant.key] = []
        self.queue.append(waiting)
        self.feed()

    def feed(self) -> None:
        """Give the device the next variant if it is free: one of the queue or, if that is empty,
        the quickest of those that were tried on some of their groups, then one that is doubted. Its
        ceiling comes from all that was measured before, in this round too."""
        while self._more and self.device is not None and self.device.free:
            if self.queue:
                w, in_part = self.queue.popleft(), True
                self.trying[w.number] = w
            elif self.tried:
                number = min(self.tried, key=lambda n: self.tried[n].outcome.time_ns)
                w, in_part = self.tried.pop(number).waiting, False
            else:
                w, in_part = self.again.popleft(), False
            task = self._task(w, in_part)
            patience, left = _patience(task.ceiling_ns), self.left()
            if left is not None and left < patience:
                self.cut.add(task.number)
                patience = max(LEAST, left)
            self.device.submit(task, patience)

    @property
    def _more(self) -> bool:
        return bool(self.queue or self.tried or self.again)

    def _task(self, w: Waiting, in_part: bool) -> Measure:
        plan, rounding = w.variant.plan, w.variant.rounding or 0.0
        assert plan is not None
        ceiling = self.ceiling(w.variant)
        return Measure(w.number, plan, ceiling, self.usual_ns, w.build_ns, rounding, in_part)

    def foretold(self, n: int, outcome: Outcome) -> bool:
        """True if the outcome of variant number n is by some of its groups alone: the variant then
        waits to be measured whole, unless the queue was cleared meanwhile."""
        waiting = self.trying.pop(n, None)
        if not isinstance(outcome, Measured) or outcome.error is not None:
            return False
        if waiting is None:
            self.take(n)
        else:
            self.tried[n] = Foretold(waiting, outcome)
        return True

    def doubts(self, n: int, outcome: Outcome) -> bool:
        """True if variant number n would lead those that need no more memory by a time that was
        converted from a slow machine's, for the first time: then it waits to be measured again. Not
        all kernels are slowed alike."""
        if n in self.doubted or not isinstance(outcome, Measured) or outcome.slowdown < SLOW:
            return False
        waiting = self.running[n]
        ceiling = self.ceiling(waiting.variant)
        if ceiling is None or HOPELESS * outcome.time_ns >= ceiling:
            return False
        self.doubted[n] = outcome
        self.cut.discard(n)
        self.again.append(waiting)
        return True

    def settled(self, n: int, outcome: Outcome) -> Outcome:
        """The outcome that counts of variant number n: of two, that of the quicker machine; the
        first, if the time was up before the end of the second."""
        first = self.doubted.pop(n, None)
        if first is None:
            return outcome
        if isinstance(outcome, Measured):
            return min(first, outcome, key=lambda found: found.slowdown)
        return first if self._cut_off(n, outcome) else outcome

    def given_up(self) -> list[tuple[int, Measured]]:
        """The numbers of the variants that wait to be measured again, with their first outcomes;
        they do not wait any more."""
        left = [w.number for w in self.again]
        self.again.clear()
        return [(n, self.doubted.pop(n)) for n in left]

    def hopeless(self) -> list[tuple[int, Measured]]:
        """The numbers of the variants that some groups showed to be hopeless, with their outcomes;
        they do not wait any more."""
        found = []
        for n, (waiting, outcome) in list(self.tried.items()):
            ceiling = self.ceiling(waiting.variant)
            if ceiling is not None and outcome.time_ns > SURE * ceiling:
                del self.tried[n]
                found.append((n, outcome))
        return found

    def unfinished(self, n: int, outcome: Outcome) -> bool:
        """True if the measurement of variant number n was ended because the run's time was up: that
        says nothing of the variant."""
        return n not in self.doubted and self._cut_off(n, outcome)

    def _cut_off(self, n: int, outcome: Outcome) -> bool:
        return n in self.cut and isinstance(outcome, Failed) and outcome.timed_out

    def take(self, n: int) -> tuple[Variant, list[int]]:
        """The variant number n, now measured, and the numbers of variants with equal kernels; they
        leave the bench."""
        self.trying.pop(n, None)
        variant = self.running.pop(n).variant
        return variant, self.equal.pop(variant.key, [])

    def clear_queue(self) -> bool:
        """Empty the queue, and drop what waits to be measured whole; True if there was a variant
        that was not measured."""
        left = [*(w.number for w in self.queue), *self.tried]
        self.queue.clear()
        self.tried.clear()
        for n in left:
            self.take(n)
        cleared = bool(left or self.trying)
        self.trying.clear()
        return cleared


def _patience(ceiling_ns: float | None) -> float:
    """The seconds that the worker on the device has for a variant before it is ended: enough for
    one that is not slower than `ceiling_ns`; the usual limit if that is None."""
    return RUN_LIMIT if ceiling_ns is None else min(RUN_LIMIT, 5.0 + 100 * ceiling_ns / 1e9)
