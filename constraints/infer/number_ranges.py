"""The ranges of whole numbers in a program, from the types of its parameters and from what it does
with them; and of the terms that its sums add up.

Bytes and shorts have the range of their type. Nothing is known of ints and longs but what a program
says itself, as in `min(max(x, -9), 9)` or `x & 15`. Sums, differences and products are followed as
whole numbers of any size: where the result fits its type, what wraps around on the way is right.
"""

# key: e term, xs array, p pattern, env ranges of variables

from dataclasses import field
from functools import partial

from constraints.infer.ranges_of_operations import (
    SHIFTS,
    UNKNOWN,
    Range,
    converted,
    held,
    hull,
    made,
    magnitude,
    places,
)
from constraints.infer.ranges_of_variables import Env, Known, bound, either, of_type
from constraints.infer.sum_terms import RING, Added, Step, Terms, all_known, repeated
from ir.core.conversions import CONVERSIONS
from ir.core.frozen import frozen
from ir.core.nodes import (
    AsScalar,
    AsVector,
    At,
    Binary,
    Concat,
    Expr,
    Generate,
    Get,
    Instruct,
    Join,
    Lam,
    Let,
    Lit,
    MakeArray,
    MakeTuple,
    Map,
    MapPar,
    MapSeq,
    Pad,
    PadEdge,
    Reduce,
    ReduceSeq,
    Reorder,
    Select,
    SizeOf,
    Slide,
    Split,
    Store,
    ToLocal,
    ToPrivate,
    Transpose,
    Unary,
    Var,
    Zip,
)
from ir.core.terms import apply, children, free
from ir.core.type_rules import COMPARISONS, size_of, type_of
from ir.core.types import Scalar, Type, is_whole, leaves, scalar_of
from ir.meaning.inputs import components

MOVED = (
    Split, Join, Slide, PadEdge, Transpose, Reorder, At, AsVector, AsScalar,
    ToLocal, ToPrivate, Store,
)  # fmt: skip
"""Terms with the numbers of the array in them."""

TURNS = 16  # of a reduction that is no sum, followed one by one


@frozen
class WholeSum:
    """A sum of whole numbers of a known range: its reduction, its type, its terms, and the range of
    the number that it starts from (`start`: 0 … 0 where nothing is known of that number)."""

    reduction: Expr
    scalar: Scalar
    terms: Terms
    start: Range


def whole_sums(e: Expr) -> tuple[WholeSum, ...]:
    """The sums in e whose terms are whole numbers of a known range."""
    walk = _Walk()
    walk.known(e, {})
    return tuple(dict.fromkeys(walk.sums))


def range_of(e: Expr) -> Range:
    """The range of the numbers that e computes: of all elements, where it is an array; unknown of
    tuples."""
    return _Walk().number(e, {})


