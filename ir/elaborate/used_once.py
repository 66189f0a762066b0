"""The test whether a term uses a variable only once."""

from ir.core.nodes import Expr, Lam, Let
from ir.core.terms import children, free, variables


def used_once(e: Expr, name: str) -> bool:
    """True if e uses the variable `name` at exactly one place, and that is not inside a function,
    which may run many times."""
    return _uses(e, name) == 1


def _uses(e: Expr, name: str) -> int:
    if name not in free(e):
        return 0
    if isinstance(e, Lam):
        return 2
    if isinstance(e, Let) and name in {v.name for v in variables(e.pattern)}:
        return _uses(e.value, name)
    inside = children(e)
    return sum(_uses(child, name) for child in inside) if inside else 1
