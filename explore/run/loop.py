"""The loop of a run: rounds of candidates are built, then measured, and the search is told the
outcomes.

Rounds are taken in a fixed order and their results too, so that one seed gives one sequence of
variants however long each build takes. On a GPU the next round is built while this one is measured;
on a CPU builds would disturb the times, so they take turns.
"""

# key: n number of a candidate

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from codegen.plan import Plan
from explore.building.build_variant import Made, Task
from explore.measure.measure_variant import RUN_LIMIT, Measure
from explore.report.progress import Watch
from explore.results.options import Options
from explore.results.pace import at_pace
from explore.results.records import (
    Failed,
    Measured,
    Outcome,
    Predicted,
    Record,
    Variant,
    kernels_of,
    latest,
)
from explore.results.store import Store
from explore.run.candidates import Candidates
from explore.search.search import Search
from explore.workers.pool import Pool, wait_any

HOPELESS = 2.0  # times slower than the best known for its memory: not worth more runs

Judge = Callable[[Variant], Predicted]


@dataclass(slots=True)
class Loop:
    """The state of one pass through the rounds; `judge` gives outcomes for a device that is not
    here."""

    options: Options
    candidates: Candidates
    store: Store
    watch: Watch
    builders: Pool[Task, Made]
    device: "Pool[Any, Any] | None"
    judge: Judge | None
    overlap: bool
    before: Mapping[str, Record]  # outcomes of an earlier start of this run
    usual_ns: float | None = None  # the machine's pace, to which times are taken as they come
    made_here: dict[str, Plan] = field(default_factory=dict)  # by variant: filled as they are made
    clock: Callable[[], float] = time.monotonic
    outcomes: dict[str, Outcome] = field(default_factory=dict)  # by key
    waiting: dict[str, list[int]] = field(default_factory=dict)  # numbers by key, in measurement
    running: dict[int, Variant] = field(default_factory=dict)  # in measurement, or waiting for it
    queue: deque[tuple[int, Made]] = field(default_factory=deque)  # waiting for the device
    made: dict[int, Made] = field(default_factory=dict)
    chosen: list[int] = field(default_factory=list)  # by the search, beyond the round
    round: list[int] = field(default_factory=list)
    delivered: int = 0  # of the round
    seen: set[str] = field(default_factory=set)
    left: int = 0
    best: list[tuple[float, int]] = field(default_factory=list)  # time, memory
    search: Search = field(init=False)
    begun: float | None = None  # by the clock: when the run was, with what it derived
    earlier_s: float = 0.0

    def run(self) -> bool:
        """Go through the rounds; returns True at the end, False when the time was up before."""
        self.search = self.candidates.search(self.options)
        self.begun = self.clock() if self.begun is None else self.begun
        self.earlier_s = max((r.elapsed_s for r in self.before.values()), default=0.0)
        self.left = max(0, self.options.variants - len(self.before))
        chosen = self._next()
        while chosen:
            self._begin(chosen)
            self._build()
            if not self.overlap:
                self._settled()
            chosen = None if self.late() else self._next()
        return self._settled() and chosen is not None

    # ---- rounds

    def _next(self) -> list[int] | None:
        """The next round's candidates, within the budget, once what they depend on is known; None
        if the time is up before."""
        if self.left <= len(self.running):
            return []
        while not self.chosen:
            chosen = self.search.next_round()
            if chosen is not None:
                self.chosen = chosen
                break
            if self.late():
                return None
            self._pump()
        room = self.left - len(self.running)
        now, self.chosen = self.chosen[:room], self.chosen[room:]
        return now

    def _begin(self, chosen: list[int]) -> None:
        self.round, self.delivered = chosen, 0
        self.made = {}
        for n in chosen:
            if self.candidates.variants[n].id in self.before:
                continue
            if self.candidates.certified(n):
                self.builders.submit(self.candidates.task(n))
            else:
                failed = Failed("constrain", "the point does not satisfy its constraints")
                self.made[n] = Made(None, None, None, None, 0.0, failed)

    def _build(self) -> None:
        """Build all variants of the round, and hand them on."""
        while self.delivered < len(self.round):
            if self.overlap or not self.builders.pending:
                self._deliver()
            if self.delivered < len(self.round):
                self._pump()

    def _deliver(self) -> None:
        """Hand on the variants that are built, in order."""
        while self.delivered < len(self.round):
            n = self.round[self.delivered]
            known = self.before.get(self.candidates.variants[n].id)
            if known is None and n not in self.made:
                return
            self.delivered += 1
            if known is None:
                self._hand_on(n, self.made.pop(n))
            else:
                self._remember(n, replace(known, outcome=at_pace(known.outcome, self.usual_ns)))

    def _settled(self) -> bool:
        """Take in outcomes of what is built, all or, when the time is up, of what is being
        measured.

        Returns True if nothing was left to a resumed run.
        """
        while self.running and not (self.late() and self.outcomes):
            self._pump()
        left = [n for n, _ in self.queue]
        self.queue.clear()
        for n in left:
            del self.waiting[self.running.pop(n).key]
        while self.running:
            self._pump()
        return not left

    def _pump(self) -> None:
        """Take in what the workers have done, waiting for one of them."""
        pools: list[Pool[Any, Any]] = [self.builders, *([self.device] if self.device else [])]
        if not any(pool.pending for pool in pools):
            raise AssertionError("the run waits for nothing")
        for pool, done in wait_any(pools):
            if pool is self.builders:
                result = done.result
                if isinstance(result, Failed):
                    result = Made(None, None, None, None, done.seconds * 1e9, result)
                self.made[done.task.number] = result
            else:
                self._settle(done.task.number, done.result)

    def late(self) -> bool:
        """True if the time that this start of the run may take is up."""
        limit = self.options.time_limit
        return limit is not None and self.clock() - (self.begun or 0.0) > limit

    def elapsed(self) -> float:
        """The seconds that this run has taken, earlier starts included."""
        return self.earlier_s + self.clock() - (self.begun or 0.0)

    # ---- outcomes

    def _hand_on(self, n: int, made: Made) -> None:
        """Hand a built variant on to be measured, unless the outcome of the same kernels is
        known."""
        variant = replace(
            self.candidates.variants[n],
            derivation=self.candidates.forms[self.candidates.form_of[n]].lowered.steps,
            plan=made.plan,
            flops=made.flops,
            traffic_bytes=made.traffic_bytes,
            chip_bytes=made.chip_bytes,
        )
        if made.plan is not None and variant.key in self.outcomes:
            self._tell(n, self.outcomes[variant.key])
        elif made.plan is not None and variant.key in self.waiting:
            self.waiting[variant.key].append(n)
        elif made.failed is not None:
            self._record(n, variant, made.failed)
        elif self.device is None:
            assert self.judge is not None
            self._record(n, variant, self.judge(variant))
        else:
            self.running[n] = variant
            self.waiting[variant.key] = []
            self.queue.append((n, made))
            self._feed()

    def _feed(self) -> None:
        """Give the device the next variants while it is free, each with the time above which it is
        hopeless."""
        while self.queue and self.device is not None and self.device.free:
            n, made = self.queue.popleft()
            task = self._measure(n, self.running[n], made)
            self.device.submit(task, _patience(task.ceiling_ns))

    def _measure(self, n: int, variant: Variant, made: Made) -> Measure:
        assert made.plan is not None
        known = self.candidates.forms[self.candidates.form_of[n]].lowered.rounding
        ceiling = self._ceiling(variant)
        return Measure(n, made.plan, ceiling, self.usual_ns, made.build_ns, known)

    def _settle(self, n: int, outcome: Outcome) -> None:
        variant, outcome = self.running.pop(n), at_pace(outcome, self.usual_ns)
        self._record(n, variant, outcome)
        for other in self.waiting.pop(variant.key, []):
            self._tell(other, outcome)
        self._feed()

    def _record(self, n: int, variant: Variant, outcome: Outcome) -> None:
        record = Record(variant, outcome, self.elapsed(), time.time())
        if variant.plan is not None:
            self.made_here[variant.id] = variant.plan
        self.store.append([record])
        self.watch.saw(record)
        self.left -= 1
        self._remember(n, record)

    def _remember(self, n: int, record: Record) -> None:
        """Note a variant's record, from now or from an earlier start, and tell its outcome to the
        search."""
        if record.variant.plan is not None:
            self.outcomes[record.variant.key] = record.outcome
        if isinstance(record.outcome, Measured) and record.memory_bytes is not None:
            self.best.append((record.outcome.time_ns, record.memory_bytes))
        self._tell(n, record.outcome)

    def _tell(self, n: int, outcome: Outcome) -> None:
        time = None if isinstance(outcome, Failed) else outcome.time_ns
        self.search.tell(n, time, kernels_of(outcome))

    def _ceiling(self, variant: Variant) -> float | None:
        """The time in nanoseconds above which a variant cannot come near the front; None if nothing
        ran yet."""
        assert variant.plan is not None
        memory = variant.plan.memory_bytes
        times = [t for t, m in self.best if m <= memory]
        return HOPELESS * min(times) if times else None


def _patience(ceiling_ns: float | None) -> float:
    """The seconds after which a variant that may not be slower than `ceiling_ns` is ended."""
    return RUN_LIMIT if ceiling_ns is None else min(RUN_LIMIT, 5.0 + 100 * ceiling_ns / 1e9)


def first_round(records: "list[Record]") -> dict[str, Record]:
    """The records of the rounds before the front was measured again, by variant id."""
    return {r.variant.id: r for r in latest([r for r in records if r.round == 0])}
