"""Rules: a law, one pattern, one result, re-typed at every use; derivations record their uses."""

# key: e term, s strategy, p place

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import UnionType

from ir.core.nodes import Edge, Expr, Lam, Level
from ir.core.size import Size
from ir.core.terms import children, rebuild, shared
from ir.core.type_rules import type_of
from ir.core.types import Type, equal, show_type
from ir.errors import IllTyped
from ir.text.show import show

Argument = Size | str | bool | Expr | Level | Edge | tuple[int, ...]
Place = tuple[int, ...]


Rounding = float | Callable[..., float]


@dataclass(frozen=True, slots=True)
class Rule:
    """`law` is the equation; `rewrite` gives its right side, or None where it does not apply.

    `rounding`: the law holds of numbers, and in floating point its right side may differ by so many
    machine epsilons, relative in norm; it may depend on the rule's arguments.
    `looks_at`: the nodes at which the law may apply, which is the type of what `rewrite` takes.
    """

    law: str
    rewrite: Callable[..., Expr | None]
    rounding: Rounding = 0.0
    looks_at: type[Expr] | UnionType = Expr

    def __call__(self, **arguments: Argument) -> "Use":
        """The strategy that applies this rule at the root of a term."""
        return Use(self, arguments)


@dataclass(frozen=True, slots=True, eq=False)
class Use:
    """A rule with its arguments, a strategy."""

    rule: Rule
    arguments: Mapping[str, Argument]

    def __call__(self, e: Expr) -> "Rewritten | None":
        return apply_rule(self.rule, self.arguments, e)


@dataclass(frozen=True, slots=True)
class Begun:
    """A stage of a derivation, told at the step with which it begins: its name, how many steps it
    takes, and what stood before them and after at the place around them all."""

    name: str
    steps: int
    before: Expr
    after: Expr


@dataclass(frozen=True, slots=True)
class Step:
    """One use of a rule: where it was applied, what stands there now, and the stages that begin
    with it, the outermost first (`rewrites.engine.stages`)."""

    rule: Rule
    arguments: tuple[tuple[str, Argument], ...]
    place: Place
    term: Expr
    stages: tuple[Begun, ...] = ()

    def under(self, i: int) -> "Step":
        """The step, seen from the term whose i-th child it is in."""
        place = (i, *self.place)
        return Step(self.rule, self.arguments, place, self.term, self.stages)

    @property
    def rounding(self) -> float:
        """By how many machine epsilons this use may change what floats come to."""
        known = self.rule.rounding
        return known(**dict(self.arguments)) if callable(known) else known


Rewritten = tuple[Expr, tuple[Step, ...]]
Strategy = Callable[[Expr], Rewritten | None]


class Unsound(Exception):
    """A rule changed the type of a term: a bug in the rule."""


def rule(law: str, rounding: Rounding = 0.0) -> Callable[[Callable[..., Expr | None]], Rule]:
    """Name a rewrite by its law."""
    return lambda rewrite: Rule(law, rewrite, rounding, rewrite.__annotations__["e"])


def apply_rule(r: Rule, arguments: Mapping[str, Argument], e: Expr) -> Rewritten | None:
    """e rewritten at its root, its type checked to be what it was."""
    if not isinstance(e, r.looks_at):
        return None
    result = r.rewrite(e, **arguments)
    if result is None:
        return None
    result = shared(result)
    before = None if isinstance(e, Lam) else type_of(e)
    if before is not None:
        _same_type(r, before, result)
    return result, (Step(r, tuple(sorted(arguments.items())), (), result),)


def _same_type(r: Rule, before: Type, result: Expr) -> None:
    try:
        after = type_of(result)
    except IllTyped as problem:
        raise Unsound(f"{r.law}: {problem}\n{show(result)}") from problem
    if not equal(before, after):
        raise Unsound(f"{r.law}: {show_type(before)} became {show_type(after)}")


@dataclass(frozen=True, slots=True)
class Derivation:
    """A proof that `end` equals `start`: the laws in order, each with its place."""

    start: Expr
    steps: tuple[Step, ...]

    @property
    def end(self) -> Expr:
        """The last term."""
        return list(self.terms())[-1]

    @property
    def rounding(self) -> float:
        """The known error of `end`: machine epsilons, relative in norm; 0 where it is exact."""
        return sum(step.rounding for step in self.steps)

    def terms(self) -> Iterator[Expr]:
        """The whole term, first as it was, then after each step."""
        e = self.start
        yield e
        for step in self.steps:
            e = put(e, step.place, step.term)
            yield e

    def replay(self) -> Expr:
        """Apply every law again from the start; the result must be the same at each step."""
        e = self.start
        for step in self.steps:
            done = apply_rule(step.rule, dict(step.arguments), get(e, step.place))
            if done is None or done[0] != step.term:
                raise Unsound(f"the derivation does not replay at: {step.rule.law}")
            e = put(e, step.place, done[0])
        return e


def get(e: Expr, place: Place) -> Expr:
    """The term at a place."""
    for i in place:
        e = children(e)[i]
    return e


def put(e: Expr, place: Place, new: Expr) -> Expr:
    """e with the term at a place replaced."""
    if not place:
        return new
    inside = list(children(e))
    inside[place[0]] = put(inside[place[0]], place[1:], new)
    return rebuild(e, tuple(inside))
