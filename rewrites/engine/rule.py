"""Rules: a law between two terms, applied at one node and checked to keep its type; a derivation is
a list of such uses."""

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
    """A rewrite rule: `law` is its equation, and `rewrite` makes the right side from the left, or
    None where it does not apply.

    `rounding`: the law holds of numbers, and in floating point its right side may differ by so many
    machine epsilons, relative in norm; it may depend on the rule's arguments. `looks_at`: the types
    of nodes at which the law may apply; `rewrite` is called at no others.
    """

    law: str
    rewrite: Callable[..., Expr | None]
    rounding: Rounding = 0.0
    looks_at: type[Expr] | UnionType = Expr

    def __call__(self, **arguments: Argument) -> "Use":
        """The strategy that applies this rule, with these arguments, at the root of a term."""
        return Use(self, arguments)


@dataclass(frozen=True, slots=True, eq=False)
class Use:
    """A rule with its arguments: the strategy that applies it at the root of a term."""

    rule: Rule
    arguments: Mapping[str, Argument]

    def __call__(self, e: Expr) -> "Rewritten | None":
        return apply_rule(self.rule, self.arguments, e)


@dataclass(frozen=True, slots=True)
class Begun:
    """A stage that begins at a step: its name, its number of steps, and the term before and after
    them all."""

    name: str
    steps: int
    before: Expr
    after: Expr


@dataclass(frozen=True, slots=True)
class Step:
    """One use of a rule, with its arguments, in a derivation: the place, the term that then stands
    there, and the stages that begin with this step."""

    rule: Rule
    arguments: tuple[tuple[str, Argument], ...]
    place: Place
    term: Expr
    stages: tuple[Begun, ...] = ()

    def under(self, i: int) -> "Step":
        """This step as a step of a term whose i-th child it changes."""
        place = (i, *self.place)
        return Step(self.rule, self.arguments, place, self.term, self.stages)

    @property
    def rounding(self) -> float:
        """The known error of this step: by how many machine epsilons, in norm, it may change
        floating-point results."""
        known = self.rule.rounding
        return known(**dict(self.arguments)) if callable(known) else known


Rewritten = tuple[Expr, tuple[Step, ...]]
Strategy = Callable[[Expr], Rewritten | None]


class Unsound(Exception):
    """Raised where a rule changes the type of a term, or where applying a recorded step again does
    not give the recorded term: a bug in the rule."""


def rule(law: str, rounding: Rounding = 0.0) -> Callable[[Callable[..., Expr | None]], Rule]:
    """A decorator that turns a function from a term to a term, or None, into a rule with this law;
    `rounding` is the rule's."""
    return lambda rewrite: Rule(law, rewrite, rounding, rewrite.__annotations__["e"])


def apply_rule(r: Rule, arguments: Mapping[str, Argument], e: Expr) -> Rewritten | None:
    """The term e rewritten by a rule with these arguments at its root, with the step; None where
    the rule does not apply, Unsound if it changes the type."""
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
    """A proof that `end` equals `start`: the uses of rules (`steps`) that lead from one to the
    other, in order."""

    start: Expr
    steps: tuple[Step, ...]

    @property
    def end(self) -> Expr:
        """The term after the last step."""
        return list(self.terms())[-1]

    @property
    def rounding(self) -> float:
        """The known error of `end` relative to `start`, in machine epsilons of the norm; 0 where it
        is exact."""
        return sum(step.rounding for step in self.steps)

    def terms(self) -> Iterator[Expr]:
        """The whole term before the first step, and after each one."""
        e = self.start
        yield e
        for step in self.steps:
            e = put(e, step.place, step.term)
            yield e

    def replay(self) -> Expr:
        """The last term, after the rule of each step has been applied again, from the start;
        Unsound if a rule does not apply, or gives another term than the recorded one."""
        e = self.start
        for step in self.steps:
            done = apply_rule(step.rule, dict(step.arguments), get(e, step.place))
            if done is None or done[0] != step.term:
                raise Unsound(f"the derivation does not replay at: {step.rule.law}")
            e = put(e, step.place, done[0])
        return e


def get(e: Expr, place: Place) -> Expr:
    """The part of e at a place."""
    for i in place:
        e = children(e)[i]
    return e


def put(e: Expr, place: Place, new: Expr) -> Expr:
    """The term e with the part at a place replaced by `new`."""
    if not place:
        return new
    inside = list(children(e))
    inside[place[0]] = put(inside[place[0]], place[1:], new)
    return rebuild(e, tuple(inside))
