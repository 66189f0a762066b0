"""Parts of a number: a high one of few bits, and a low one, the rest, or of bfloats three; in
arrays of any depth.

As floats both are exact: the high one is the bfloat nearest to the number, of eight bits. As
bfloats, the low one is the bfloat nearest to the rest. Of three bfloats the middle one is that
bfloat, and the low one what is left then: eight bits, so that the three make up the whole number.
As halves, the high one has eleven bits, and the low one is 2^11 times the rest, so that it is about
as large as the number and keeps its bits.
"""

# key: x number, xs array, t type of the parts

from ir.core.nodes import Binary, Expr, Lam, Lit, MakeTuple, Map, Unary, Var
from ir.core.terms import apply, lam
from ir.core.type_rules import elem_of, type_of
from ir.core.types import BFLOAT, FLOAT, HALF, Array, Scalar
from rewrites.analysis.alpha_equality import alike

LOW_SHARE = 2.0**-9  # of a number: the most that its low part is, where the high one is a bfloat
LOW_SHARE_OF_HALF = 2.0**-12
LARGER = 2.0**11  # times the rest: the low part, where parts are halves


def low_share(t: Scalar) -> float:
    """The share of a number that is left at most when its high part of type t is taken away."""
    return LOW_SHARE_OF_HALF if t == HALF else LOW_SHARE


def low_scale(t: Scalar) -> float:
    """The factor by which a low part of type t is larger than the rest that it stands for."""
    return LARGER if t == HALF else 1.0


def high(x: Expr, t: Scalar = FLOAT) -> Expr:
    """The high part of the float x, of type t: the nearest half if t is half; else the nearest
    bfloat, as a float or as a bfloat."""
    nearest = Unary("half" if t == HALF else "bfloat", x)
    return Unary("float", nearest) if t == FLOAT else nearest


def low(x: Expr, t: Scalar = FLOAT) -> Expr:
    """The low part of the float x, of type t: what the high part leaves, as a float, or rounded to
    a bfloat, or enlarged and rounded to a half."""
    if t == HALF:
        rest = Binary("-", x, Unary("float", high(x, HALF)))
        return Unary("half", Binary("*", rest, Lit(LARGER, FLOAT)))
    rest = Binary("-", x, high(x))
    return Unary("bfloat", rest) if t == BFLOAT else rest


def lowest(x: Expr) -> Expr:
    """The low part of the float x in three bfloats: what the high and the middle one, the low part
    of two, leave."""
    rest = low(x)
    return Unary("bfloat", Binary("-", rest, high(rest)))


def high_part(t: Scalar) -> Lam:
    """The function that gives the high part of a float, of type t."""
    return lam("x", FLOAT, lambda x: high(x, t))


def low_part(t: Scalar) -> Lam:
    """The function that gives the low part of a float, of type t."""
    return lam("x", FLOAT, lambda x: low(x, t))


def parts(t: Scalar, count: int = 2) -> tuple[Lam, ...]:
    """The functions that give the parts of a float, of type t and from the highest: two, or three
    bfloats, as `count` says."""
    assert count == 2 or (count == 3 and t == BFLOAT), (t, count)
    more = (lam("x", FLOAT, lowest),) if count == 3 else ()
    return high_part(t), low_part(t), *more


def all_parts(t: Scalar, count: int = 2) -> Lam:
    """The function that gives the tuple of the parts of a float, of type t: two, or three bfloats,
    as `count` says."""
    every = parts(t, count)
    return lam("x", FLOAT, lambda x: MakeTuple(tuple(apply(part, x) for part in every)))


HIGH, LOW = high_part(FLOAT), low_part(FLOAT)


def mapped(f: Lam, xs: Expr) -> Expr:
    """The array of f of each number of the array xs, which may have any depth."""
    if not isinstance(elem_of(xs), Array):
        return Map(f, xs)
    return Map(lam("row", elem_of(xs), lambda row: mapped(f, row)), xs)


def is_part(part: Lam, e: Expr) -> bool:
    """True if e is the array that results from applying the function `part` to each number of an
    array."""
    match e:
        case Map(Lam(Var() as row, Map() as inner)) if isinstance(type_of(row), Array):
            return is_part(part, inner) and _goes_over(inner, row)
        case Map(f):
            return alike(f, part)
    return False


def _goes_over(e: Map, row: Var) -> bool:
    return e.xs == row
