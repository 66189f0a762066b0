"""Names that terms bind: counted, renamed where they clash, and ignored when terms are compared."""

# key: e term, f function

from ir.core.nodes import (
    Expr,
    Lam,
    Let,
    Pattern,
    Var,
)
from ir.core.terms import children, free, over, rename, substitute, variables


def uses(e: Expr, name: str) -> int:
    """The number of times that the variable `name` occurs free in e."""
    if name not in free(e):
        return 0
    if isinstance(e, Var):
        return 1
    if isinstance(e, Let) and name in {v.name for v in variables(e.pattern)}:
        return uses(e.value, name)
    return sum(uses(c, name) for c in children(e))


def closed(e: Expr, params: frozenset[str]) -> bool:
    """True if e depends on nothing but the parameters of the program. `params` are the names of the
    program's parameters."""
    return free(e) <= params


def apart(f: Lam, taken: frozenset[str]) -> Lam:
    """The function f with the variables renamed that it binds and that are among the names
    `taken`."""
    clashes = set(bound(f) & taken)
    if not clashes:
        return f
    p, renaming = rename(f.pattern, taken | bound(f) | free(f.body), clashes)
    return Lam(p, substitute(f.body, renaming))


def bound(f: Lam | Let) -> frozenset[str]:
    """The names that a function, or a let, binds."""
    return frozenset(v.name for v in variables(f.pattern))


def alike(a: Expr, b: Expr) -> bool:
    """True if two terms differ in nothing but the names that they bind."""
    return a == b or (type(a) is type(b) and numbered(a) == numbered(b))


def numbered(e: Expr, depth: int = 0) -> Expr:
    """The term with each bound variable named after its depth, so that terms equal but for names
    become equal; `depth` counts the variables bound around e."""
    match e:
        case Lam(p, body):
            return Lam(*_number(p, body, depth))
        case Let(p, value, body):
            q, inner = _number(p, body, depth)
            return Let(q, numbered(value, depth), inner)
    return over(lambda c: numbered(c, depth), e)


def _number(p: Pattern, body: Expr, depth: int) -> tuple[Pattern, Expr]:
    marks = {v.name: Var(f"#{depth + i}", v.type) for i, v in enumerate(variables(p))}

    def named(q: Pattern) -> Pattern:
        return marks[q.name] if isinstance(q, Var) else tuple(map(named, q))

    return named(p), numbered(substitute(body, marks), depth + len(marks))
