"""Questions to Z3 that ranges leave open: whether there are values of the variables for which all
conditions hold.

Quotients become variables, d·q ≤ x < d·q + d, so that questions stay linear where indices are. Work
is limited by Z3's own count of steps, so that the answer does not depend on the machine's load; a
clock that is far more generous stands behind it.
"""

# key: x indices, d divisor, q quotient

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from codegen.index.atoms import Assume, Atom, Max, Min, Product, Quot, Rem, Var
from codegen.index.condition import Condition, holds
from codegen.index.index import Index
from codegen.index.substitute import evaluate
from ir.core.frozen import frozen

STEPS_PER_MS = 1_500  # what Z3 counts in a millisecond on such questions, about
PATIENCE = 20  # how much longer than its limit a question may take by the clock


@frozen
class Impossible:
    """The answer that no values exist."""


@frozen
class Found:
    """The answer that these values exist."""

    values: dict[str, int]


@frozen
class GaveUp:
    """The answer of a solver that gave up: unknown, for this reason."""

    reason: str


Answer = Impossible | Found | GaveUp


@dataclass(slots=True)
class Question:
    """The question whether there are values of the variables for which every index in `zero` is 0,
    every index in `given` is ≥ 0, no condition in `denied` holds, and at least one index in
    `differences`, if there are any, is not 0."""

    zero: list[Index] = field(default_factory=list)
    given: list[Index] = field(default_factory=list)
    denied: list[Condition] = field(default_factory=list)
    differences: list[Index] = field(default_factory=list)


def satisfies(question: Question, values: Mapping[str, int]) -> bool:
    """True if these values are such as the question asks for, by evaluating it: so the solver's
    answer is checked."""
    return (
        all(evaluate(x, values) == 0 for x in question.zero)
        and all(evaluate(x, values) >= 0 for x in question.given)
        and not any(holds(c, values) for c in question.denied)
        and (not question.differences or any(evaluate(x, values) for x in question.differences))
    )


def ask(question: Question, limit_ms: int) -> tuple[Answer, int]:
    """The answer to a question, on which Z3 works as many steps as it makes in about `limit_ms`,
    and about how many milliseconds it took."""
    import z3  # late: most kernels are proved without, and it takes long to load

    solver = z3.SolverFor("QF_LIA")
    solver.set("timeout", limit_ms * PATIENCE, "rlimit", limit_ms * STEPS_PER_MS)
    encoding = _Encoding(z3, solver)
    encoding.add(question)
    before = _steps(solver)
    verdict = solver.check()
    taken = (_steps(solver) - before) // STEPS_PER_MS + 1
    if verdict == z3.unsat:
        return Impossible(), taken
    if verdict == z3.sat:
        return Found(encoding.values(solver.model())), taken
    return GaveUp(f"Z3 gave up after {limit_ms} ms of steps"), taken


def _steps(solver: Any) -> int:
    """The steps that Z3 has counted so far, over all questions."""
    statistics = solver.statistics()
    return int(statistics.get_key_value("rlimit count")) if len(statistics) else 0


@dataclass(slots=True)
class _Encoding:
    z3: Any
    solver: Any
    variables: dict[str, Any] = field(default_factory=dict)
    quotients: dict[tuple[str, int], Any] = field(default_factory=dict)
    trusting: bool = True

    def add(self, question: Question) -> None:
        """Give a question to the solver.

        The assumptions of an index are given as facts only if the index is in a condition that
        holds: a denied condition may be false just where its indices' assumptions are.
        """
        for x in question.zero:
            self.solver.add(self.index(x) == 0)
        for x in question.given:
            self.solver.add(self.index(x) >= 0)
        if question.differences:
            self.solver.add(self.z3.Or([self.index(x) != 0 for x in question.differences]))
        self.trusting = False
        for condition in question.denied:
            self.solver.add(self.z3.Or([self.index(part) < 0 for part in condition.parts]))

    def values(self, model: Any) -> dict[str, int]:
        return {
            name: model.eval(v, model_completion=True).as_long()
            for name, v in sorted(self.variables.items())
        }

    def index(self, x: Index) -> Any:
        total = self.z3.IntVal(x.constant)
        for atom, k in x.terms:
            total = total + k * self.atom(atom)
        return total

    def atom(self, atom: Atom) -> Any:
        match atom:
            case Var(key=name, lo=lo, hi=hi):
                return self.variable(name, lo, hi)
            case Quot(index=x, divisor=d):
                return self.quotient(x, d)
            case Rem(index=x, divisor=d):
                return self.index(x) - d * self.quotient(x, d)
            case Assume(index=x, lo=lo, hi=hi):
                e = self.index(x)
                return self.bounded(e, lo, hi) if self.trusting else e
            case Product(factors=factors):
                return self.z3.Product([self.atom(factor) for factor in factors])
            case Min(left=x, right=y):
                a, b = self.index(x), self.index(y)
                return self.z3.If(a <= b, a, b)
            case Max(left=x, right=y):
                a, b = self.index(x), self.index(y)
                return self.z3.If(a >= b, a, b)

    def variable(self, name: str, lo: int | None, hi: int | None) -> Any:
        if name not in self.variables:
            self.variables[name] = self.bounded(self.z3.Int(name), lo, hi)
        return self.variables[name]

    def quotient(self, x: Index, d: int) -> Any:
        if (x.key, d) not in self.quotients:
            q = self.z3.Int(f"({x.key}/{d})")
            self.quotients[x.key, d] = q
            rest = self.index(x) - d * q
            self.bounded(rest, 0, d - 1)
        return self.quotients[x.key, d]

    def bounded(self, e: Any, lo: int | None, hi: int | None) -> Any:
        if lo is not None:
            self.solver.add(e >= lo)
        if hi is not None:
            self.solver.add(e <= hi)
        return e
