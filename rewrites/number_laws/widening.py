"""Laws of widening: narrow numbers that a program reads as floats are made floats before it runs.

Fast algorithms transform floats: their sums of halves or bytes would lose too much, or not fit.
"""

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
    """An array of narrow numbers, all of which a term makes floats before it does anything else
    with them, is stored as floats by a kernel of its own, and read from there."""
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
    """An array of narrow numbers that has a name, and all of which a term makes floats before it
    does anything else with them, has its floats in the place of its numbers under this name."""
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
    """The type t of an array of narrow numbers with floats in their place; None for another."""
    match t:
        case Array(elem, n):
            inner = FLOAT if _is_narrow(elem) else _of_floats(elem)
            return inner and Array(inner, n)
    return None


def _is_narrow(t: Type) -> bool:
    """True if floats hold all numbers of the type t, which is narrower."""
    return isinstance(t, Scalar) and (t in NARROW_REALS or t.name in WHOLE_IN_FLOATS)


def _made_floats(xs: Expr) -> Expr:
    """The numbers of an array, or this one, as floats."""
    match type_of(xs):
        case Array(elem, _):
            return Map(lam(element_of(xs), elem, _made_floats), xs)
    return Unary("float", xs)


def _instead(e: Expr, env: Types) -> Expr | None:
    """What e becomes where variables have floats, by `env`, in the place of narrow numbers: no
    conversion of these to floats, and padding by a float. IllTyped where e computes with them."""
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
                raise IllTyped("expected numbers that are made floats first, found others")
            return rebuild(e, tuple(parts))
    return None
