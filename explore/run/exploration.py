"""An exploration: forms are derived, variants go through the loop, and the front is measured
again."""

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

from explore.building.build_tasks import Again
from explore.building.kept_variants import keep_variants, kept_variant
from explore.measure.front_again import measure_again
from explore.measure.kept_references import kept_reference
from explore.measure.measure_tasks import RUN_LIMIT, Measure
from explore.measure.reference_worker import reference_in_time
from explore.offline.compile_best import CompileBest
from explore.offline.working_compiler import compiler_for
from explore.options.options import Options
from explore.record_book.recalled import Recalled, hint_of
from explore.report.progress import Watch
from explore.results.front import best_first
from explore.results.lost_forms import LostForm
from explore.results.pace import at_pace
from explore.results.records import Failed, Record, Variant, latest
from explore.run.bench import LEAST, Bench
from explore.run.book_keeping import BookKeeping
from explore.run.candidates import Candidates, candidates
from explore.run.ledger import Ledger
from explore.run.loop import Loop, first_round
from explore.run.round_builds import RoundBuilds
from explore.run.run_clock import RunClock
from explore.run.target import Target
from explore.run.trusted_plans import TrustedPlans
from explore.run_store.store import Store
from explore.search.rounds import Rounds
from explore.space.derivations import Derivations
from explore.space.rough_cost import predicted
from explore.space.search_domain import narrowing
from explore.toolchain.offline_devices import DEVICES
from explore.toolchain.toolchain import ToolchainFault
from explore.workers.hands import Hands
from explore.workers.wait_any import each_done
from explore.workers.workers import Workers
from ir.core.frozen import frozen
from ir.core.nodes import Program
from ir.text.counted import counted
from rewrites.tuning.family import Form

KEPT = 12  # variants of a run that are kept with their plans
WRITING_SHARE, WRITING_MOST = 0.08, 1.0  # of a limited run, to write its report; seconds
MADE_AGAIN = 60.0  # seconds to make a variant of the known front again


