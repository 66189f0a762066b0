"""The types of literals: a literal takes the scalar type of the operand that it meets."""

from math import isinf

from ir.core.nodes import Binary, Expr, Generate, Lam, Lit, MakeArray, MakeTuple, Map, Select, Unary
from ir.core.type_rules import broadcasts, type_of
from ir.core.types import (
    FLOAT,
    INT,
    NARROW_REALS,
    RANGES,
    Array,
    Scalar,
    Tuple,
    Type,
    Vector,
    is_whole,
    scalar_of,
)


def cast(e: Expr, target: Type) -> Expr | None:
    """The term e converted to type `target` by changing only the types of its literals; None if
    that does not suffice."""
    if broadcasts(type_of(e), target):
        return e
    match e, target:
        case Lit(value, found), Scalar() | Vector():
            scalar = scalar_of(target)
            return _retyped(value, found, scalar) if scalar else None
        case Unary("neg", a), _ if not is_whole(target):
            inner = cast(a, target)
            return inner and Unary("neg", inner)
        case Binary(op, a, b), _ if not is_whole(target) and (op in "+-*" or type_of(e) == FLOAT):
            x, y = cast(a, target), cast(b, target)
            return Binary(op, x, y) if x and y else None
        case Select(c, a, b), _:
            x, y = cast(a, target), cast(b, target)
            return Select(c, x, y) if x and y else None
        case MakeTuple(parts), Tuple(types) if len(parts) == len(types):
            found_parts = [cast(p, t) for p, t in zip(parts, types, strict=True)]
            whole = tuple(p for p in found_parts if p is not None)
            return MakeTuple(whole) if len(whole) == len(parts) else None
        case MakeArray(parts), Array(elem, _):
            elements = [cast(p, elem) for p in parts]
            listed = tuple(p for p in elements if p is not None)
            return MakeArray(listed) if len(listed) == len(parts) else None
        case Generate(n, Lam(p, body)), Array(elem, _):
            made = cast(body, elem)
            return made and Generate(n, Lam(p, made))
        case Map(Lam(p, body), xs), Array(elem, _):
            made = cast(body, elem)
            return made and Map(Lam(p, made), xs)
    return None


def _retyped(value: float | int, found: Scalar, scalar: Scalar) -> Lit | None:
    """The number `value` of type `found` as a literal of type `scalar`; None if that type does not
    hold it.

    An int becomes any type that it fits in, a float only a narrower real; but what is infinite
    becomes the largest or the least of whole numbers.
    """
    if scalar.name in RANGES:
        least, most = RANGES[scalar.name]
        if isinf(value):
            return Lit(most if value > 0 else least, scalar)
        return Lit(int(value), scalar) if found == INT and least <= value <= most else None
    fits = found == INT or (found == FLOAT and scalar in NARROW_REALS)
    return Lit(float(value), scalar) if fits else None
