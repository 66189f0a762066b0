"""Parts of a number: a high one of eight bits, and a low one, the rest; in arrays of any depth.

As floats both are exact. As bfloats, the low one is the bfloat nearest to the rest.
"""

# key: x number, xs array, t type of the parts

from ir.core.nodes import Binary, Expr, Lam, MakeTuple, Map, Unary, Var
from ir.core.terms import lam
from ir.core.type_rules import elem_of, type_of
from ir.core.types import BFLOAT, FLOAT, Array, Scalar
from rewrites.analysis.alpha_equality import alike

LOW_SHARE = 2.0**-9  # of a number: the most that its low part is


def high(x: Expr, t: Scalar = FLOAT) -> Expr:
    """The high part of a float: the bfloat nearest to it, as a float or as a bfloat."""
    nearest = Unary("bfloat", x)
    return nearest if t == BFLOAT else Unary("float", nearest)


def low(x: Expr, t: Scalar = FLOAT) -> Expr:
    """The low part of a float: what its high part leaves, as a float or rounded to a bfloat."""
    rest = Binary("-", x, high(x))
    return Unary("bfloat", rest) if t == BFLOAT else rest


def high_part(t: Scalar) -> Lam:
    """The function that gives the high part of a float, of type t."""
    return lam("x", FLOAT, lambda x: high(x, t))


def low_part(t: Scalar) -> Lam:
    """The function that gives the low part of a float, of type t."""
    return lam("x", FLOAT, lambda x: low(x, t))


def both_parts(t: Scalar) -> Lam:
    """The function that gives the pair of the high and the low part of a float, of type t."""
    return lam("x", FLOAT, lambda x: MakeTuple((high(x, t), low(x, t))))


HIGH, LOW = high_part(FLOAT), low_part(FLOAT)


def mapped(f: Lam, xs: Expr) -> Expr:
    """The array of f of each number of the array xs, which may have any depth."""
    if not isinstance(elem_of(xs), Array):
        return Map(f, xs)
    return Map(lam("row", elem_of(xs), lambda row: mapped(f, row)), xs)


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
