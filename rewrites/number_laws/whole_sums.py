"""Laws of whole numbers in floats: sums of bytes that a program keeps in floats are kept in ints.

Floats hold all whole numbers of up to 24 bits, so a sum of such numbers that stays below 2^24 is
the same in either type. In ints, bytes need no conversion to floats, and instructions for bytes
apply.
"""

# key: e term, z initial value, g the terms of a sum, n m whole numbers, f function, t a whole type

from itertools import product

from ir.core.conversions import CONVERSIONS
from ir.core.frozen import frozen
from ir.core.nodes import Binary, Expr, Lam, Lit, Reduce, Unary, Var
from ir.core.type_rules import size_of, type_of
from ir.core.types import FLOAT, INT, RANGES, Scalar, Type, is_whole
from rewrites.analysis.folds import fold_of
from rewrites.engine.rule import rule
from rewrites.number_laws.widening import WHOLE_IN_FLOATS

EXACT = 2**24  # floats hold every whole number up to this


@frozen
class Whole:
    """A term e of whole numbers, and the least and the largest (`most`) that it may be."""

    e: Expr
    least: int
    most: int

    @property
    def size(self) -> int:
        return max(abs(self.least), abs(self.most))


@rule("reduce z (acc + g)  =  float (reduce z (acc + g)),  whole numbers, all sums below 2^24")
def sum_in_int(e: Reduce) -> Expr | None:
    """A sum in floats of products of bytes, or of other numbers that ints make as well, is kept in
    an int, and made a float once."""
    match e:
        case Reduce(z, Lam((Var(acc, t), element), _) as f, xs) if t == FLOAT:
            fold, n, start = fold_of(f), size_of(xs), _whole(z)
            if fold is None or fold.op != "+" or start is None or not isinstance(n, int):
                return None
            term = _whole(fold.term)
            if term is None or start.size + n * term.size > EXACT:
                return None
            total = Var(acc, INT)
            step = Lam((total, element), Binary("+", total, term.e))
            return Unary("float", Reduce(_as_int(start.e), step, xs))
    return None


@rule("f (float n) (float m)  =  float (f n m),  f max or min, n m ints or small literals")
def choice_in_int(e: Binary) -> Expr | None:
    """The larger or smaller of two ints is chosen before it becomes a float: conversion keeps their
    order."""
    match e:
        case Binary("max" | "min" as op, a, b) if type_of(e) == FLOAT:
            n, m = _converted(a), _converted(b)
            if n is None or m is None or (isinstance(n, Lit) and isinstance(m, Lit)):
                return None
            return Unary("float", Binary(op, n, m))
    return None


@rule("t_sat (float n)  =  t_sat n,  n a whole number, t of at most 16 bits")
def saturated_int(e: Unary) -> Expr | None:
    """An int becomes a byte or a short without becoming a float before. Floats hold all numbers of
    these types, and larger ints are larger floats."""
    match e:
        case Unary(op, Unary("float", n)) if op in CONVERSIONS and is_whole(type_of(n)):
            to = CONVERSIONS[op]
            if to.saturates and to.target.name in WHOLE_IN_FLOATS:
                return Unary(f"{to.target.name}_sat", n)
    return None


def _converted(e: Expr) -> Expr | None:
    """The int of which the float e is made; None for another float."""
    match e:
        case Unary("float", n) if type_of(n) in _INTS:
            return _as_int(n)
        case Lit() if (found := _whole(e)) is not None:
            return found.e
    return None


def _whole(e: Expr) -> Whole | None:
    """The number e as a whole number made by ints alone; None if it need not be whole, or if it or
    a number on the way to it may be larger than floats hold exactly."""
    match e:
        case _ if (t := type_of(e)) in _NARROW:
            found = Whole(e, *RANGES[_name(t)])
        case Lit(value, t) if t in (FLOAT, INT) and float(value).is_integer():
            found = Whole(Lit(int(value), INT), int(value), int(value))
        case Unary("float", n):
            return _whole(n)
        case Unary("neg", x) if (a := _whole(x)) is not None:
            found = Whole(Unary("neg", a.e), -a.most, -a.least)
        case Binary("+" | "-" | "*" | "max" | "min" as op, x, y):
            a, b = _whole(x), _whole(y)
            if a is None or b is None:
                return None
            found = _made(op, a, b)
        case _:
            return None
    return found if found.size <= EXACT else None


def _made(op: str, a: Whole, b: Whole) -> Whole:
    """The whole number a op b."""
    e = Binary(op, a.e, b.e)
    match op:
        case "+":
            return Whole(e, a.least + b.least, a.most + b.most)
        case "-":
            return Whole(e, a.least - b.most, a.most - b.least)
        case "*":
            ends = [x * y for x, y in product((a.least, a.most), (b.least, b.most))]
            return Whole(e, min(ends), max(ends))
    pick = max if op == "max" else min
    return Whole(e, pick(a.least, b.least), pick(a.most, b.most))


def _as_int(e: Expr) -> Expr:
    return e if type_of(e) == INT else Unary("int", e)


def _name(t: Type) -> str:
    assert isinstance(t, Scalar)
    return t.name


_NARROW = frozenset(Scalar(name) for name in WHOLE_IN_FLOATS)
_INTS = frozenset({*_NARROW, INT})
