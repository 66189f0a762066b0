"""Reductions seen as folds: their operator ⊕ and the term g(x) of acc ⊕ g(x), and the unit that ⊕
starts from."""

# key: e term, f function, op operator, u unit

from ir.core.frozen import frozen
from ir.core.nodes import (
    Binary,
    Expr,
    Lam,
    Let,
    Lit,
    Reduce,
    Var,
)
from ir.core.terms import free, variables
from ir.core.types import RANGES, Scalar, Type, Vector, is_whole

INFINITE = (-float("inf"), float("inf"))


@frozen
class Fold:
    """The body of a reduction's function seen as acc `op` term."""

    op: str
    term: Expr


def fold_of(f: Lam) -> Fold | None:
    """The function of a reduction as a fold, where its body is acc ⊕ g(x) for ⊕ one of + * max min;
    None if it is not."""
    if not isinstance(f.pattern, tuple) or not isinstance(f.pattern[0], Var):
        return None
    return _folded(f.body, f.pattern[0].name)


def _folded(e: Expr, acc: str) -> Fold | None:
    match e:
        case Let(p, value, body) if acc not in free(value) | {v.name for v in variables(p)}:
            inner = _folded(body, acc)
            return inner and Fold(inner.op, Let(p, value, inner.term))
        case Binary("+" | "*" | "max" | "min" as op, a, b):
            mine, term = (a, b) if acc in free(a) else (b, a)
            if acc in free(term):
                return None
            if isinstance(mine, Var):
                return Fold(op, term) if mine.name == acc else None
            inner = _folded(mine, acc)
            return Fold(op, Binary(op, inner.term, term)) if inner and inner.op == op else None
    return None


def operator(f: Lam) -> str | None:
    """The operator ⊕ of a fold's function f; None if f is no fold. A function that only hands its
    accumulator on to a fold inside it has the operator of that one."""
    match f:
        case Lam((Var(acc, _), _), Reduce(Var(a, _), g, xs)) if a == acc:
            return operator(g) if acc not in free(g) | free(xs) else None
    folded = fold_of(f)
    return folded.op if folded else None


def unit(op: str, t: Type) -> Expr | None:
    """The unit of an operator in a scalar or vector type: the e with e op x = x; None where there
    is none."""
    scalar = t.scalar if isinstance(t, Vector) else t
    if not isinstance(scalar, Scalar):
        return None
    match op:
        case "+":
            return number(0, scalar)
        case "*":
            return number(1, scalar)
        case "max":
            return number(RANGES.get(scalar.name, INFINITE)[0], scalar)
        case "min":
            return number(RANGES.get(scalar.name, INFINITE)[1], scalar)
    return None


def number(value: float, scalar: Scalar) -> Lit:
    """The literal of a scalar type that has this value."""
    return Lit(int(value) if is_whole(scalar) else float(value), scalar)
