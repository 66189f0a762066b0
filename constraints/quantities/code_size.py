"""The number of operations in a kernel's text once loops marked `unrolled` are spelled out."""

# key: e term

from ir.core.nodes import Binary, Expr, Get, MapSeq, ReduceSeq, Select, Unary, Var
from ir.core.size import Size
from ir.core.terms import children, once
from ir.core.type_rules import size_of, type_of
from ir.core.types import Scalar, Vector


@once
def code(e: Expr) -> Size:
    """The number of operations and accesses in the text of e with unrolled loops spelled out; an
    operation on a vector counts once."""
    match e:
        case Var() | Get():
            return 1 if isinstance(type_of(e), Scalar | Vector) else 0
        case Binary() | Unary() | Select():
            return 1 + _inside(e)
        case MapSeq(f, xs, True):
            return code(f.body) * size_of(xs) + code(xs)
        case ReduceSeq(init, f, xs, True):
            return code(init) + code(f.body) * size_of(xs) + code(xs)
    return _inside(e)


def _inside(e: Expr) -> Size:
    total: Size = 0
    for c in children(e):
        total = total + (code(c.body) if hasattr(c, "body") and hasattr(c, "pattern") else code(c))
    return total