@frozen
class Exploration:
    """The state of one start of a run: its store, program, options and target, and the hands that
    build and measure. `watch` displays the progress, `books` is the record book, `known` the
    knowledge from it, `plans` are those that may be run, and `begun` is the time by the clock at
    which it was started."""

    store: Store
    program: Program
    options: Options
    target: Target
    watch: Watch
    plans: TrustedPlans
    begun: float
    books: BookKeeping
    known: Recalled
    hands: Hands

    def run(self, before: Mapping[str, Record]) -> bool:
        """Derive, build and measure variants, except those with a record in `before`; returns True
        if nothing was left to do."""
        with ExitStack() as stack:
            builders: Workers = stack.enter_context(
                self.hands.builders(self.options, self.target.device, self.target.profile)
            )
            kept = self._kept_reference()
            device = None if kept is None else stack.enter_context(self._meters(kept))
            clock = self._clock(before)
            left = max(0, self.known.budget(self.options.variants) - len(before))
            ledger = Ledger(self.store, self.watch, clock, left, self.books, self.plans.made)
            if device is not None and not before and self.known.again:
                settled = self.known.settles(self.options.variants)
                self._front_measured(builders, device, ledger, settled)
                done = settled and not ledger.left
                if done or ledger.over():
                    builders.close()
                    self._measured_again(device, ledger)
                    return done
                before = first_round(self.store.records())
            deriving = Derivations(builders, partial(_lost, self.store, self.watch))
            found = self._derived(deriving)
            deriving.late = clock.late
            if device is None and self.target.device is not None:
                device = stack.enter_context(self._meters(self._reference()))
            loop = self._loop(found, deriving, device, before, ledger)
            if device is not None and not before:
                self.watch.note("building a first round of kernels; times come when it is built")
            finished = loop.run()
            builders.close()
            if self.options.domain:
                self.watch.note(narrowing(self.options.domain, found.left))
            if self.target.device is None:
                self._compiled(clock)
            else:
                self._measured_again(device, ledger)
        return finished

    def _clock(self, before: Mapping[str, Record]) -> RunClock:
        """The clock of this start of the run, whose limit leaves time to write the report; the
        records of earlier starts are `before`."""
        earlier_s = max((r.elapsed_s for r in before.values()), default=0.0)
        limit = self.options.time_limit
        left = None if limit is None else limit - min(WRITING_MOST, WRITING_SHARE * limit)
        return RunClock(left, self.begun, earlier_s)

    def _front_measured(
        self, builders: Workers, device: Workers, ledger: Ledger, settled: bool
    ) -> None:
        """Measure the variants of the known front, until the time is up: those that are kept ready,
        the fastest first, and then, if nothing else is left to do (`settled`), those that must be
        made again; a search makes these on its way."""
        profile, chosen = self.target.profile, [hint_of(entry) for entry in self.known.again]
        tasks = [
            Again(n, self.program, hint.family, hint.form, hint.parameters, profile)
            for n, hint in enumerate(chosen)
        ]
        kept = {task.number: variant for task in tasks if (variant := kept_variant(task))}
        self._measured_once([*kept.values()], device, ledger)
        if settled and not ledger.over():
            rest = [task for task in tasks if task.number not in kept]
            self._measured_once(self._made_again(builders, rest, ledger), device, ledger)

    def _made_again(
        self, builders: Workers, tasks: Sequence[Again], ledger: Ledger
    ) -> list[Variant]:
        """The variants of tasks that could be made here in time, in the order of the tasks."""
        left = ledger.clock.left() if ledger.ran else None
        limit = MADE_AGAIN if left is None else min(MADE_AGAIN, max(LEAST, left))
        found = {done.task.number: done for done in each_done(builders, tasks, limit)}
        for done in found.values():
            if isinstance(done.result, Failed):
                self.watch.note(f"{done.task.family} {done.task.form}: {done.result.reason}")
        results = [done.result for _, done in sorted(found.items())]
        return [result for result in results if isinstance(result, Variant)]

    def _measured_once(self, variants: Sequence[Variant], device: Workers, ledger: Ledger) -> None:
        """Measure variants, until the time is up."""
        usual_ns = self.store.environment.bounds.yardstick_ns
        for n, variant in enumerate(variants):
            if ledger.over():
                break
            left = ledger.to_measure()
            limit = RUN_LIMIT if left is None else min(RUN_LIMIT, max(LEAST, left))
            plan, rounding = variant.plan, variant.rounding or 0.0
            assert plan is not None
            device.submit(Measure(n, plan, usual_ns=usual_ns, rounding=rounding), limit)
            (done,) = device.results()
            if limit < RUN_LIMIT and isinstance(done.result, Failed) and done.result.timed_out:
                break
            ledger.record(variant, at_pace(done.result, usual_ns))

    def _compiled(self, clock: RunClock) -> None:
        """Compile the kernels of the best variants by the cost model, if the device's compiler is
        installed."""
        profile, options, note = self.target.profile, self.options, self.watch.note
        toolchain = compiler_for(profile, options)
        if toolchain is None:
            if profile.name in DEVICES and options.to_compile:
                note(
                    f"ranked by a cost model: `explore toolchain mali` compiles for {profile.name}"
                )
            return
        best = CompileBest(
            *(toolchain, profile, options.to_compile, options.workers),
            *(self.books.codes, clock.over),
        )
        records = latest(self.store.records())
        if not (left := best.left(records)):
            note(f"{counted(options.to_compile, 'variant')} were compiled before: no more are")
            return
        note(f"compiling the {left} variants that look best, by {toolchain.compiler}")

        def took(record: Record) -> None:
            self.store.append([replace(record, elapsed_s=clock.elapsed())])

        try:
            best.run(records, options.seed, took)
        except ToolchainFault as fault:
            note(f"no more is compiled: {fault}")
        for line in best.told:
            note(line)

    def _derived(self, deriving: Derivations) -> Candidates:
        """The candidates with which the run begins. If a device waits for them, the fewer forms are
        derived before."""
        program, profile, note = self.program, self.target.profile, self.watch.note
        note(f"{program.name} on {self.store.environment.where}: deriving")
        known, soon = self.known, self.target.device is not None
        found = candidates(
            program, profile, self.options, deriving, known, self.watch.derived, soon
        )
        note(
            f"{counted(len(found.variants), 'candidate')} of {found.legal:,} legal ones, "
            f"in {counted(len(found.forms), 'form')}; results in {self.store.folder}"
        )
        if found.due:
            note(f"{counted(len(found.due), 'form')} more will be derived on the way")
        return found

    def _kept_reference(self) -> Path | None:
        """The file with the right results, if an earlier run computed them, so that the worker on
        the device can start while forms are derived; else None."""
        if self.target.device is None or self.store.environment.reference is not None:
            return None
        kept = kept_reference(self.program, self.options.seed, self.store.folder)
        if kept is None:
            return None
        file, sha256 = kept
        self.store.keep_reference(sha256)
        return file

    def _reference(self) -> Path:
        """The file with the right results; they are computed if the run does not have them yet."""
        options, store = self.options, self.store
        limit, known = options.time_limit, store.environment.reference
        left_s = None if limit is None else self.begun + limit - time.monotonic()
        file, sha256 = reference_in_time(
            self.program, options.seed, store.folder, known, self.watch.note, left_s
        )
        store.keep_reference(sha256)
        return file

    def _meters(self, file: Path) -> Workers:
        """The worker on the device; it checks results by the right ones in a file."""
        assert self.target.device is not None
        return self.hands.meters(file, self.program, self.options, self.target.device)

    def _loop(
        self,
        found: Candidates,
        deriving: Derivations,
        device: Workers | None,
        before: Mapping[str, Record],
        ledger: Ledger,
    ) -> Loop:
        """The loop over rounds of the candidates `found`, with the part of the budget that the
        `ledger` has left. `before` are the records of variants that were tried, and `device` is the
        worker on the device (None: the device is not here)."""
        overlap = not self.target.disturbed_by_builds
        search = found.search(self.options, int(overlap), estimated=self.target.device is None)
        return Loop(
            candidates=found,
            clock=ledger.clock,
            rounds=Rounds(search),
            builds=RoundBuilds(found, deriving, before),
            bench=Bench(
                device,
                ledger.ceiling,
                self.store.environment.bounds.yardstick_ns,
                left=ledger.to_measure,
            ),
            ledger=ledger,
            judge=None if self.target.device else predicted,
            overlap=overlap,
        )

    def _measured_again(self, device: Workers | None, ledger: Ledger) -> None:
        """Measure the front again, and the peers beside it, where the device is here. The best
        variants that were built here (they are in the `ledger`) are kept for later runs: those on
        the front, and those that may be on it when they are measured again."""
        options, target, plans, note = self.options, self.target, self.plans, self.watch.note
        clock = ledger.clock
        if device is not None and target.device is not None:
            from explore.peers.peers import measure_peers  # here: it loads what opens devices

            measure_again(self.store, device, plans.all, clock.elapsed, note, clock.left)
            best = {record.variant.id for record in best_first(self.store.records(), KEPT)}
            kept = (variant for variant in ledger.built if variant.id in best)
            keep_variants(self.program, target.profile, kept)
            for line in measure_peers(
                self.store, self.program, options, target.device, device, plans.of
            ):
                note(line)
        elif options.against:
            note(f"{', '.join(options.against)}: no peer is measured, the device is not here")


def _lost(store: Store, watch: Watch, form: Form, failed: Failed) -> None:
    """Show and store that a form could not be derived; it is stored in a table of its own, not
    among the variants."""
    words = " ".join(form.words)
    lost = LostForm(form.family, words, failed.reason, failed.detail, failed.timed_out)
    store.add_lost_form(lost)
    watch.lost(lost)
