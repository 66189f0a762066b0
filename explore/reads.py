"""What part of each input a program must read: windows may leave gaps, and ends that none reaches.

`shares(e, asked)` says of each variable free in e what part of its elements is read at least, if
this part of the elements of e is asked for, whichever they are. Weights that only meet padding
need not be read.
"""

# key: e xs terms, n a length

from collections.abc import Mapping
from fractions import Fraction

from explore.work import bytes_of
from ir.inputs import known
from ir.nodes import (
    At,
    Concat,
    Expr,
    Generate,
    Get,
    Lam,
    Let,
    Map,
    Pad,
    PadEdge,
    Pattern,
    Program,
    Reduce,
    Slide,
    Var,
    Zip,
)
from ir.terms import children, variables
from ir.typing import size_of
from rewrites.amounts import amounts
from rewrites.families import parameters

Shares = Mapping[str, Fraction]
NOTHING = Fraction(0)


def moved_bytes(program: Program) -> int:
    """Each input element that matters read once and the output written once."""
    parts, known = shares(program.body, Fraction(1)), amounts(program.body, parameters(program))
    if known is not None:  # what meets padding alone is not read
        fullest = dict.fromkeys(known.weights, known.real.fullest)
        parts = {name: min(part, fullest.get(name, part)) for name, part in parts.items()}
    read = sum(parts.get(p.var.name, NOTHING) * bytes_of(p.var) for p in program.params)
    return int(read) + bytes_of(program.body)


def shares(e: Expr, asked: Fraction) -> Shares:
    """The least parts of the variables' elements that e reads."""
    match e:
        case Var(name):
            return {name: asked}
        case Map(f, xs):
            return _applied(f.pattern, f.body, xs, asked)
        case Reduce(init, f, xs):
            assert isinstance(f.pattern, tuple)
            return _most(shares(init, asked), _applied(f.pattern[1], f.body, xs, asked))
        case Generate(_, f):
            return shares(f.body, asked)
        case Let(pattern, value, body):
            return _applied(pattern, body, value, asked)
        case Slide(_, _, xs):
            return shares(xs, _reached(e, asked))
        case Pad(left, right, _, xs) | PadEdge(_, left, right, xs):
            return shares(xs, _without(max(0, known(left)) + max(0, known(right)), e, xs, asked))
        case Concat(a, b):
            first = _without(known(size_of(b)), e, a, asked)
            return _most(shares(a, first), shares(b, _without(known(size_of(a)), e, b, asked)))
        case At(_, xs):
            return shares(xs, asked / known(size_of(xs)))
        case Lam() | Get():
            return {}
        case _:
            return _most(*(shares(c, asked) for c in children(e)))


def _reached(e: Slide, asked: Fraction) -> Fraction:
    """Of what windows slide over, if this part of their elements is asked for."""
    size, step, count = known(e.size), known(e.step), known(size_of(e))
    all_of_them = (count - 1) * min(size, step) + size
    each_in = -(-size // step)  # windows, at most
    reached = all_of_them if asked == 1 else asked * count * size / each_in
    return Fraction(min(reached, all_of_them)) / known(size_of(e.xs))


def _without(others: int, e: Expr, xs: Expr, asked: Fraction) -> Fraction:
    """Of xs, if as many elements of e are others, and these are asked for first."""
    return max(NOTHING, asked * known(size_of(e)) - others) / known(size_of(xs))


def _applied(pattern: Pattern, body: Expr, xs: Expr, asked: Fraction) -> Shares:
    """Of a body for each element of xs."""
    inside = shares(body, asked)
    bound = {v.name for v in variables(pattern)}
    outside = {name: share for name, share in inside.items() if name not in bound}
    return _most(outside, _elements(pattern, inside, xs))


def _elements(pattern: Pattern, inside: Shares, xs: Expr) -> Shares:
    """Of an array whose elements are read through a pattern."""
    if isinstance(pattern, tuple) and isinstance(xs, Zip):
        pairs = zip(pattern, xs.parts, strict=True)
        return _most(*(_elements(p, inside, part) for p, part in pairs))
    return shares(xs, min(inside.get(v.name, NOTHING) for v in variables(pattern)))


def _most(*several: Shares) -> Shares:
    names = {name for parts in several for name in parts}
    return {name: max(parts.get(name, NOTHING) for parts in several) for name in names}
