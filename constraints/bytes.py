"""How many bytes a value takes, all of it or one work-item's share."""

# key: e term, t type

from ir.nat import Size
from ir.nodes import (
    AsScalar,
    AsVector,
    Expr,
    Join,
    Let,
    MakeTuple,
    MapPar,
    MapSeq,
    Pad,
    PadEdge,
    ReduceSeq,
    Reorder,
    Split,
    Transpose,
)
from ir.types import BYTES, Array, Scalar, Tuple, Type, Vector
from ir.typing import size_of, type_of


def bytes_of(t: Type) -> Size:
    """The bytes of a t laid out without gaps; a vector is as many scalars."""
    match t:
        case Scalar(name):
            return BYTES[name]
        case Vector(scalar, width):
            return BYTES[scalar.name] * width
        case Array(elem, n):
            return bytes_of(elem) * n
        case Tuple(parts):
            total: Size = 0
            for part in parts:
                total = total + bytes_of(part)
            return total


def share(e: Expr) -> Size:
    """The bytes of e that one work-item keeps: dimensions spread over work-items count once."""
    match e:
        case MapPar(_, _, f, _):
            return share(f.body)
        case MapSeq(f, xs, _):
            return share(f.body) * size_of(xs)
        case ReduceSeq(_, f, _, _):
            return share(f.body)
        case Let(_, _, body):
            return share(body)
        case MakeTuple(parts):
            total: Size = 0
            for part in parts:
                total = total + share(part)
            return total
        case Join(xs) | Split(_, xs) | Transpose(xs) | Reorder(_, xs):
            return share(xs)
        case AsScalar(xs) | AsVector(_, xs):
            return share(xs)
        case Pad(_, _, _, xs) | PadEdge(_, _, _, xs):
            return share(xs)
    return bytes_of(type_of(e))
