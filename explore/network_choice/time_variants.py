"""The times of a program's variants, measured one after the other on the same inputs, without
processes of their own."""

# key: n number of a candidate

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from codegen.plan import Plan, Role
from codegen.runtime.built_program import Program as Built
from codegen.runtime.results import BuildFailed
from codegen.runtime.series import Clock, Series
from codegen.runtime.session import Session
from explore.measure.reference import Array, inputs_of, largest_error, relative_error
from ir.core.frozen import frozen
from ir.core.nodes import Program

PASSES = 3
SLOW = 2.0  # times the best: slower ones are timed once
BATCH_NS = 1e7  # of a batch
ROTATED, COPIES = 1 << 27, 32  # bytes of constants that no cache holds, and copies, at most


@frozen
class Timed:
    """A variant's plan and its time."""

    plan: Plan
    time_ns: float


@dataclass(slots=True)
class VariantTimes:
    """The measurement of one program's variants in a session, all by the same clock: the result
    that most of the first variants had (`right`), the least time so far of one that finds its
    constants in a cache (`best`), and the `inputs`, drawn once."""

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
        warm, results = dict[int, float](), dict[int, Any]()
        for n, plan in plans.items():
            try:
                built = self._built(plan)
            except BuildFailed:
                continue
            results[n] = np.asarray(built(self._given), np.float64)
            warm[n] = self._time(self._series([built]))
            self.best = min(self.best, warm[n])
            built.release()
        good = [n for n, t in warm.items() if t <= SLOW * self.best]
        cold = self._cold({n: plans[n] for n in good})
        slower = statistics.median(cold[n] / warm[n] for n in good) if good else 1.0
        right = self._right(results)
        return {n: Timed(plans[n], cold.get(n, slower * warm[n])) for n in right}

    @property
    def _given(self) -> dict[str, Array]:
        """The inputs that vary from run to run."""
        return {p.var.name: self.inputs[p.var.name] for p in self.program.params if not p.const}

    def _built(self, plan: Plan) -> Built:
        constants = {p.var.name for p in self.program.params if p.const}
        built = self.session.build(plan)
        built.set_constants({name: self.inputs[name] for name in constants})
        return built

    def _series(self, builts: Sequence[Built]) -> Series:
        """Inferences of several builds of a plan in turns, warmed up; all find their inputs in a
        cache, as a layer finds what the one before it has just made."""
        first, *others = (built.series(self._given, (), self.clock) for built in builts)
        series = first.beside(others)
        for _ in builts:
            series.warm()
        return series

    def _time(self, series: Series) -> float:
        """The nanoseconds of an inference, from several back to back."""
        once = series.batch(1)
        count = int(BATCH_NS / max(once, 1.0))
        return once if count < 2 else series.batch(count)

    def _cold(self, plans: Mapping[int, Plan]) -> dict[int, float]:
        """The times of plans whose constants no cache holds when they run: several copies of these
        are used in turns. In a network, those of all other layers are read in between."""
        found = {}
        for n, plan in plans.items():
            kept = sum(b.bytes for b in plan.buffers if b.role in (Role.CONST, Role.PACKED))
            copies = min(COPIES, -(-ROTATED // kept)) if kept else 1
            builts = [self._built(plan) for _ in range(copies)]
            series = self._series(builts)
            found[n] = statistics.median(self._time(series) for _ in range(PASSES))
            for built in builts:
                built.release()
        return found

    def _right(self, results: Mapping[int, Any]) -> list[int]:
        """The numbers of the results that are right, where right is what most of the first results
        agree on."""
        most = largest_error(self.program, None)
        if not self.right and results:
            numbers = agreeing(list(results.values()), most)
            self.right.append(list(results.values())[numbers[0]])
        return [n for n, r in results.items() if relative_error(r, self.right[0]) <= most]


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
