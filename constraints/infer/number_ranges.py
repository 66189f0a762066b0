"""The ranges of whole numbers in a program, from the types of its parameters and from what it does
with them; the terms that its sums add up; and the numbers that may not fit their types.

Bytes and shorts have the range of their type. Nothing is known of ints and longs but what a program
says itself, as in `min(max(x, -9), 9)` or `x & 15`. Sums, differences and products are followed as
whole numbers of any size: what wraps around on the way to a result that fits its type is right. It
has to fit where something else looks at it: a comparison, a division, a conversion to a wider type,
or whoever reads the results.
"""

# key: e term, xs array, p pattern, env ranges of variables

from dataclasses import field, replace

from constraints.infer.collected_numbers import (
    MOVED,
    Escape,
    WholeSum,
    fits,
    made_by,
    number_type,
    sums_of,
)
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
from constraints.infer.reduction_ranges import accumulated
from constraints.infer.sum_terms import RING, Terms, all_known
from ir.core.conversions import CONVERSIONS, Conversion
from ir.core.frozen import frozen
from ir.core.instruction import Instruct
from ir.core.nodes import (
    Binary,
    Concat,
    Expr,
    Generate,
    Get,
    Lam,
    Let,
    Lit,
    MakeArray,
    MakeTuple,
    Map,
    MapPar,
    MapSeq,
    Pad,
    Reduce,
    ReduceSeq,
    Select,
    SizeOf,
    Unary,
    Var,
    Zip,
)
from ir.core.terms import apply, children, free
from ir.core.type_rules import COMPARISONS, type_of
from ir.core.types import BYTES, INT, RANGES, Scalar, Type, is_whole
from ir.meaning.inputs import components

THROUGH = RING | {"<<", "select"}  # of numbers that have wrapped around, they make what does, too


def whole_sums(e: Expr) -> tuple[WholeSum, ...]:
    """The sums in e whose terms are whole numbers of a known range."""
    return looked(e)[0]


def looked(e: Expr) -> tuple[tuple[WholeSum, ...], tuple[Escape, ...]]:
    """The sums in e whose terms are whole numbers of a known range, and the other numbers of a
    known range that may not fit their type."""
    walk = _Walk()
    walk.results(e, walk.known(e, {}), type_of(e))
    return tuple(dict.fromkeys(walk.sums)), tuple(dict.fromkeys(walk.escapes))


def range_of(e: Expr) -> Range:
    """The range of the numbers that e computes: of all elements, where it is an array; unknown of
    tuples."""
    return _Walk().number(e, {})


@frozen
class _Walk:
    """A walk through a program that collects its sums and the numbers that may not fit; terms
    without variables of their own are looked at once."""

    sums: list[WholeSum] = field(default_factory=list)
    escapes: list[Escape] = field(default_factory=list)
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
                return self._converted(CONVERSIONS[op], x, env)
            case Unary("neg", x):
                return made("-", Range(0, 0), self.number(x, env))
            case Unary(op, x):
                operand = self.fitting(x, env)
                return magnitude(operand) if op == "abs" else UNKNOWN
            case Binary(op, a, b) if op in COMPARISONS:
                self.fitting(a, env), self.fitting(b, env)
                return Range(0, 1)
            case Select(c, a, b):
                self.fitting(c, env)
                return hull(*(self.operand("select", x, type_of(e), env) for x in (a, b)))
            case Binary("&", a, b):
                return self._masked(a, b, env)
            case Binary(op, a, b):
                t = type_of(e)
                both = self.operand(op, a, t, env), self.operand(op, b, t, env)
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

    def number(self, e: Expr, env: Env) -> Range:
        """The range of the number e."""
        found = self.known(e, env)
        return found if isinstance(found, Range) else UNKNOWN

    def fitting(self, e: Expr, env: Env) -> Range:
        """The range of the number e, which has to fit its type."""
        return self._held(e, self.number(e, env), type_of(e))

    def _held(self, e: Expr, found: Range, t: Type) -> Range:
        """The range `found` of numbers of the type t, which e computes and which have to fit it."""
        kept = held(found, t)
        if kept != found and None not in (found.least, found.most):
            self.escapes.append(Escape(e, number_type(t), found))
        return kept

    def results(self, e: Expr, found: Known, t: Type) -> None:
        """Look whether the numbers of the results e, in the range `found`, fit their type t."""
        parts = components(t)
        if parts is None:
            if isinstance(found, Range):
                self._held(made_by(e), found, number_type(t))
            return
        founds = found if isinstance(found, tuple) else (found,) * len(parts)
        for part, each in zip(parts, founds, strict=True):
            self.results(e, each, part)

    def operand(self, op: str, x: Expr, t: Type, env: Env) -> Range:
        """The range of the operand x of an operation whose result has the type t: as a whole number
        of any size where it wraps around as the result does."""
        alike = op in THROUGH and type_of(x) == t
        return self.number(x, env) if alike else self.fitting(x, env)

    def _masked(self, a: Expr, b: Expr, env: Env) -> Range:
        """The range of a & b; what is masked may have wrapped around."""
        whole = type_of(a) == type_of(b)
        both = [self.number(x, env) if whole else self.fitting(x, env) for x in (a, b)]
        masks = [r for r in both if r.least is not None and r.least >= 0 and held(r, INT) == r]
        if not masks:
            both = [self.fitting(x, env) for x in (a, b)]
        return made("&", *(masks * 2)[:2]) if masks else made("&", *both)

    def _converted(self, to: Conversion, x: Expr, env: Env) -> Range:
        """The range of x converted as `to` says. What becomes a number of no more bits, without
        saturation, may have wrapped around."""
        source = number_type(type_of(x))
        if to.target == source:
            return self.number(x, env)
        cut = {to.target.name, source.name} <= RANGES.keys() and not to.saturates
        if cut and BYTES[to.target.name] <= BYTES[source.name]:
            return converted(to, self.number(x, env), type_of(x))
        return converted(to, self.fitting(x, env), type_of(x))

    def quiet(self) -> "_Walk":
        """A walk of its own, of which nothing is collected."""
        return _Walk()

    def _reduced(self, e: Reduce | ReduceSeq, env: Env) -> Known:
        """The range of a reduction's result; if it is a sum of whole numbers, it is collected."""
        assert isinstance(e.f.pattern, tuple)
        acc, p = e.f.pattern
        start, inner = self.known(e.init, env), bound(env, p, self.known(e.xs, env))
        found, t = accumulated(e, inner, start, self), type_of(e)
        held = [self._summed(e, *part) for part in sums_of(t, start, found.added)]
        turn = bound(inner, acc, found.last)
        if found.grows:
            self.results(e, self.known(e.f.body, turn), t)
        elif not all_known(found.added):
            self.known(e.f.body, turn)
        elif all(held):
            self._turned(e.f.body, turn)
        return found.end

    def _summed(self, e: Expr, scalar: Scalar, start: Range, terms: Terms) -> bool:
        """Collect the sum of these terms, of the type `scalar`; True if it is known to fit."""
        begun = terms.begun(Range(0, 0) if None in (start.least, start.most) else start)
        found = WholeSum(e, scalar, terms, begun)
        self.sums.append(found)
        return fits(found)

    def _turned(self, body: Expr, env: Env) -> None:
        """Look at the last turn of a sum. The sums in it are parts of that sum, or have been seen:
        of those that do not fit, it is told."""
        inner = replace(self, sums=[])
        inner.known(body, env)
        self.sums.extend(found for found in inner.sums if not fits(found))
