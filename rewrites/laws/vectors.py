"""Laws of vectors: a function of scalars becomes a function of vectors of scalars, lane by lane."""

# key: f function, e term, v width, env the new types of variables

from collections.abc import Callable, Mapping

from ir.core.nodes import (
    AsScalar,
    AsVector,
    Binary,
    Expr,
    Generate,
    Get,
    Lam,
    Let,
    Map,
    MapPar,
    MapSeq,
    Pattern,
    Reduce,
    ReduceSeq,
    Reorder,
    Split,
    Var,
    Zip,
)
from ir.core.size import Size, exact
from ir.core.terms import children, lam, lam2, over, rebuild, subterms
from ir.core.type_rules import elem_of, size_of, type_of
from ir.core.types import INT, Scalar, Tuple, Type, equal, lift, show_type
from ir.errors import IllTyped
from rewrites.analysis.binder_names import name_of, several, step_patterns, value_of
from rewrites.analysis.folds import operator, unit
from rewrites.analysis.size_signs import divides
from rewrites.engine.rule import rule

Types = Mapping[str, Type]
Instead = Callable[[Expr, Types], Expr | None]
"""What stands in the place of a term where variables have these types; None where nothing else
does."""


@rule("map f  =  asScalar . map (vectorized f) . asVector v")
def vectorize_map(e: Map, v: Size) -> Expr | None:
    match e:
        case Map(f, xs):
            if not scalar_only(f) or not divides(v, size_of(xs)):
                return None
            try:
                vectors = AsVector(v, xs)
                result = Map(retyped(f, elem_of(vectors)), vectors)
                lifted = equal(type_of(result.f.body), lift(type_of(f.body), v))
            except IllTyped:
                return None
            return AsScalar(result) if lifted else None
    return None


def scalar_only(f: Lam) -> bool:
    """True if the function f neither forms vectors nor takes them apart."""
    return not any(isinstance(s, AsVector | AsScalar) for s in subterms(f))


def retyped(f: Lam, domain: Type, env: Types | None = None, instead: Instead | None = None) -> Lam:
    """The function f, typed again for an argument of the type `domain` and free variables of the
    types in `env`; a subterm for which `instead` gives a term becomes that term."""
    p = with_type(f.pattern, domain)
    return Lam(p, retype(f.body, {**(env or {}), **_bindings(p)}, instead))


def with_type(p: Pattern, t: Type) -> Pattern:
    """The pattern p with the types that t gives to its variables."""
    if isinstance(p, Var):
        return Var(p.name, t)
    if not isinstance(t, Tuple) or len(t.parts) != len(p):
        raise IllTyped(f"expected a tuple of {len(p)} parts, found {show_type(t)}")
    return tuple(map(with_type, p, t.parts))


def _bindings(p: Pattern) -> dict[str, Type]:
    if isinstance(p, Var):
        return {p.name: p.type}
    return {name: t for part in p for name, t in _bindings(part).items()}


def retype(e: Expr, env: Types, instead: Instead | None = None) -> Expr:
    """The term e, typed again with variables of the types in `env`; a subterm for which `instead`
    gives a term becomes that term."""
    other = None if instead is None else instead(e, env)
    if other is not None:
        return other
    match e:
        case Var(name, t):
            return Var(name, env.get(name, t))
        case Map(f, xs) | MapSeq(f, xs) | MapPar(_, _, f, xs):
            new = retype(xs, env, instead)
            return rebuild(e, (retyped(f, elem_of(new), env, instead), new))
        case Reduce(z, f, xs) | ReduceSeq(z, f, xs):
            start, new = retype(z, env, instead), retype(xs, env, instead)
            step = retyped_fold(f, type_of(start), elem_of(new), env, instead)
            return rebuild(e, (start, step, new))
        case Let(p, value, body):
            new = retype(value, env, instead)
            q = with_type(p, type_of(new))
            return Let(q, new, retype(body, {**env, **_bindings(q)}, instead))
        case Generate(n, f):
            return Generate(n, retyped(f, INT, env, instead))
        case Reorder(f, xs):
            return Reorder(f, retype(xs, env, instead))
    return over(lambda c: retype(c, env, instead), e) if children(e) else e


def retyped_fold(f: Lam, acc: Type, elem: Type, env: Types, instead: Instead | None = None) -> Lam:
    """The function f of a fold, typed again for elements of the type `elem` and free variables of
    the types in `env`. The accumulator has the type `acc`, or, if f then gives another type, that
    one; a subterm for which `instead` gives a term becomes that term."""
    first = retyped(f, Tuple((acc, elem)), env, instead)
    made = type_of(first.body)
    return first if equal(made, acc) else retyped(f, Tuple((made, elem)), env, instead)


@rule(
    "reduce z ⊕ g  =  reduce z ⊕ . asScalar . map (reduce 0 ⊕ (vectorized g)) . split (k/v)"
    " . asVector v"
)
def partial_reduce_vector(e: Reduce, k: Size, v: Size) -> Expr | None:
    """A fold becomes partial folds in vectors: each lane folds every v-th element of a chunk of
    k."""
    match e:
        case Reduce(z, f, xs) if divides(k, size_of(xs)) and divides(v, k) and scalar_only(f):
            op, t = operator(f), type_of(f.body)
            zero = unit(op, t) if op else None
            if op is None or zero is None or not isinstance(t, Scalar):
                return None
            chunks = rows_of(xs, lambda part: Split(exact(k, v), AsVector(v, part)))
            try:
                acc, x = step_patterns(f)
                part = lam(several(x), elem_of(chunks), lambda c: _vector_fold(zero, f, c, xs))
                lifted = equal(type_of(part.body), lift(t, v))
            except IllTyped:
                return None
            if not lifted:
                return None
            names = (name_of(acc), value_of(e))
            plus = lam2(names, (t, t), lambda a, x: Binary(op, a, x))
            return Reduce(z, plus, AsScalar(Map(part, chunks)))
    return None


def rows_of(xs: Expr, view: Callable[[Expr], Expr]) -> Expr:
    """The view applied to the array xs, or, if xs is a zip, to each part of it."""
    return Zip(tuple(map(view, xs.parts))) if isinstance(xs, Zip) else view(xs)


def _vector_fold(zero: Expr, f: Lam, c: Expr, xs: Expr) -> Expr:
    source = Zip(tuple(Get(i, c) for i in range(len(xs.parts)))) if isinstance(xs, Zip) else c
    return Reduce(zero, retyped_fold(f, type_of(zero), elem_of(source), {}), source)
