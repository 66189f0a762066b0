"""The terms of a sum of whole numbers: what a step of a reduction adds to its accumulator.

A step adds if it is the accumulator plus or minus numbers in which the accumulator does not occur,
if it chooses between steps that add, or if it is itself a reduction of steps that add.
"""

# key: e term, p pattern, env ranges of variables, x a number that is added

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from constraints.infer.ranges_of_operations import UNKNOWN, Range, hull, made, times
from constraints.infer.ranges_of_variables import Env, Known, bound
from ir.core.nodes import (
    Binary,
    Expr,
    Instruct,
    Lam,
    Let,
    MakeTuple,
    Map,
    MapSeq,
    Pattern,
    Reduce,
    ReduceSeq,
    Select,
    Var,
    Zip,
)
from ir.core.size import Size
from ir.core.terms import apply, free
from ir.core.type_rules import size_of, type_of
from ir.core.types import RANGES, Scalar, Vector, is_whole, leaves

RING = frozenset({"+", "-", "*"})  # what wraps around alike however it is computed
Looked = Callable[[Expr, Env], Known]  # the range of each number that a term computes


@dataclass(frozen=True, slots=True)
class Narrow:
    """Whole numbers that are computed in the type `scalar`, which does not hold all from `least` to
    `most`."""

    least: int
    most: int
    scalar: Scalar


@dataclass(frozen=True, slots=True)
class Terms:
    """The `count` terms of a sum, each in the range `each`, and the numbers that they are made of
    and that may wrap around before they become numbers of the sum's type."""

    count: int
    each: Range
    narrow: tuple[Narrow, ...] = ()

    @property
    def all(self) -> Range:
        """The range of the sum of these terms."""
        return times(self.count, self.each)

    @property
    def some(self) -> Range:
        """The range of the sum of these terms, or of some of them."""
        return hull(self.all, Range(0, 0))


NONE = Terms(1, Range(0, 0))


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a reduction: its accumulator `acc`, a variable or a part of one, and the ranges of
    other variables. `look` gives the range of a term."""

    acc: Expr
    env: Env
    look: Looked

    def terms(self, e: Expr) -> Terms | None:
        """The terms that e adds to the accumulator; None if it does something else with it. Of
        arrays: to each element."""
        match e:
            case _ if e == self.acc:
                return NONE
            case Let(p, value, body) if self._is_other(value):
                return self._with(p, value).terms(body)
            case Let(Var() as p, value, body) if self._is_other(body):
                return _both(self.terms(value), replace(self, acc=p).terms(body))
            case Instruct(instruction, parts):
                return self.terms(apply(instruction.meaning, MakeTuple(parts)))
            case Binary("+", x, a) if self._is_other(x):
                return self._plus("+", a, x)
            case Binary("+" | "-" as op, a, x) if self._is_other(x):
                return self._plus(op, a, x)
            case Select(c, a, b) if self._is_other(c):
                return _either(self.terms(a), self.terms(b))
            case Reduce(a, Lam((Var() as inner, p), body), xs) | ReduceSeq(
                a, Lam((Var() as inner, p), body), xs
            ) if self._is_other(xs) and self._is_other(body):
                turn = Step(inner, bound(self.env, p, self.look(xs, self.env)), self.look)
                return _both(self.terms(a), _repeated(turn.terms(body), size_of(xs)))
            case Map(Lam(tuple() as patterns, body), Zip(parts)) | MapSeq(
                Lam(tuple() as patterns, body), Zip(parts)
            ) if self._is_other(body):
                return self._each(patterns, body, parts)
        return None

    def _is_other(self, e: Expr) -> bool:
        """True if the accumulator does not occur in e."""
        return free(self.acc).isdisjoint(free(e))

    def _with(self, p: Pattern, value: Expr) -> "Step":
        return replace(self, env=bound(self.env, p, self.look(value, self.env)))

    def _plus(self, op: str, a: Expr, x: Expr) -> Terms | None:
        """The terms that `a op x` adds, where the accumulator does not occur in x."""
        first = self.terms(a)
        if first is None:
            return None
        narrow = self._narrow(x, _scalar(self.acc))
        return Terms(1, made(op, first.all, self._range(x)), (*first.narrow, *narrow))

    def _each(
        self, patterns: tuple[Pattern, ...], body: Expr, parts: tuple[Expr, ...]
    ) -> Terms | None:
        """The terms that a map adds to each element of the accumulator, which is one of the arrays
        that it goes over together."""
        inner = [q for q, part in zip(patterns, parts, strict=True) if part == self.acc]
        if len(inner) != 1 or not isinstance(inner[0], Var):
            return None
        step = replace(self, acc=inner[0])
        for q, part in zip(patterns, parts, strict=True):
            if part != self.acc:
                if not self._is_other(part):
                    return None
                step = step._with(q, part)
        return step.terms(body)

    def _range(self, x: Expr) -> Range:
        found = self.look(x, self.env)
        return found if isinstance(found, Range) else UNKNOWN

    def _narrow(self, x: Expr, outer: Scalar) -> Iterator[Narrow]:
        """The numbers that x is made of by sums, differences and products, x too, that are computed
        in another type than what is made of them (of x: than `outer`), and do not fit it."""
        scalar, found = _scalar(x), self._range(x)
        if scalar != outer and is_whole(scalar) and None not in (found.least, found.most):
            least, most = RANGES[scalar.name]
            if not found.within(least, most):
                yield Narrow(found.least, found.most, scalar)  # type: ignore[arg-type]
        if isinstance(x, Binary) and x.op in RING:
            for part in (x.a, x.b):
                yield from self._narrow(part, scalar)


def _scalar(e: Expr) -> Scalar:
    """The type of the numbers in e."""
    (found,) = {*leaves(type_of(e))}
    return found.scalar if isinstance(found, Vector) else found


def _both(a: Terms | None, b: Terms | None) -> Terms | None:
    """The terms that two steps add, one after the other."""
    if a is None or b is None or NONE in (a, b):
        return b if a == NONE else a if b == NONE else None
    return Terms(1, made("+", a.all, b.all), (*a.narrow, *b.narrow))


def _either(a: Terms | None, b: Terms | None) -> Terms | None:
    """The terms that one of two steps adds."""
    return a and b and Terms(1, hull(a.all, b.all), (*a.narrow, *b.narrow))


def _repeated(each: Terms | None, n: Size) -> Terms | None:
    """The terms that n steps add, each of which adds these."""
    return replace(each, count=n * each.count) if each and isinstance(n, int) else None
