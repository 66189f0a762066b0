"""The terms of a sum of whole numbers: what a step of a reduction adds to its accumulator.

A step adds if it is the accumulator plus or minus numbers in which the accumulator does not occur,
if it chooses between steps that add, or takes the larger or smaller of what they make, or if it is
itself a reduction of steps that add.
"""

# key: e term, p pattern, env ranges of variables, x a number that is added

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from constraints.infer.ranges_of_operations import UNKNOWN, Range, hull, made, times
from constraints.infer.ranges_of_variables import Env, Known, bound
from ir.core.conversions import CONVERSIONS
from ir.core.frozen import frozen
from ir.core.nodes import (
    Binary,
    Expr,
    Get,
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
    Unary,
    Zip,
)
from ir.core.size import Size
from ir.core.terms import apply, free, variables
from ir.core.type_rules import COMPARISONS, size_of, type_of
from ir.core.types import RANGES, Array, Scalar, Tuple, Type, Vector, is_whole, leaves

RING = frozenset({"+", "-", "*"})  # what wraps around alike however it is computed
Looked = Callable[[Expr, Env], Known]  # the range of each number that a term computes


@frozen
class Narrow:
    """Whole numbers that are computed in the type `scalar`, which does not hold all from `least` to
    `most`."""

    least: int
    most: int
    scalar: Scalar


@frozen
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

Added = Terms | tuple["Added", ...] | None
"""The terms that a step adds to each part of an accumulator, of arrays to each element; None for a
part with which it does something else."""


@frozen
class Step:
    """A step of a reduction: its accumulator `acc`, a pattern or a part of what one binds, and the
    ranges of other variables. `look` gives the range of a term."""

    acc: Expr | Pattern
    env: Env
    look: Looked

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
            case Let(p, value, body) if self._is_other(value):
                return self._with(p, value).terms(body)
            case Let(p, value, body) if self._is_other(Lam(p, body)):
                return _both(self.terms(value), replace(self, acc=p).terms(body))
            case Instruct(instruction, parts):
                return self.terms(apply(instruction.meaning, MakeTuple(parts)))
            case Binary("+", x, a) if self._is_other(x):
                return self._plus("+", a, x)
            case Binary("+" | "-" as op, a, x) if self._is_other(x):
                return self._plus(op, a, x)
            case Select(c, a, b) if self._is_other(c):
                return _either(self.terms(a), self.terms(b))
            case Binary("max" | "min", a, b):
                return _either(self.terms(a), self.terms(b))
            case Unary(op, x) if op in CONVERSIONS and type_of(x) == type_of(e):
                return self.terms(x)
            case Reduce(a, f, xs) | ReduceSeq(a, f, xs) if self._is_other(f) and self._is_other(xs):
                assert isinstance(f.pattern, tuple)
                inner, p = f.pattern
                turn = Step(inner, bound(self.env, p, self.look(xs, self.env)), self.look)
                return _both(self.terms(a), repeated(turn.terms(f.body), size_of(xs)))
            case Map(f, xs) | MapSeq(f, xs) if self._is_other(f):
                if isinstance(f.pattern, tuple) and isinstance(xs, Zip):
                    return self._each(f.pattern, xs.parts, f.body)
                return self._each((f.pattern,), (xs,), f.body)
        return None

    def _is_other(self, e: Expr) -> bool:
        """True if the accumulator does not occur in e."""
        acc = self.acc
        names = {v.name for v in variables(acc)} if isinstance(acc, tuple) else free(acc)
        return names.isdisjoint(free(e))

    def _with(self, p: Pattern, value: Expr) -> "Step":
        return replace(self, env=bound(self.env, p, self.look(value, self.env)))

    def _plus(self, op: str, a: Expr, x: Expr) -> Terms | None:
        """The terms that `a op x` adds, where the accumulator does not occur in x."""
        first = self.terms(a)
        if not isinstance(first, Terms):
            return None
        narrow = self._narrow(x, _scalar(a))
        return Terms(1, made(op, first.all, self._range(x)), (*first.narrow, *narrow))

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

    def _range(self, x: Expr) -> Range:
        found = self.look(x, self.env)
        return found if isinstance(found, Range) else UNKNOWN

    def _narrow(self, x: Expr, outer: Scalar | None) -> Iterator[Narrow]:
        """The whole numbers that x is made of, x too, that do not fit the type in which they are
        computed; but for those of the type `outer`, where sums, differences and products are made
        of them alone, which wraps around as they do."""
        scalar, found = _scalar(x), self._range(x)
        low, high = found.least, found.most
        if (
            scalar != outer
            and is_whole(scalar)
            and low is not None
            and high is not None
            and not found.within(*RANGES[scalar.name])
        ):
            yield Narrow(low, high, scalar)
        inner = scalar if _wraps(x) else None
        for part in _operands(x):
            yield from self._narrow(part, inner)


def _wraps(x: Expr) -> bool:
    """True if x, an operation, is right of operands of its own type that have wrapped around, where
    it wraps around itself."""
    match x:
        case Binary(op, _, _):
            return op in RING
        case Unary(op, _):
            return op == "neg"
    return False


def _operands(x: Expr) -> tuple[Expr, ...]:
    """The numbers that the number x is computed of; none for a term that is no operation."""
    match x:
        case Unary(_, e):
            return (e,)
        case Binary(op, a, b) if op not in COMPARISONS:
            return a, b
        case Select(_, a, b):
            return a, b
    return ()


def _scalar(e: Expr) -> Scalar:
    """The type of the number e, or of each number of the vector e."""
    (found,) = {*leaves(type_of(e))}
    return found.scalar if isinstance(found, Vector) else found


def _nothing(t: Type) -> Added:
    """The terms that a step adds to an accumulator of type t if it leaves it as it is."""
    match t:
        case Array(elem, _):
            return _nothing(elem)
        case Tuple(parts):
            return tuple(map(_nothing, parts))
    return NONE


def _both(a: Added, b: Added) -> Added:
    """The terms that two steps add, one after the other."""
    if NONE in (a, b):
        return b if a == NONE else a
    return _of_two(a, b, _both, partial(made, "+"))


def _either(a: Added, b: Added) -> Added:
    """The terms that one of two steps adds."""
    return _of_two(a, b, _either, hull)


def _of_two(
    a: Added,
    b: Added,
    parts: Callable[[Added, Added], Added],
    join: Callable[[Range, Range], Range],
) -> Added:
    """The terms that are made of those of two steps: by `parts` of each part of an accumulator, by
    `join` of the ranges of their sums."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return tuple(map(parts, a, b))
    if not isinstance(a, Terms) or not isinstance(b, Terms):
        return None
    return Terms(1, join(a.all, b.all), (*a.narrow, *b.narrow))


def repeated(each: Added, n: Size) -> Added:
    """The terms that n steps add, each of which adds these."""
    if isinstance(each, tuple):
        return tuple(repeated(part, n) for part in each)
    return replace(each, count=n * each.count) if each and isinstance(n, int) else None


def all_known(added: Added) -> bool:
    """True if it is known what is added to each part of an accumulator."""
    return all(map(all_known, added)) if isinstance(added, tuple) else added is not None
