"""The question whether a term is linear in one or two of its variables, and what a sum adds at each
step."""

# key: e term, x h variables, env what variables are to the two

from collections.abc import Mapping

from ir.core.frozen import frozen
from ir.core.nodes import (
    AsScalar,
    AsVector,
    At,
    Binary,
    Concat,
    Expr,
    Get,
    Join,
    Lam,
    Let,
    Lit,
    MakeArray,
    MakeTuple,
    Map,
    Pad,
    PadEdge,
    Pattern,
    Reduce,
    Slide,
    Split,
    Store,
    Transpose,
    Unary,
    Var,
    Zip,
)
from ir.core.terms import apply, free, fresh
from ir.core.type_rules import type_of
from ir.core.types import Scalar, Tuple, Type
from rewrites.analysis.folds import fold_of, number, operator


@frozen
class Degree:
    """The degrees of a number, a homogeneous polynomial, in the variables x and h."""

    x: int
    h: int


Degrees = Degree | None | tuple["Degrees", ...]  # None: any, of what is zero; tuples keep theirs


class NotLinear(Exception):
    """Raised where a number has no degrees in x and h: it is not made by products, or is a sum of
    terms of different degrees."""


def added(e: Expr, acc: str) -> Expr | None:
    """The term t that e adds to the accumulator `acc`, if e is acc + t and t does not use acc; else
    None."""
    match e:
        case Binary("+", Var(name, _), t) | Binary("+", t, Var(name, _)) if name == acc:
            return t if acc not in free(t) else None
        case Reduce(Var(name, _), f, xs) if name == acc and operator(f) == "+":
            zero = zero_of(type_of(e))
            return Reduce(zero, f, xs) if zero is not None and acc not in free(xs) else None
    return None


def zero_of(t: Type) -> Expr | None:
    """The literal 0 of a scalar type; None for other types."""
    return number(0, t) if isinstance(t, Scalar) else None


def is_zero(z: Expr) -> bool:
    """True if z is the literal 0."""
    return isinstance(z, Lit) and z.value == 0


def opened(f: Lam, window: int) -> tuple[Var, Var, Var, Expr] | None:
    """The variables acc, x and h and the body of a function that folds over pairs of x and h;
    `window` is the place of x in a pair, 0 or 1. None if the accumulator is a tuple, or the pair
    holds one."""
    assert isinstance(f.pattern, tuple)
    acc, pair = f.pattern
    if not isinstance(acc, Var):
        return None
    if isinstance(pair, tuple):
        first, second = pair
        if isinstance(first, Var) and isinstance(second, Var):
            return acc, (first, second)[window], (first, second)[1 - window], f.body
        return None
    t = pair.type
    assert isinstance(t, Tuple)
    names: list[str] = []
    for hint in ("x", "h"):
        names.append(fresh(hint, free(f.body) | {acc.name, *names}))
    x, h = Var(names[0], t.parts[window]), Var(names[1], t.parts[1 - window])
    both = (x, h) if window == 0 else (h, x)
    return acc, x, h, apply(f, MakeTuple((acc, MakeTuple(both))))


def bilinear(e: Expr, x: Var, h: Var) -> bool:
    """True if e is linear in x and linear in h, everything else held fixed."""
    return _is(Degree(1, 1), e, {x.name: Degree(1, 0), h.name: Degree(0, 1)})


def linear(e: Expr, h: Var) -> bool:
    """True if e is linear in h, everything else held fixed."""
    return _is(Degree(0, 1), e, {h.name: Degree(0, 1)})


def _is(wanted: Degree, e: Expr, env: "Env") -> bool:
    try:
        return _degree(e, env) in (None, wanted)
    except NotLinear:
        return False


Env = Mapping[str, "Degrees"]


def _degree(e: Expr, env: Env) -> Degrees:
    """The degrees, in x and h, of the numbers that e computes: a tuple of degrees if e is a tuple.
    `env` has the degrees of variables. NotLinear if a number has no degrees."""
    if not free(e) & env.keys():
        return None if _is_zero(e) else Degree(0, 0)
    match e:
        case Var(name, _):
            return env[name]
        case Binary("+" | "-", a, b):
            return _same(_degree(a, env), _degree(b, env))
        case Binary("*", a, b):
            return _times(_degree(a, env), _degree(b, env))
        case Unary("neg", a) | Store(a):
            return _degree(a, env)
        case MakeTuple(parts) | Zip(parts):
            return tuple(_degree(p, env) for p in parts)
        case Get(i, a):
            found = _degree(a, env)
            return found[i] if isinstance(found, tuple) else found
        case Let(p, value, body):
            return _degree(body, _bound(env, p, _degree(value, env)))
        case Map(Lam(p, body), xs):
            return _degree(body, _bound(env, p, _degree(xs, env)))
        case Reduce(z, f, xs):
            return _sum(z, f, xs, env)
    return _layout(e, env)


def _layout(e: Expr, env: Env) -> Degrees:
    match e:
        case Split(_, xs) | Join(xs) | Slide(_, _, xs) | Transpose(xs) | At(_, xs):
            return _degree(xs, env)
        case AsVector(_, xs) | AsScalar(xs) | PadEdge(_, _, _, xs):
            return _degree(xs, env)
        case Pad(_, _, value, xs):
            return _same(_degree(value, env), _degree(xs, env))
        case Concat(a, b):
            return _same(_degree(a, env), _degree(b, env))
        case MakeArray((first, *rest)):
            found = _degree(first, env)
            for part in rest:
                found = _same(found, _degree(part, env))
            return found
    raise NotLinear


def _sum(z: Expr, f: Lam, xs: Expr, env: Env) -> Degrees:
    """The degrees of the results of a reduction, a sum whose start and terms have equal degrees;
    NotLinear for other reductions."""
    if not isinstance(f.pattern, tuple) or operator(f) != "+":
        raise NotLinear
    acc, x = f.pattern
    inner = _bound(_bound(env, acc, None), x, _degree(xs, env))
    folded = fold_of(f)
    return _same(_degree(z, env), _degree(folded.term if folded else f.body, inner))


def _same(a: Degrees, b: Degrees) -> Degrees:
    if a is None or b is None:
        return b if a is None else a
    if a != b:
        raise NotLinear
    return a


def _times(a: Degrees, b: Degrees) -> Degrees:
    if a is None or b is None:
        return None
    if not isinstance(a, Degree) or not isinstance(b, Degree):
        raise NotLinear
    return Degree(a.x + b.x, a.h + b.h)


def _bound(env: Env, p: Pattern, d: Degrees) -> Env:
    if isinstance(p, Var):
        return {**env, p.name: d}
    parts = d if isinstance(d, tuple) else (d,) * len(p)
    for q, inner in zip(p, parts, strict=True):
        env = _bound(env, q, inner)
    return env


def _is_zero(e: Expr) -> bool:
    return isinstance(e, Lit) and e.value == 0
