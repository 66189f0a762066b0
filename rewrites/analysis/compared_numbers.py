"""Programs that ask whether two real numbers are equal: rounded otherwise, they are not."""

# key: e term

from ir.core.nodes import Binary, Expr
from ir.core.terms import subterms
from ir.core.type_rules import type_of
from ir.core.types import is_whole
from rewrites.engine.refused import Refused, shown


def demand_none_compared(e: Expr, why: str) -> None:
    """Raise Refused, for the reason `why`, if a part of e asks if two real numbers are equal, or
    not equal."""
    if equal := next(filter(_compared, subterms(e)), None):
        raise Refused(
            f"expected no real numbers that are compared for equality, found {shown(equal)}: {why}"
        )


def _compared(e: Expr) -> bool:
    return isinstance(e, Binary) and e.op in ("==", "!=") and not is_whole(type_of(e.a))
