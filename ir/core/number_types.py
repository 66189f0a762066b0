"""The types of numbers in terms: a number takes the scalar type of what it meets."""

from ir.core.nodes import Binary, Expr, Generate, Lam, Lit, MakeArray, MakeTuple, Map, Unary
from ir.core.type_rules import broadcasts, type_of
from ir.core.types import FLOAT, HALF, INT, Array, Scalar, Tuple, Type, Vector, leaves


def scalar_of(t: Type) -> Scalar | None:
    """The scalar type of a number or vector type; None for other types."""
    return t if isinstance(t, Scalar) else t.scalar if isinstance(t, Vector) else None


def only_scalar(t: Type) -> Scalar | None:
    """The one scalar type that all of a type is made of; None if there are several."""
    found = {scalar_of(leaf) for leaf in leaves(t)}
    return found.pop() if len(found) == 1 else None


def cast(e: Expr, target: Type) -> Expr | None:
    """The term e as one of type `target`, by retyping the numbers written in it; None if that is
    not enough."""
    if broadcasts(type_of(e), target):
        return e
    match e, target:
        case Lit(value, found), Scalar() | Vector():
            scalar = scalar_of(target)
            fits = scalar in (FLOAT, HALF) and (found == INT or (found, scalar) == (FLOAT, HALF))
            return Lit(float(value), scalar) if fits and scalar else None
        case Unary("neg", a), _:
            inner = cast(a, target)
            return inner and Unary("neg", inner)
        case Binary(op, a, b), _ if op in "+-*" or type_of(e) == FLOAT:
            x, y = cast(a, target), cast(b, target)
            return Binary(op, x, y) if x and y else None
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


def halved(t: Type) -> Type:
    """The type t with half in place of every float."""
    match t:
        case Scalar():
            return HALF if t == FLOAT else t
        case Vector(scalar, n):
            return Vector(HALF if scalar == FLOAT else scalar, n)
        case Array(elem, n):
            return Array(halved(elem), n)
        case Tuple(parts):
            return Tuple(tuple(map(halved, parts)))


def has_half(t: Type) -> bool:
    """True if half occurs in the type t."""
    return any(scalar_of(leaf) == HALF for leaf in leaves(t))
