"""Vectorisation: a function on scalars is a function on vectors of scalars, lane by lane."""

# key: f function, e term, v width, env the new types of variables

from collections.abc import Mapping

from ir.errors import IllTyped
from ir.nat import Size
from ir.nodes import (
    AsScalar,
    AsVector,
    Expr,
    Generate,
    Lam,
    Let,
    Map,
    MapPar,
    MapSeq,
    Pattern,
    Reduce,
    ReduceSeq,
    Reorder,
    Var,
)
from ir.terms import children, over, rebuild, subterms
from ir.types import INT, Tuple, Type, equal, lift
from ir.typing import elem_of, type_of
from rewrites.rule import rule

Types = Mapping[str, Type]


@rule("map f  =  asScalar . map (vectorized f) . asVector v")
def vectorize_map(e: Expr, v: Size) -> Expr | None:
    match e:
        case Map(f, xs):
            if any(isinstance(s, AsVector | AsScalar) for s in subterms(f)):
                return None
            try:
                vectors = AsVector(v, xs)
                result = Map(retyped(f, elem_of(vectors)), vectors)
                lifted = equal(type_of(result.f.body), lift(type_of(f.body), v))
            except IllTyped:
                return None
            return AsScalar(result) if lifted else None
    return None


def retyped(f: Lam, domain: Type, env: Types | None = None) -> Lam:
    """f on another element type: its variables, and all that depends on them, typed again."""
    p = with_type(f.pattern, domain)
    return Lam(p, retype(f.body, {**(env or {}), **_bindings(p)}))


def with_type(p: Pattern, t: Type) -> Pattern:
    """The names of p, with the types that t gives them."""
    if isinstance(p, Var):
        return Var(p.name, t)
    if not isinstance(t, Tuple) or len(t.parts) != len(p):
        raise IllTyped("a tuple pattern meets something else")
    return tuple(map(with_type, p, t.parts))


def _bindings(p: Pattern) -> dict[str, Type]:
    if isinstance(p, Var):
        return {p.name: p.type}
    return {name: t for part in p for name, t in _bindings(part).items()}


def retype(e: Expr, env: Types) -> Expr:
    """e with variables of new types."""
    match e:
        case Var(name, t):
            return Var(name, env.get(name, t))
        case Map(f, xs) | MapSeq(f, xs) | MapPar(_, _, f, xs):
            new = retype(xs, env)
            return rebuild(e, (retyped(f, elem_of(new), env), new))
        case Reduce(z, f, xs) | ReduceSeq(z, f, xs):
            start, new = retype(z, env), retype(xs, env)
            return rebuild(e, (start, _retyped_fold(f, type_of(start), elem_of(new), env), new))
        case Let(p, value, body):
            new = retype(value, env)
            q = with_type(p, type_of(new))
            return Let(q, new, retype(body, {**env, **_bindings(q)}))
        case Generate(n, f):
            return Generate(n, retyped(f, INT, env))
        case Reorder(f, xs):
            return Reorder(f, retype(xs, env))
    return over(lambda c: retype(c, env), e) if children(e) else e


def _retyped_fold(f: Lam, acc: Type, elem: Type, env: Types) -> Lam:
    """The accumulator takes the type that the body gives it: scalars may become vectors."""
    first = retyped(f, Tuple((acc, elem)), env)
    made = type_of(first.body)
    return first if equal(made, acc) else retyped(f, Tuple((made, elem)), env)
