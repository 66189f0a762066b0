"""The terms of a sum of whole numbers: what a step of a reduction adds to its accumulator.

A step adds if it is the accumulator plus or minus numbers in which the accumulator does not occur,
if it chooses between steps that add, or takes the larger or smaller of what they make, or if it is
itself a reduction of steps that add. It may also leave a number instead, as in `max(acc + x, 0)`.
"""

# key: e term, p pattern, env ranges of variables, x a number that is added

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from constraints.infer.ranges_of_operations import Range, hull, made, times
from constraints.infer.ranges_of_variables import Env, Known, bound
from ir.core.conversions import CONVERSIONS
from ir.core.frozen import frozen
from ir.core.instruction import Instruct
from ir.core.nodes import (
    Binary,
    Expr,
    Get,
    Lam,
    Let,
    MakeTuple,
    Map,
    MapSeq,
    Pattern,
    Reduce,
    ReduceSeq,
    Select,
    Unary,
    Var,
    Zip,
)
from ir.core.size import Size
from ir.core.terms import apply, children, free, variables
from ir.core.type_rules import size_of, type_of
from ir.core.types import Array, Tuple, Type

RING = frozenset({"+", "-", "*"})  # what wraps around alike however it is computed
ZERO = Range(0, 0)


class Looks(Protocol):
    """Something that tells the ranges of terms in an environment."""

    @property
    def escapes(self) -> Sequence[object]:
        """The numbers that were looked at and may not fit their types."""

    def known(self, e: Expr, env: Env) -> Known:
        """The range of each number that e computes."""

    def operand(self, op: str, x: Expr, t: Type, env: Env) -> Range:
        """The range of x, an operand of the operation `op` whose result has the type t."""

    def quiet(self) -> "Looks":
        """Something that tells the same, and collects nothing."""


@frozen
class Terms:
    """The `count` terms of a sum, each in the range `each`; and the range of the numbers that a
    step may leave instead of a sum with the accumulator (None: it always adds)."""

    count: int
    each: Range
    instead: Range | None = None

    @property
    def all(self) -> Range:
        """The range of the sum of these terms."""
        return times(self.count, self.each)

    @property
    def some(self) -> Range:
        """The range of the sum of these terms, or of some of them."""
        return hull(self.all, ZERO)

    def whole(self, start: Range) -> Range:
        """The range of what these terms, or some of them, make of a number in `start`."""
        return made("+", self.begun(start), self.some)

    def begun(self, start: Range) -> Range:
        """The range of the numbers to which the terms are added that begin with one in `start`."""
        return start if self.instead is None else hull(start, self.instead)


NONE = Terms(1, ZERO)

Added = Terms | tuple["Added", ...] | None
"""The terms that a step adds to each part of an accumulator, of arrays to each element; None for a
part with which it does something else."""


