"""The ledger of a run: outcomes, stored and remembered, and what is left of the budget."""

import time
from dataclasses import dataclass, field

from codegen.plan import Plan
from explore.report.pace_watch import PaceWatch
from explore.report.progress import Watch
from explore.results.records import Failed, Measured, Outcome, Record, Variant
from explore.run.book_keeping import BookKeeping
from explore.run.run_clock import RunClock
from explore.run_store.store import Store

HOPELESS = 2.0  # times slower than the best known for its memory: not worth more runs


@dataclass(slots=True)
class Ledger:
    """The outcomes of a run's variants, stored and in memory: `outcomes` by the key of a variant's
    kernels, and `best`, the times and memory of variants that ran. `left` is the number of variants
    that may still be tried; this start of the run has `tried` some, of which some `ran`.
    `built` are the variants that were tried and have a plan, and `plans` has these plans, by
    variant."""

    store: Store
    watch: Watch
    clock: RunClock
    left: int
    books: BookKeeping
    plans: dict[str, Plan] = field(default_factory=dict)  # filled as variants are tried
    built: list[Variant] = field(default_factory=list)
    outcomes: dict[str, Outcome] = field(default_factory=dict)  # by key
    best: list[tuple[float, int]] = field(default_factory=list)  # time, memory
    pace: PaceWatch = field(default_factory=PaceWatch)
    tried: int = 0
    ran: int = 0

    def record(self, variant: Variant, outcome: Outcome) -> None:
        """Store and show the outcome of a variant that was tried here."""
        record = Record(variant, outcome, self.clock.elapsed(), time.time())
        if variant.plan is not None:
            self.plans[variant.id] = variant.plan
            self.built.append(variant)
        self.store.append([record])
        self.books.keep([record])
        self.watch.saw(record)
        if said := self.pace.saw(outcome):
            self.watch.note(said)
        self.left -= 1
        self.tried += 1
        self.ran += not isinstance(outcome, Failed)
        self.note(record)

    def note(self, record: Record) -> None:
        """Take a record, of this or an earlier start of the run, into memory."""
        if record.variant.plan is not None:
            self.outcomes[record.variant.key] = record.outcome
        if isinstance(record.outcome, Measured) and record.memory_bytes is not None:
            self.best.append((record.outcome.time_ns, record.memory_bytes))

    def over(self) -> bool:
        """True if the time for the search is up, and some variant ran."""
        return self.ran > 0 and self.clock.late()

    def to_measure(self) -> float | None:
        """Seconds that the measurement of a variant may take now; None if it may take any, as the
        first does."""
        return self.clock.to_measure() if self.ran else None

    def ceiling(self, variant: Variant) -> float | None:
        """The time in nanoseconds above which a variant cannot come near the front; None if nothing
        ran yet."""
        assert variant.plan is not None
        memory = variant.plan.memory_bytes
        times = [t for t, m in self.best if m <= memory]
        return HOPELESS * min(times) if times else None
