"""The times of a program's variants, measured one after the other on the same inputs, without
processes of their own."""

# key: n number of a candidate

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from codegen.plan import Plan
from codegen.runtime.built_program import Program as Built
from codegen.runtime.results import BuildFailed
from codegen.runtime.series import Clock
from codegen.runtime.session import Session
from explore.measure.measure_variant import turns_of
from explore.measure.reference import Array, inputs_of, largest_error, relative_error
from ir.core.nodes import Program

PASSES = 3
SLOW = 2.0  # times the best: slower ones are timed once
BATCH_NS, LIMIT_NS = 1e7, 1e9  # of a batch, and of one run that is timed again


@dataclass(frozen=True, slots=True)
class Timed:
    """A variant's plan and its time."""

    plan: Plan
    time_ns: float


@dataclass(slots=True)
class VariantTimes:
    """The measurement of one program's variants in a session, all by the same clock: the result
    that most of the first variants had (`right`), the least time so far (`best`), and the `inputs`,
    drawn once."""

    program: Program
    session: Session
    clock: Clock
    right: list[Any] = field(default_factory=list)
    best: float = np.inf
    inputs: dict[str, Array] = field(default_factory=dict)

    def of(self, plans: Mapping[int, Plan]) -> dict[int, Timed]:
        """The plans with their times, by the candidates' numbers. A plan that cannot be built, or
        whose results differ from those of most others, is left out."""
        if not plans:
            return {}
        self.inputs = self.inputs or inputs_of(self.program, 0)
        constants = {p.var.name for p in self.program.params if p.const}
        given = {name: a for name, a in self.inputs.items() if name not in constants}
        kept = {name: a for name, a in self.inputs.items() if name in constants}
        turns = self.session.copies(given, turns_of(sum(a.nbytes for a in given.values())))
        ready: dict[int, Built] = {}
        results, readings = dict[int, Any](), dict[int, list[float]]()
        for n, plan in plans.items():
            try:
                built = self.session.build(plan)
            except BuildFailed:
                continue
            built.set_constants(kept)
            results[n] = np.asarray(built(given), np.float64)
            readings[n] = [self._time(built, given, turns)]
            ready[n] = built
            self.best = min(self.best, readings[n][0])
            if readings[n][0] > SLOW * self.best:
                ready.pop(n).release()  # its memory: it is not timed again
        again = [n for n in ready if readings[n][0] < min(SLOW * self.best, LIMIT_NS)]
        for _ in range(PASSES - 1):
            for n in again:
                readings[n].append(self._time(ready[n], given, turns))
        for built in ready.values():
            built.release()
        agree = self._agreeing(results)
        return {n: Timed(plans[n], statistics.median(readings[n])) for n in agree}

    def _agreeing(self, results: Mapping[int, Any]) -> list[int]:
        """The numbers of the results that are right, where right is what most of the first results
        agree on."""
        most = largest_error(self.program, None)
        if not self.right and results:
            numbers = agreeing(list(results.values()), most)
            self.right.append(list(results.values())[numbers[0]])
        return [n for n, r in results.items() if relative_error(r, self.right[0]) <= most]

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


def agreeing(results: Sequence[Any], most: float) -> list[int]:
    """The numbers of the results that agree with that one of them with which most agree, which
    comes first: their relative errors against it are at most `most`."""
    sets = [
        [
            i,
            *(
                j
                for j, other in enumerate(results)
                if j != i and relative_error(other, one) <= most
            ),
        ]
        for i, one in enumerate(results)
    ]
    return max(sets, key=len, default=[])
