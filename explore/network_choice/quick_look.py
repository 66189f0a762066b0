"""A quick look at the programs of a network: a few variants of each are measured here, one after
the other, without a run's folder."""

# key: n number of a candidate

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any

import numpy as np

from codegen.plan import Plan
from codegen.runtime.built_program import Program as Built
from codegen.runtime.results import BuildFailed
from codegen.runtime.series import Clock
from codegen.runtime.session import Session
from explore.building.build_variant import Made
from explore.measure.measure_variant import turns_of
from explore.measure.reference import inputs_of, largest_error, relative_error
from explore.network_choice.find_options import Options as Found
from explore.network_choice.joined_options import with_parts
from explore.network_choice.layer_options import Option, best_of, estimated_options
from explore.network_graph.network_layers import Layers
from explore.options.options import Options
from explore.run.book_keeping import BookKeeping
from explore.run.candidates import Candidates, candidates
from explore.run.target import Target
from explore.space.derivations import Derivations
from explore.space.rough_cost import predicted
from explore.workers.workers import Workers
from ir.core.nodes import Program
from ir.errors import UserError

FAMILIES = {
    "cpu": ("registers", "winograd", "naive"),
    "gpu": ("matrix", "blocked", "registers", "naive"),
}
"""Those that were the fastest on a kind of device, and one that lowers everything."""
PASSES = 3
SLOW = 2.0  # times the best: slower ones are timed once
BATCH_NS, LIMIT_NS = 1e7, 1e9  # of a batch, and of one run that is timed again

Tell = Callable[[int, Sequence[Option]], None]


def looked_at(
    layers: Layers,
    target: Target,
    session: Session,
    builders: Workers,
    tried: int,
    tell: Tell,
    clock: Clock = time.perf_counter_ns,
) -> Found:
    """The options of each program: `tried` of its variants are built and measured by the `clock`,
    those that the record book knows first. `tell` is called for each program with its number and
    options."""
    found = []
    for number, program in enumerate(layers.programs):
        found.append(_options(program, target, session, builders, (tried, clock)))
        tell(number, found[-1])
    return with_parts(layers, found)


def _options(
    program: Program, target: Target, session: Session, builders: Workers, how: tuple[int, Clock]
) -> list[Option]:
    tried, clock = how
    kind = "gpu" if target.device is not None and target.device.kind == "gpu" else "cpu"
    asked = Options(variants=tried, families=FAMILIES[kind])
    with BookKeeping.begun(None, program, target) as books:
        known = books.recall(asked, time.time())
    try:
        deriving = Derivations(builders, lambda *lost: None)
        drawn = candidates(program, target.profile, asked, deriving, known)
    except UserError:  # no family of a search has it: what is left are estimates
        return estimated_options(program, target, session)
    chosen = _in_turns(drawn)[:tried]
    made = {d.task.number: d.result for d in builders.map([drawn.task(n) for n in chosen])}
    plans = [
        (n, result.plan)
        for n in chosen
        if isinstance(result := made[n], Made) and result.failed is None and result.plan is not None
    ]
    timed = _Look(program, session, inputs_of(program, 0), clock).timed(plans)
    options = [Option(drawn.variants[n].id, plan, t, measured=True) for n, plan, t in timed]
    return best_of(options) or estimated_options(program, target, session)


def _in_turns(found: Candidates) -> list[int]:
    """The numbers of the candidates: those that the record book knows first, then the estimated
    fastest of each family in turn."""
    by_family: dict[str, list[int]] = {}
    times = [predicted(v).time_ns for v in found.variants]
    for n in sorted(range(len(times)), key=lambda n: (times[n], n)):
        by_family.setdefault(found.variants[n].family, []).append(n)
    families = sorted(by_family.values(), key=lambda numbers: times[numbers[0]])
    turns = chain.from_iterable(zip_longest(*families))
    return list(dict.fromkeys([*found.begin, *(n for n in turns if n is not None)]))


@dataclass(slots=True)
class _Look:
    """The measurement of one program's variants in a session, all on the same inputs and by the
    same clock."""

    program: Program
    session: Session
    inputs: Mapping[str, Any]
    clock: Clock

    def timed(self, plans: Sequence[tuple[int, Plan]]) -> list[tuple[int, Plan, float]]:
        """The plans with their times; a plan whose results differ from those of most others is left
        out."""
        constants = {p.var.name for p in self.program.params if p.const}
        given = {name: a for name, a in self.inputs.items() if name not in constants}
        kept = {name: a for name, a in self.inputs.items() if name in constants}
        turns = self.session.copies(given, turns_of(sum(a.nbytes for a in given.values())))
        ready, results, times = [], [], []
        for n, plan in plans:
            try:
                built = self.session.build(plan)
            except BuildFailed:
                continue
            built.set_constants(kept)
            results.append(np.asarray(built(given), np.float64))
            times.append(self._time(built, given, turns))
            ready.append((n, plan, built))
            if times[-1] > SLOW * min(times):
                built.release()  # its memory: it is not timed again
        best = min(times, default=0.0)
        again = [i for i, t in enumerate(times) if t < min(SLOW * best, LIMIT_NS)]
        readings = {i: [times[i]] for i in range(len(times))}
        for _ in range(PASSES - 1):
            for i in again:
                readings[i].append(self._time(ready[i][2], given, turns))
        for _, _, built in ready:
            built.release()
        return [
            (ready[i][0], ready[i][1], statistics.median(readings[i]))
            for i in _agreeing(results, largest_error(self.program, None))
        ]

    def _time(
        self, built: Built, given: Mapping[str, Any], turns: Sequence[Mapping[str, Any]]
    ) -> float:
        """The nanoseconds of an inference of a built plan, from several back to back; `given` are
        its inputs, and `turns` copies of those that vary."""
        series = built.series(given, turns, self.clock)
        series.warm()
        once = series.batch(1)
        count = int(BATCH_NS / max(once, 1.0))
        return once if count < 2 else series.batch(count)


def _agreeing(results: Sequence[Any], most: float) -> list[int]:
    """The numbers of the results that agree with that one of them with which most agree: their
    relative errors against it are at most `most`."""
    sets = [
        [i for i, other in enumerate(results) if relative_error(other, one) <= most]
        for one in results
    ]
    return max(sets, key=len, default=[])
