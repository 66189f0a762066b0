"""The loop of a run: rounds of candidates are built, then measured, and the search is told the
outcomes.

Rounds are taken in a fixed order and their results too, so that one seed gives one sequence of
variants however long each build takes. On a GPU the next round is built while this one is measured,
and begun while the last builds of this one go on; on a CPU builds would disturb the times, so they
take turns.
"""

# key: n number of a candidate

from collections.abc import Callable
from dataclasses import dataclass, replace

from explore.building.build_tasks import Made
from explore.results.pace import at_pace
from explore.results.records import Failed, Outcome, Predicted, Record, Variant, kernels_of, latest
from explore.run.bench import Bench, Waiting
from explore.run.candidates import Candidates
from explore.run.ledger import Ledger
from explore.run.round_builds import RoundBuilds
from explore.run.run_clock import RunClock
from explore.search.rounds import Rounds
from explore.space.lowered_form import LoweredForm
from explore.workers.wait_any import wait_any
from explore.workers.workers import Workers

GLANCE = 1.0  # seconds between looks at the clock

Judge = Callable[[Variant], Predicted]


@dataclass(slots=True)
class Loop:
    """One pass through the rounds, from builders to the bench to the ledger; `judge` stands in for
    a device that is not here. `overlap`: the next round is built while one is measured."""

    candidates: Candidates
    clock: RunClock
    rounds: Rounds
    builds: RoundBuilds
    bench: Bench
    ledger: Ledger
    judge: Judge | None
    overlap: bool
    unmeasured: bool = False  # a measurement was ended because the time was up

    def run(self) -> bool:
        """Go through the rounds; returns True at the end, False when the time was up before."""
        chosen = self._next()
        while chosen:
            self.builds.begin(chosen)
            self._build()
            if not self.overlap:
                self._settled()
            chosen = self._next()
        self._build(to_the_end=True)
        return self._settled() and chosen is not None and not self.builds.ended

    def _next(self) -> list[int] | None:
        """The next round's candidates, as many as the budget allows, after waiting for the outcomes
        that they depend on; None if the time is up before these are there."""
        if self.builds.ended or (self.ledger.tried and self.clock.late()):
            return None
        if self._room() <= 0:
            return []
        while not self._ask():
            if self.clock.late():
                return None
            self._progress()
        return None if self.ledger.over() else self.rounds.take(self._room())

    def _room(self) -> int:
        """The number of further variants that the budget allows."""
        return self.ledger.left - len(self.bench.running) - self.builds.left

    def _ask(self) -> bool:
        """Ask the search for the next round; returns False if it needs more outcomes first. Builds
        that finished while the search derived forms are taken in."""
        asked = self.rounds.ask()
        self.builds.took_strays()
        return asked

    def _build(self, to_the_end: bool = False) -> None:
        """Build the round's variants, and hand them on in their order. On devices whose times
        builds do not disturb, it may return before the last build is done: as soon as no candidate
        waits for a worker and the next round is known. So one long build does not hold up the next
        round. With `to_the_end`, it waits for all builds. When the time is up, builds are ended."""
        while not self.builds.complete():
            if self.ledger.over():
                self.builds.end()
                return
            self._handed_on()
            early = self.overlap and not to_the_end and not self.clock.late()
            if early and self._could_build_more() and self._ask():
                return
            if not self.builds.complete():
                self._progress()

    def _could_build_more(self) -> bool:
        """True if some builds of the round go on while a worker has nothing to do, and the budget
        allows further ones."""
        return bool(self.builds.left) and self.builds.idle() and self._room() > 0

    def _progress(self) -> None:
        """Hand on the variants that were built; if there are none, wait for one."""
        if not self._handed_on():
            self._pump()

    def _handed_on(self) -> bool:
        """Hand on what was built, in the order of the rounds; returns True if there was something.
        Where builds disturb times, nothing is handed on before all builds are done."""
        if self.builds.workers.pending and not self.overlap:
            return False
        ready = list(self.builds.ready())
        for n, found in ready:
            self._hand_on(n, found)
        return bool(ready)

    def _hand_on(self, n: int, found: Made | Record) -> None:
        """Hand a built variant on to be measured, unless the outcome of the same kernels is
        known."""
        if isinstance(found, Record):
            now = replace(found, outcome=at_pace(found.outcome, self.bench.usual_ns))
            self.ledger.note(now)
            self._tell(n, now.outcome)
            return
        variant = found.variant(self.candidates.variants[n], self._form(n))
        if found.plan is not None and variant.key in self.ledger.outcomes:
            self._tell(n, self.ledger.outcomes[variant.key])
        elif found.plan is not None and self.bench.join(n, variant):
            return
        elif found.failed is not None:
            self._record(n, variant, found.failed)
        elif self.bench.device is None:
            assert self.judge is not None
            self._record(n, variant, self.judge(variant))
        else:
            self.bench.put(Waiting(n, variant, found.build_ns))

    def _form(self, n: int) -> LoweredForm:
        return self.candidates.forms[self.candidates.form_of[n]].lowered

    # ---- outcomes

    def _settled(self) -> bool:
        """Take in the outcomes of all built variants or, if the time is up, only of those that are
        being measured.

        Returns False if built variants were left unmeasured, for a resumed run; else True.
        """
        while self.bench.running and not self.ledger.over():
            self._pump()
        for n, outcome in self.bench.given_up():
            self._taken(n, outcome)
        left = self.bench.clear_queue()
        while self.bench.running:
            self._pump()
        return not left and not self.unmeasured

    def _pump(self) -> None:
        """Wait for a worker, though not for long, and take in the workers' results."""
        device = self.bench.device
        pools: list[Workers] = [] if self.builds.ended else [self.builds.workers]
        pools += [device] if device else []
        if not any(pool.pending for pool in pools):
            raise AssertionError("expected a task that a worker is doing, found none")
        for pool, done in wait_any(pools, GLANCE):
            if pool is device:
                self._measured(done.task.number, done.result)
            else:
                self.builds.took(done)

    def _measured(self, n: int, outcome: Outcome) -> None:
        if self.bench.unfinished(n, outcome):
            self.bench.take(n)
            self.unmeasured = True
            return
        outcome = at_pace(outcome, self.bench.usual_ns)
        if not (self.bench.foretold(n, outcome) or self.bench.doubts(n, outcome)):
            self._taken(n, self.bench.settled(n, outcome))
        for hopeless, by_some in self.bench.hopeless():
            self._taken(hopeless, by_some)
        self.bench.feed()

    def _taken(self, n: int, outcome: Outcome) -> None:
        """Take a variant off the bench, with its outcome, which those with equal kernels share."""
        variant, equal = self.bench.take(n)
        self._record(n, variant, outcome)
        for other in equal:
            self._tell(other, outcome)

    def _record(self, n: int, variant: Variant, outcome: Outcome) -> None:
        self.ledger.record(variant, outcome)
        self._tell(n, outcome)

    def _tell(self, n: int, outcome: Outcome) -> None:
        time = None if isinstance(outcome, Failed) else outcome.time_ns
        self.rounds.search.tell(n, time, kernels_of(outcome))


def first_round(records: "list[Record]") -> dict[str, Record]:
    """The records of the rounds before the front was measured again, by variant id."""
    return {r.variant.id: r for r in latest([r for r in records if r.round == 0])}