@frozen
class _Walk:
    """A walk through a program that collects its sums; terms without variables of their own are
    looked at once."""

    sums: list[WholeSum] = field(default_factory=list)
    closed: dict[Expr, Known] = field(default_factory=dict)

    def known(self, e: Expr, env: Env) -> Known:
        """The range of each number that e computes."""
        if free(e) & env.keys():
            return self._known(e, env)
        if e not in self.closed:
            self.closed[e] = self._known(e, {})
        return self.closed[e]

    def _known(self, e: Expr, env: Env) -> Known:
        match e:
            case Var(name, t):
                return env[name] if name in env else of_type(t)
            case Lit(value, scalar):
                return Range(int(value), int(value)) if is_whole(scalar) else UNKNOWN
            case SizeOf(int(n)):
                return Range(n, n)
            case Unary(op, x) if op in CONVERSIONS:
                return converted(CONVERSIONS[op], self.number(x, env), type_of(x))
            case Unary("neg", x):
                return made("-", Range(0, 0), self.number(x, env))
            case Unary("abs", x):
                return magnitude(held(self.number(x, env), type_of(x)))
            case Binary(op, a, b) if op in COMPARISONS:
                self.number(a, env), self.number(b, env)  # for the sums in them
                return Range(0, 1)
            case Select(c, a, b):
                self.number(c, env)
                return hull(*(held(self.number(x, env), type_of(x)) for x in (a, b)))
            case Binary(op, a, b):
                t = type_of(e)
                both = self._operand(op, a, t, env), self._operand(op, b, t, env)
                return made(op, both[0], places(both[1], t) if op in SHIFTS else both[1])
            case MakeTuple(parts) | Zip(parts):
                return tuple(self.known(part, env) for part in parts)
            case Instruct(instruction, parts):
                return self.known(apply(instruction.meaning, MakeTuple(parts)), env)
            case Get(i, x):
                whole = self.known(x, env)
                return whole[i] if isinstance(whole, tuple) else of_type(type_of(e))
            case Let(p, value, body):
                return self.known(body, bound(env, p, self.known(value, env)))
            case Map(Lam(p, body), xs) | MapSeq(Lam(p, body), xs) | MapPar(_, _, Lam(p, body), xs):
                return self.known(body, bound(env, p, self.known(xs, env)))
            case Reduce() | ReduceSeq():
                return self._reduced(e, env)
            case Generate(n, Lam(p, body)):
                index = Range(0, n - 1) if isinstance(n, int) else UNKNOWN
                return self.known(body, bound(env, p, index))
            case Pad(_, _, value, xs):
                return either(self.known(value, env), self.known(xs, env))
            case Concat(a, b):
                return either(self.known(a, env), self.known(b, env))
            case MakeArray((first, *rest)):
                found = self.known(first, env)
                for part in rest:
                    found = either(found, self.known(part, env))
                return found
        inner = [self.known(c, env) for c in children(e) if not isinstance(c, Lam)]
        return inner[-1] if isinstance(e, MOVED) else of_type(type_of(e))

    def _operand(self, op: str, x: Expr, t: Type, env: Env) -> Range:
        """The range of the operand x of an operation whose result has the type t: as a whole number
        of any size where it wraps around as the result does."""
        found = self.number(x, env)
        return found if op in RING and type_of(x) == t else held(found, type_of(x))

    def number(self, e: Expr, env: Env) -> Range:
        """The range of the number e."""
        found = self.known(e, env)
        return found if isinstance(found, Range) else UNKNOWN

    def _reduced(self, e: Reduce | ReduceSeq, env: Env) -> Known:
        """The range of a reduction's result; if it is a sum of whole numbers, it is collected."""
        start, elements, t = self.known(e.init, env), self.known(e.xs, env), type_of(e)
        assert isinstance(e.f.pattern, tuple)
        acc, p = e.f.pattern
        inner = bound(env, p, elements)
        added = Step(acc, inner, self.known).terms(e.f.body)
        kept = of_type(t)
        if not all_known(added):
            kept = _kept(e, inner, start)
            self.known(e.f.body, bound(inner, acc, kept))
        return self._summed(e, t, start, repeated(added, size_of(e.xs)), kept)

    def _summed(
        self, e: Reduce | ReduceSeq, t: Type, start: Known, added: Added, kept: Known
    ) -> Known:
        """The range of a part of the type t of a reduction's result, to which it adds these terms
        in all; the part is collected if it is a sum of whole numbers. If it is none, it is in the
        range `kept`."""
        if isinstance(added, tuple):
            parts = components(t)
            assert parts is not None
            starts, others = (
                k if isinstance(k, tuple) else tuple(map(of_type, parts)) for k in (start, kept)
            )
            return tuple(map(partial(self._summed, e), parts, starts, added, others))
        if added is None or not isinstance(start, Range):
            return kept
        if added.all == UNKNOWN and not added.narrow:
            return of_type(t)
        (leaf,) = leaves(t)
        scalar = scalar_of(leaf)
        assert scalar is not None
        if is_whole(scalar):
            begun = Range(0, 0) if None in (start.least, start.most) else start
            self.sums.append(WholeSum(e, scalar, added, begun))
        return made("+", start, added.some)


def _kept(e: Reduce | ReduceSeq, env: Env, start: Known) -> Known:
    """The range of the accumulator of a reduction that begins in the range `start`: it holds all
    that a few turns make, and either there are no more turns or none leaves it."""
    assert isinstance(e.f.pattern, tuple)
    turns, found = size_of(e.xs), start
    for turn in range(TURNS):
        wider = either(found, _Walk().known(e.f.body, bound(env, e.f.pattern[0], found)))
        if turn == turns or wider == found:
            return found
        found = wider
    return of_type(type_of(e))
