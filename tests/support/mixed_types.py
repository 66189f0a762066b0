"""Programs written in floats, turned at random into programs of several types: parameters and
results of narrow types, arithmetic in floats or ints, rounding and saturation."""

# key: p program, r random numbers, e term, t type, env the types of variables

from collections.abc import Mapping
from dataclasses import replace
from random import Random

from ir.core.conversions import CONVERSIONS
from ir.core.nodes import Binary, Expr, Lam, Lit, Map, Pad, Program, Reduce, Unary, Var
from ir.core.terms import children, lam, rebuild, subterms
from ir.core.type_rules import elem_of, type_of
from ir.core.types import FLOAT, NARROW_REALS, SCALARS, Array, Scalar, Type, is_whole
from rewrites.laws.vectors import retype

NARROW = tuple(t for t in SCALARS.values() if t.name not in ("float", "int", "long"))


def mixed(p: Program, r: Random) -> Program:
    """The program p with parameters of random types, and perhaps results of another type. Narrow
    numbers are converted to float before an operation; narrow whole numbers only sometimes."""
    types = {param.var.name: _stored(param.var.type, r) for param in p.params}
    body = retype(p.body, types, lambda e, env: _instead(e, env, r))
    params = tuple(
        replace(param, var=Var(param.var.name, types[param.var.name])) for param in p.params
    )
    if not any(isinstance(e, Binary) and e.op == "/" for e in subterms(body)):
        body = _results(body, r)
    return Program(p.name, params, body)


def _stored(t: Type, r: Random) -> Type:
    """The type t of floats with a random narrow type in place of float, or t itself."""
    return _with_scalar(t, r.choice(NARROW)) if r.random() < 0.7 else t


def _with_scalar(t: Type, scalar: Scalar) -> Type:
    return Array(_with_scalar(t.elem, scalar), t.size) if isinstance(t, Array) else scalar


def _instead(e: Expr, env: Mapping[str, Type], r: Random) -> Expr | None:
    """The term that replaces e, a node of a program in floats, where variables have the narrow
    types of `env`: numbers become floats before an operation, and padding gets a value of the
    padded array's type. None if e needs no other change than new types inside."""
    match e:
        case Pad(_, _, Lit(value, _), xs):
            new = retype(xs, env, lambda inner, types: _instead(inner, types, r))
            t = _number(type_of(new))
            return rebuild(e, (Lit(int(value) if is_whole(t) else float(value), t), new))
        case Reduce(z, f, xs) if type_of(z) == FLOAT and type_of(retype(z, env)) != FLOAT:
            begun = Reduce(Unary("float", z), f, xs)
            return retype(begun, env, lambda inner, types: _instead(inner, types, r))
        case Binary() | Unary() if not (isinstance(e, Unary) and e.op in CONVERSIONS):
            parts = (retype(c, env, lambda i, types: _instead(i, types, r)) for c in children(e))
            return rebuild(e, tuple(_operand(part, r) for part in parts))
    return None


def _operand(e: Expr, r: Random) -> Expr:
    """The number e as an operand: converted to float if it is a narrow real number, and sometimes,
    at random, if it is a whole number."""
    t = type_of(e)
    if t in NARROW_REALS or (is_whole(t) and t != FLOAT and r.random() < 0.5):
        return Unary("float", e)
    return e


def _number(t: Type) -> Scalar:
    """The scalar type of the numbers in a type t, which is a scalar or an array."""
    if isinstance(t, Array):
        return _number(t.elem)
    assert isinstance(t, Scalar)
    return t


def _results(e: Expr, r: Random) -> Expr:
    """The term e, a program's results, converted to a random type with random rounding, or
    unchanged."""
    target = r.choice(tuple(SCALARS.values()))
    names = [name for name, to in CONVERSIONS.items() if to.target == target]
    return e if target == FLOAT else _converted(e, r.choice(names))


def _converted(e: Expr, name: str) -> Expr:
    if not isinstance(type_of(e), Array):
        return Unary(name, e)
    each: Lam = lam("result", elem_of(e), lambda x: _converted(x, name))
    return Map(each, e)
