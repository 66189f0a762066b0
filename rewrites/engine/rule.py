"""Rules: a law between two terms, applied at one node and checked to keep its type; a step is one
such use."""

# key: e term, s strategy

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import prod
from types import UnionType

from ir.core.frozen import distinct, frozen
from ir.core.nodes import Edge, Expr, Lam, Level
from ir.core.size import Size
from ir.core.terms import children, rebuild, shared
from ir.core.type_rules import type_of
from ir.core.types import Type, equal, show_type
from ir.errors import IllTyped
from ir.text.show import show

Argument = Size | str | bool | Expr | Level | Edge | tuple[int, ...]
Place = tuple[int, ...]


DOUBLES = 2.0**29
"""The machine epsilons of a double that one of a float has."""

Rounding = float | Callable[..., float]


@frozen
class Rule:
    """A rewrite rule: `law` is its equation, and `rewrite` makes the right side from the left, or
    None where it does not apply.

    `rounding`: the law holds of numbers, and in floating point its right side may differ by so many
    machine epsilons, relative in norm; it may depend on the rule's arguments. `growth`: by how much
    the law, a fast algorithm, makes errors of the products grow that it leaves. `of_products`: the
    rounding is one of products, and grows with them. `looks_at`: the types of nodes at which the
    law may apply; `rewrite` is called at no others.
    """

    law: str
    rewrite: Callable[..., Expr | None]
    rounding: Rounding = 0.0
    growth: Rounding = 1.0  # of errors of the products that the law leaves
    of_products: bool = False  # the rounding is one of products
    looks_at: type[Expr] | UnionType = Expr

    def __call__(self, **arguments: Argument) -> "Use":
        """The strategy that applies this rule, with these arguments, at the root of a term."""
        return Use(self, arguments)


@distinct
class Use:
    """A rule with its arguments: the strategy that applies it at the root of a term."""

    rule: Rule
    arguments: Mapping[str, Argument]

    def __call__(self, e: Expr) -> "Rewritten | None":
        return apply_rule(self.rule, self.arguments, e)


@frozen
class Begun:
    """A stage that begins at a step: its name, its number of steps, and the term before and after
    them all."""

    name: str
    steps: int
    before: Expr
    after: Expr


@frozen
class Step:
    """One use of a rule, with its arguments, in a derivation: the place, the term that then stands
    there, and the stages that begin with this step."""

    rule: Rule
    arguments: tuple[tuple[str, Argument], ...]
    place: Place
    term: Expr
    stages: tuple[Begun, ...] = ()

    def under(self, place: Place) -> "Step":
        """This step as a step of a term whose part at a place it changes."""
        return Step(self.rule, self.arguments, place + self.place, self.term, self.stages)

    @property
    def rounding(self) -> float:
        """The known error of this step: by how many machine epsilons, in norm, it may change
        floating-point results."""
        return self._known(self.rule.rounding)

    @property
    def growth(self) -> float:
        """The factor by which this step makes errors of the products grow that it leaves."""
        return self._known(self.rule.growth)

    def _known(self, known: Rounding) -> float:
        return known(**dict(self.arguments)) if callable(known) else known


def roundings(steps: Iterable[Step], wider: float = 1.0) -> Iterator[float]:
    """The known error that each of the steps of a derivation adds, in machine epsilons of the norm,
    where terms are computed in numbers whose epsilon is `wider` times smaller than a float's.

    Errors of products grow by the algorithms that leave these. One law is used in kernels of their
    own, and so the largest growth of its uses counts; different laws may be used in each other's
    products. Whole numbers become fractions by such algorithms, and what factors of few bits lose
    of fractions is lost in wider numbers, too.
    """
    grown: dict[Rule, float] = {}
    for step in steps:
        lost_in_any = step.rule.of_products and grown
        yield step.rounding * (wider * prod(grown.values()) if lost_in_any else 1.0)
        if step.growth != 1.0:
            grown[step.rule] = max(grown.get(step.rule, 1.0), step.growth)


Rewritten = tuple[Expr, tuple[Step, ...]]
Strategy = Callable[[Expr], Rewritten | None]


class Unsound(Exception):
    """Raised where a rule changes the type of a term, or where applying a recorded step again does
    not give the recorded term: a bug in the rule."""


def rule(
    law: str, rounding: Rounding = 0.0, growth: Rounding = 1.0, of_products: bool = False
) -> Callable[[Callable[..., Expr | None]], Rule]:
    """A decorator that turns a function from a term to a term, or None, into a rule with this law;
    the other arguments are fields of the rule."""

    def made(rewrite: Callable[..., Expr | None]) -> Rule:
        return Rule(law, rewrite, rounding, growth, of_products, rewrite.__annotations__["e"])

    return made


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
