"""The solver: Z3 says which points are possible, why none is, what constraints imply, and what is
best.

One context, one solver; questions are asked between push and pop. A question that outlasts its time
limit is answered `UNKNOWN`, never guessed.
"""

# key: c constraint, p parameter, r relation

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from time import monotonic

import z3

from constraints.relations.relations import AtMost, Constraint, Equal, Relation, System, value_at
from constraints.solve.z3_formulas import Encoder, Formula
from ir.core.frozen import frozen
from ir.core.size import Size, named

Point = dict[str, int]

SECONDS = 10.0


class Answer(Enum):
    """The answer to the question whether something holds."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@frozen
class Verdict:
    """An answer, with a point that shows it or the constraints that exclude it."""

    answer: Answer
    point: Point | None = None
    core: tuple[Constraint, ...] = ()


@frozen
class Domain:
    """The values that a parameter takes; `exact` if it certainly takes no other."""

    values: tuple[int, ...]
    exact: bool


@frozen
class Best:
    """The least value found of an objective, its point, and whether nothing smaller exists."""

    value: int
    point: Point
    proved: bool


@dataclass(slots=True)
class Solver:
    """A Z3 solver for questions about one system; `seconds` limits each of them."""

    system: System
    seconds: float = SECONDS
    _z3: z3.Solver = field(init=False)
    _encoder: Encoder = field(init=False)
    _guards: dict[str, Constraint] = field(init=False, default_factory=dict)
    _facts: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        context = z3.Context()
        self._encoder = Encoder(context)
        self._z3 = z3.SolverFor("QF_NIA", ctx=context)
        for p in self.system.parameters:
            self._z3.add(self._encoder.parameter(p) >= 0)
        for i, c in enumerate(self.system.constraints):
            self._guards[f"c{i}"] = c
            self._z3.add(z3.Implies(z3.Bool(f"c{i}", context), self._formula(c.relation)))

    # ---- questions

    def feasible(self, extra: Iterable[Relation] = ()) -> Verdict:
        """The verdict whether some point satisfies the system and `extra`: such a point, or a small
        set of clashing constraints."""
        with self._asking(extra):
            answer = self._check(self._guards, self.seconds)
            if answer is Answer.YES:
                return Verdict(answer, self._point())
            if answer is Answer.UNKNOWN:
                return Verdict(answer)
            return Verdict(answer, None, self._small_core())

    def certify(self, point: Mapping[str, int]) -> Answer:
        """The answer to the question whether a point satisfies every constraint."""
        with self._asking(Equal(named(p), point[p]) for p in self.system.parameters):
            return self._check(self._guards, self.seconds)

    def domain(self, parameter: str, candidates: Iterable[int]) -> Domain:
        """The values among `candidates` that the parameter takes in some point; exact if Z3 decided
        on each of them in time."""
        deadline, found, exact = monotonic() + self.seconds, set[int](), True
        for v in candidates:
            if v in found:
                continue
            with self._asking([Equal(named(parameter), v)]):
                answer = self._check(self._guards, deadline - monotonic())
            if answer is Answer.YES:
                found.add(v)
            exact = exact and answer is not Answer.UNKNOWN
        return Domain(tuple(sorted(found)), exact)

    def necessary(self) -> tuple[Constraint, ...]:
        """The constraints without those that the others imply."""
        deadline, kept = monotonic() + self.seconds, dict(self._guards)
        for name, c in reversed(list(self._guards.items())):
            rest = {other: d for other, d in kept.items() if other != name}
            if self._implied(c, rest, min(1.0, deadline - monotonic())):
                kept = rest
        return tuple(kept.values())

    def minimise(self, objective: Sequence[Size]) -> Best | None:
        """The least possible maximum of these sizes, found by halving an interval; None if no point
        is known."""
        deadline = monotonic() + self.seconds
        first = self.feasible()
        if first.point is None:
            return None
        best, floor, proved = _score(objective, first.point), 0, True
        point = first.point
        while floor < best:
            middle = (floor + best - 1) // 2
            with self._asking(AtMost(a, middle) for a in objective):
                answer = self._check(self._guards, deadline - monotonic())
                if answer is Answer.YES:
                    point = self._point()
                    best = _score(objective, point)
                elif answer is Answer.NO:
                    floor = middle + 1
            if answer is Answer.UNKNOWN:
                proved = False
                break
        return Best(best, point, proved)

    # ---- how they are asked

    def _formula(self, r: Relation) -> Formula:
        return self._grounded(self._encoder.relation(r))

    def _grounded(self, formula: Formula) -> Formula:
        """The formula itself, after the definitions that it uses are added to Z3 for good."""
        for fact in self._encoder.facts[self._facts :]:
            self._z3.add(fact)
        self._facts = len(self._encoder.facts)
        return formula

    @contextmanager
    def _asking(self, extra: Iterable[Relation]) -> Iterator[None]:
        formulas = [self._formula(r) for r in extra]
        self._z3.push()
        try:
            self._z3.add(*formulas)
            yield
        finally:
            self._z3.pop()

    def _check(self, guards: Iterable[str], seconds: float) -> Answer:
        if seconds <= 0:
            return Answer.UNKNOWN
        self._z3.set("timeout", max(1, int(seconds * 1000)))
        found = self._z3.check(*(z3.Bool(g, self._encoder.context) for g in guards))
        if found == z3.sat:
            return Answer.YES
        return Answer.NO if found == z3.unsat else Answer.UNKNOWN

    def _point(self) -> Point:
        model = self._z3.model()
        terms = {p: self._encoder.parameter(p) for p in self.system.parameters}
        return {p: model.eval(t, model_completion=True).as_long() for p, t in terms.items()}

    def _small_core(self) -> tuple[Constraint, ...]:
        """The clashing constraints that Z3 names, as few as are found: each is left out if the
        others still clash without it."""
        core = [str(literal) for literal in self._z3.unsat_core()]
        deadline = monotonic() + self.seconds
        for name in sorted(core, key=lambda g: -int(g[1:])):
            rest = [g for g in core if g != name]
            if self._check(rest, min(1.0, deadline - monotonic())) is Answer.NO:
                core = rest
        return tuple(self._guards[g] for g in sorted(core, key=lambda g: int(g[1:])))

    def _implied(self, c: Constraint, rest: Iterable[str], seconds: float) -> bool:
        opposite = self._grounded(self._encoder.negation(c.relation))
        self._z3.push()
        try:
            self._z3.add(opposite)
            return self._check(rest, seconds) is Answer.NO
        finally:
            self._z3.pop()


def _score(objective: Sequence[Size], point: Point) -> int:
    return max(value_at(a, point) for a in objective)