@frozen
class Step:
    """A step of a reduction: its accumulator `acc`, a pattern or a part of what one binds, and the
    ranges of other variables. `looks` tells the ranges of terms. If it is taken `whole`, the
    ranges are those of the accumulator, too, and of what is made of it in another way than by
    adding, the range counts."""

    acc: Expr | Pattern
    env: Env
    looks: Looks
    whole: bool = False

    def terms(self, e: Expr) -> Added:
        """The terms that e adds to the accumulator."""
        match e:
            case _ if e == self.acc:
                return _nothing(type_of(e))
            case MakeTuple(parts):
                acc, of = self.acc, list[Expr | Pattern]()
                of += acc if isinstance(acc, tuple) else [Get(n, acc) for n in range(len(parts))]
                pairs = zip(of, parts, strict=True)
                return tuple(replace(self, acc=a).terms(part) for a, part in pairs)
            case _ if self._is_other(e):
                found = self.looks.known(e, self.env)
                return Terms(1, ZERO, found) if isinstance(found, Range) else None
            case Let(p, value, body) if self._is_other(value):
                return None if self._hidden(p) else self._with(p, value).terms(body)
            case Let(p, value, body) if self._is_other(Lam(p, body)):
                return both(self.terms(value), replace(self, acc=p).terms(body))
            case Instruct(instruction, parts):
                return self.terms(apply(instruction.meaning, MakeTuple(parts)))
            case Binary("+", x, a) if self._is_other(x):
                return self._plus(e, a, x)
            case Binary("+" | "-", a, x) if self._is_other(x):
                return self._plus(e, a, x)
            case Select(_, a, b) | Binary("max" | "min", a, b):
                return _either(self.terms(a), self.terms(b))
            case Unary(op, x) if op in CONVERSIONS and type_of(x) == type_of(e):
                return self.terms(x)
            case Reduce(a, f, xs) | ReduceSeq(a, f, xs) if self._is_other(f) and self._is_other(xs):
                assert isinstance(f.pattern, tuple)
                inner, p = f.pattern
                turn = replace(self, acc=inner, env=self._with(p, xs).env)
                return both(self.terms(a), repeated(turn.terms(f.body), size_of(xs)))
            case Map(f, xs) | MapSeq(f, xs) if self._is_other(f):
                if isinstance(f.pattern, tuple) and isinstance(xs, Zip):
                    return self._each(f.pattern, xs.parts, f.body)
                return self._each((f.pattern,), (xs,), f.body)
        return self._by_range(e) if self.whole else None

    def _by_range(self, e: Expr) -> Added:
        """The terms that e adds, of which some are made of the accumulator."""
        plain = replace(self, whole=False)
        match e:
            case Binary("+" | "-", a, x) if not self._is_other(a) and plain.terms(a):
                return self._plus(e, a, x)
            case Binary("+", x, a) if plain.terms(a):
                return self._plus(e, a, x)
        found = self.looks.known(e, self.env)
        return Terms(1, ZERO, found) if isinstance(found, Range) else None

    def _is_other(self, e: Expr) -> bool:
        """True if the accumulator does not occur in e."""
        acc = self.acc
        names = {v.name for v in variables(acc)} if isinstance(acc, tuple) else free(acc)
        return names.isdisjoint(free(e)) or (isinstance(acc, Get) and not _occurs(acc, e))

    def _hidden(self, p: Pattern) -> bool:
        """True if the pattern p binds a name of the accumulator to something else."""
        acc = self.acc
        names = {v.name for v in variables(acc)} if isinstance(acc, tuple) else free(acc)
        return not names.isdisjoint(v.name for v in variables(p))

    def _with(self, p: Pattern, value: Expr) -> "Step":
        return replace(self, env=bound(self.env, p, self.looks.known(value, self.env)))

    def _plus(self, e: Binary, a: Expr, x: Expr) -> Terms | None:
        """The terms that the sum or difference e of a and x adds, where the accumulator does not
        occur in x."""
        first, t = self.terms(a), type_of(e)
        if not isinstance(first, Terms) or type_of(a) != t:
            return None
        more = self.looks.operand(e.op, x, t, self.env)
        instead = None if first.instead is None else made(e.op, first.instead, more)
        return Terms(1, made(e.op, first.all, more), instead)

    def _each(self, patterns: tuple[Pattern, ...], parts: tuple[Expr, ...], body: Expr) -> Added:
        """The terms that a map adds to each element of the accumulator, which is one of the arrays
        `parts` that it goes over together."""
        mine = [q for q, part in zip(patterns, parts, strict=True) if part == self.acc]
        others = [pair for pair in zip(patterns, parts, strict=True) if pair[1] != self.acc]
        if len(mine) != 1 or not all(self._is_other(part) for _, part in others):
            return None
        step = self
        for q, part in others:
            step = step._with(q, part)
        return replace(step, acc=mine[0]).terms(body)


def _occurs(acc: Get, e: Expr) -> bool:
    """True if acc, a component of a tuple, occurs in e, alone or in the whole tuple."""
    if free(acc).isdisjoint(free(e)):
        return False
    match e:
        case Get(n, inner) if inner == acc.e:
            return n == acc.index
        case Var():
            return True
    return any(_occurs(acc, part) for part in children(e))


def _nothing(t: Type) -> Added:
    """The terms that a step adds to an accumulator of type t if it leaves it as it is."""
    match t:
        case Array(elem, _):
            return _nothing(elem)
        case Tuple(parts):
            return tuple(map(_nothing, parts))
    return NONE


def both(a: Added, b: Added) -> Added:
    """The terms that two steps add, one after the other."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return tuple(map(both, a, b))
    if not isinstance(a, Terms) or not isinstance(b, Terms):
        return None
    if NONE in (a, b):
        return b if a == NONE else a
    before = None if a.instead is None else made("+", a.instead, b.all)
    return Terms(1, made("+", a.all, b.all), _hull(before, b.instead))


def _either(a: Added, b: Added) -> Added:
    """The terms that one of two steps adds."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return tuple(map(_either, a, b))
    if not isinstance(a, Terms) or not isinstance(b, Terms):
        return None
    return Terms(1, hull(a.all, b.all), _hull(a.instead, b.instead))


def _hull(a: Range | None, b: Range | None) -> Range | None:
    return a if b is None else b if a is None else hull(a, b)


def repeated(each: Added, n: Size) -> Added:
    """The terms that n steps add, each of which adds these."""
    if isinstance(each, tuple):
        return tuple(repeated(part, n) for part in each)
    if each is None or not isinstance(n, int):
        return None
    later = times(n - 1, each.all)
    instead = each.instead and made("+", each.instead, hull(later, ZERO))
    return replace(each, count=n * each.count, instead=instead)


def all_known(added: Added) -> bool:
    """True if it is known what is added to each part of an accumulator."""
    return all(map(all_known, added)) if isinstance(added, tuple) else added is not None
