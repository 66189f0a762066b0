"""Parts of a number: a high one of eight bits, and a low one, the rest; in arrays of any depth."""

# key: x number, xs array

from ir.core.nodes import Binary, Expr, Lam, Map, Unary, Var
from ir.core.terms import lam
from ir.core.type_rules import elem_of, type_of
from ir.core.types import FLOAT, Array
from rewrites.analysis.alpha_equality import alike

LOW_SHARE = 2.0**-9  # of a number: the most that its low part is


def high(x: Expr) -> Expr:
    """The high part of a float: the bfloat nearest to it, as a float."""
    return Unary("float", Unary("bfloat", x))


def low(x: Expr) -> Expr:
    """The low part of a float: the float less its high part, a difference without rounding."""
    return Binary("-", x, high(x))


HIGH, LOW = lam("x", FLOAT, high), lam("x", FLOAT, low)


def part_of(part: Lam, xs: Expr) -> Expr:
    """The array with the high or the low part of each number of xs, as the function `part` (HIGH or
    LOW) makes it."""
    if not isinstance(elem_of(xs), Array):
        return Map(part, xs)
    return Map(lam("row", elem_of(xs), lambda row: part_of(part, row)), xs)


def is_part(part: Lam, e: Expr) -> bool:
    """True if e is an array made by `part_of`: with the function `part` applied to each number of
    some array."""
    match e:
        case Map(Lam(Var() as row, Map() as inner)) if isinstance(type_of(row), Array):
            return is_part(part, inner) and _goes_over(inner, row)
        case Map(f):
            return alike(f, part)
    return False


def _goes_over(e: Map, row: Var) -> bool:
    return e.xs == row
