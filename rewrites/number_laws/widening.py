"""Laws of widening: narrow numbers that a program reads as floats are converted before it runs.
Fast algorithms need that: they transform floats; transformed sums of halves or bytes would lose too
much, or not fit their type. Loops convert a number once in place of once for each use."""

# key: e term, xs array, ys the same numbers as floats, x y narrow numbers, t type

from ir.core.nodes import Binary, Expr, Let, Lit, Map, Pad, Select, Store, Unary, Var
from ir.core.terms import children, free, lam, let, rebuild, substitute
from ir.core.type_rules import type_of
from ir.core.types import (
    CHAR,
    FLOAT,
    NARROW_REALS,
    SHORT,
    UCHAR,
    Array,
    Scalar,
    Type,
    equal,
    is_whole,
    scalar_of,
)
from ir.errors import IllTyped
from rewrites.analysis.binder_names import element_of
from rewrites.engine.rule import rule
from rewrites.laws.vectors import Instead, Types, retype
from rewrites.number_laws.accumulators import UNIT

WHOLE_IN_FLOATS = frozenset({"char", "uchar", "short", "ushort"})
NARROW = frozenset({*NARROW_REALS, *(Scalar(name) for name in WHOLE_IN_FLOATS)})
"""The types narrower than float of which floats hold all numbers exactly."""


@rule("float (x * y)  =  float x * float y,  x and y halves or bfloats", UNIT)
def float_product(e: Unary) -> Expr | None:
    match e:
        case Unary("float", Binary("*", x, y)) if type_of(x) in NARROW_REALS:
            return Binary("*", Unary("float", x), Unary("float", y))
    return None


@rule("e xs  =  let ys = store (map float xs) in e ys,  e reads xs as floats only")
def widen(e: Expr, name: str) -> Expr | None:
    """The free variable `name` of e, an array of narrow numbers, is stored as floats by a kernel of
    its own and read from there. None unless e converts all its numbers to floats before it computes
    with them."""
    xs = _free_variable(e, name)
    wide = None if xs is None else _of_floats(xs.type)
    if xs is None or wide is None:
        return None
    body = _over_wide(e, name, wide, _instead)
    if body is None:
        return None
    floats = Store(_made(FLOAT, xs))
    return let(name, floats, wide, lambda ys: substitute(body, {name: ys}))


@rule("let x = xs in e  =  let y = map float xs in e',  e reads x as floats only")
def float_once(e: Let) -> Expr | None:
    """The name of the let e stands for an array of floats instead of narrow numbers, so that they
    are converted once. None unless the body converts all of them to floats before it computes with
    them."""
    match e:
        case Let(Var(name, t), xs, rest) if (wide := _of_floats(t)) is not None:
            body = _over_wide(rest, name, wide, _instead)
            return None if body is None else Let(Var(name, wide), _made(FLOAT, xs), body)
    return None


@rule("let x = xs in e  =  let y = map short xs in e,  e multiplies and adds bytes x as ints")
def short_once(e: Let) -> Expr | None:
    """The name of the let e stands for an array of shorts instead of bytes, so that they are
    widened once. None unless the body makes ints of them, by `+`, `-` or `*` or by a conversion,
    before it does anything else with them."""
    match e:
        case Let(Var(name, t), xs, rest) if (wide := _with_numbers(t, _BYTES, SHORT)) is not None:
            body = _over_wide(rest, name, wide, _as_shorts)
            return None if body is None else Let(Var(name, wide), _made(SHORT, xs), body)
    return None


def _over_wide(e: Expr, name: str, wide: Type, instead: Instead) -> Expr | None:
    """The term e where the variable `name` has the type `wide`, with the terms of `instead` in the
    place of some subterms; None if e then has another type, or uses the variable in a way that
    `instead` refuses."""
    try:
        new = retype(e, {name: wide}, instead)
        return new if equal(type_of(new), type_of(e)) else None
    except IllTyped:
        return None


def _free_variable(e: Expr, name: str) -> Var | None:
    """The free variable of e that has this name; None if there is none."""
    if isinstance(e, Var) or name not in free(e):
        return e if isinstance(e, Var) and e.name == name else None
    return next(v for c in children(e) if (v := _free_variable(c, name)) is not None)


def _of_floats(t: Type) -> Type | None:
    """The array type t with floats in place of its narrow numbers; None if t is another type."""
    return _with_numbers(t, NARROW, FLOAT)


def _with_numbers(t: Type, narrow: frozenset[Scalar], wide: Scalar) -> Type | None:
    """The array type t with `wide` in place of its numbers, of a type in `narrow`; None if t is
    another type."""
    match t:
        case Array(elem, n):
            inner = wide if elem in narrow else _with_numbers(elem, narrow, wide)
            return inner and Array(inner, n)
    return None


def _made(wide: Scalar, xs: Expr) -> Expr:
    """The array xs of numbers, or the single number xs, converted to the type `wide`."""
    match type_of(xs):
        case Array(elem, _):
            return Map(lam(element_of(xs), elem, lambda x: _made(wide, x)), xs)
    return Unary(wide.name, xs)


def _instead(e: Expr, env: Types) -> Expr | None:
    """The term e where some variables, by `env`, have floats instead of narrow numbers: conversions
    of them are dropped, and padding is by a float. IllTyped if e computes with the narrow
    numbers."""
    match e:
        case Unary("float", x) if type_of(new := retype(x, env, _instead)) == FLOAT:
            return new
        case Pad(_, _, Lit(value, t), xs) if t in NARROW:
            new = retype(xs, env, _instead)
            kept = equal(type_of(new), type_of(xs))
            return rebuild(e, (Lit(value, t) if kept else Lit(float(value), FLOAT), new))
        case Unary() | Binary() | Select():
            return _of_the_same(e, env, _instead)
    return None


def _as_shorts(e: Expr, env: Types) -> Expr | None:
    """The term e where some variables, by `env`, have shorts instead of bytes: it makes ints of
    them, and padding is by a short. IllTyped if e does something else with the bytes."""
    match e:
        case Unary("int" | "float", x) if is_whole(type_of(x)):
            return Unary(e.op, retype(x, env, _as_shorts))
        case Binary("+" | "-" | "*", x, y) if is_whole(type_of(e)):
            return Binary(e.op, retype(x, env, _as_shorts), retype(y, env, _as_shorts))
        case Pad(_, _, Lit(value, t), xs) if t in _BYTES:
            new = retype(xs, env, _as_shorts)
            return rebuild(e, (Lit(value, t if equal(type_of(new), type_of(xs)) else SHORT), new))
        case Unary() | Binary() | Select():
            return _of_the_same(e, env, _as_shorts)
    return None


def _of_the_same(e: Expr, env: Types, instead: Instead) -> Expr:
    """The operation e with `instead` applied to its operands; IllTyped if an operand is then of
    other numbers, as an operation on wider numbers may give another result."""
    parts = [retype(c, env, instead) for c in children(e)]
    if [scalar_of(type_of(c)) for c in parts] != [scalar_of(type_of(c)) for c in children(e)]:
        raise IllTyped(
            "expected narrow numbers that are converted before anything is computed with them, "
            "found an operation on the narrow numbers"
        )
    return rebuild(e, tuple(parts))


_BYTES = frozenset({CHAR, UCHAR})
