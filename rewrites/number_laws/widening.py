"""Laws of widening: narrow numbers that a program reads as floats are converted before it runs.
Fast algorithms need that: they transform floats; transformed sums of halves or bytes would lose too
much, or not fit their type."""

# key: e term, xs array, ys the same numbers as floats, x y narrow numbers

from ir.core.nodes import Binary, Expr, Let, Lit, Map, Pad, Select, Store, Unary, Var
from ir.core.terms import children, free, lam, let, rebuild, substitute
from ir.core.type_rules import type_of
from ir.core.types import FLOAT, NARROW_REALS, Array, Scalar, Type, equal
from ir.errors import IllTyped
from rewrites.analysis.binder_names import element_of
from rewrites.engine.rule import rule
from rewrites.laws.vectors import Types, retype
from rewrites.number_laws.accumulators import UNIT

WHOLE_IN_FLOATS = frozenset({"char", "uchar", "short", "ushort"})


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
    try:
        body = retype(e, {name: wide}, _instead)
        same = equal(type_of(body), type_of(e))
    except IllTyped:
        return None
    floats = Store(_made_floats(xs))
    return let(name, floats, wide, lambda ys: substitute(body, {name: ys})) if same else None


@rule("let x = xs in e  =  let y = map float xs in e',  e reads x as floats only")
def float_once(e: Let) -> Expr | None:
    """The name of the let e stands for an array of floats instead of narrow numbers, so that they
    are converted once. None unless the body converts all of them to floats before it computes with
    them."""
    match e:
        case Let(Var(name, t), xs, rest) if (wide := _of_floats(t)) is not None:
            try:
                body = retype(rest, {name: wide}, _instead)
                same = equal(type_of(body), type_of(rest))
            except IllTyped:
                return None
            return Let(Var(name, wide), _made_floats(xs), body) if same else None
    return None


def _free_variable(e: Expr, name: str) -> Var | None:
    """The free variable of e that has this name; None if there is none."""
    if isinstance(e, Var) or name not in free(e):
        return e if isinstance(e, Var) and e.name == name else None
    return next(v for c in children(e) if (v := _free_variable(c, name)) is not None)


def _of_floats(t: Type) -> Type | None:
    """The array type t with floats in place of its narrow numbers; None if t is another type."""
    match t:
        case Array(elem, n):
            inner = FLOAT if _is_narrow(elem) else _of_floats(elem)
            return inner and Array(inner, n)
    return None


def _is_narrow(t: Type) -> bool:
    """True if t is a type narrower than float, of which floats hold all numbers exactly."""
    return isinstance(t, Scalar) and (t in NARROW_REALS or t.name in WHOLE_IN_FLOATS)


def _made_floats(xs: Expr) -> Expr:
    """The array xs of numbers, or the single number xs, converted to floats."""
    match type_of(xs):
        case Array(elem, _):
            return Map(lam(element_of(xs), elem, _made_floats), xs)
    return Unary("float", xs)


def _instead(e: Expr, env: Types) -> Expr | None:
    """The term e where some variables, by `env`, have floats instead of narrow numbers: conversions
    of them are dropped, and padding is by a float. IllTyped if e computes with the narrow
    numbers."""
    match e:
        case Unary("float", x) if type_of(new := retype(x, env, _instead)) == FLOAT:
            return new
        case Pad(_, _, Lit(value, t), xs) if _is_narrow(t):
            new = retype(xs, env, _instead)
            kept = equal(type_of(new), type_of(xs))
            return rebuild(e, (Lit(value, t) if kept else Lit(float(value), FLOAT), new))
        case Unary() | Binary() | Select():
            parts = [retype(c, env, _instead) for c in children(e)]
            old = [type_of(c) for c in children(e)]
            if [type_of(c) for c in parts] != old:
                raise IllTyped(
                    "expected narrow numbers that are only converted to floats, found an operation "
                    "on the narrow numbers"
                )
            return rebuild(e, tuple(parts))
    return None
