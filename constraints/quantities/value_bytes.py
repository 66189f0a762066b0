"""The bytes of a value, in all or in one work-item's share."""

# key: e term, t type

from ir.core.instruction import Instruct
from ir.core.nodes import (
    AsScalar,
    Expr,
    Generate,
    Join,
    Let,
    MakeTuple,
    Map,
    MapPar,
    MapSeq,
    PadEdge,
    Reduce,
    ReduceSeq,
    Split,
    ToPrivate,
    Transpose,
    Zip,
)
from ir.core.size import Size
from ir.core.terms import children, once
from ir.core.type_rules import elem_of, size_of, type_of
from ir.core.types import BYTES, Array, Scalar, Tuple, Type, Vector


def bytes_of(t: Type) -> Size:
    """The bytes of a value of type t without gaps; a vector takes those of its scalars."""
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
    """The bytes of the private array e that one work-item holds: a dimension spread over work-items
    counts as one element."""
    if not _spread(e):
        return bytes_of(type_of(e))
    match e:
        case MapPar(_, _, f, _):
            return share(f.body)
        case Map(f, xs) if not _spread(f.body):
            return share(xs)
        case Map(f, xs) | MapSeq(f, xs, _):
            return share(f.body) * size_of(xs)
        case Generate(n, f):
            return share(f.body) * n
        case ReduceSeq(_, f, _, _) | Reduce(_, f, _):
            return share(f.body)
        case Instruct() if e.together:
            return bytes_of(elem_of(e))
        case Let(_, _, inner) | ToPrivate(inner):
            return share(inner)
        case MakeTuple(parts) | Zip(parts):
            total: Size = 0
            for part in parts:
                total = total + share(part)
            return total
        case Join(xs) | Split(_, xs) | Transpose(xs) | AsScalar(xs) | PadEdge(_, _, _, xs):
            return share(xs)
    return bytes_of(type_of(e))


@once
def _spread(e: Expr) -> bool:
    """True if the elements of e are spread over several work-items."""
    here = e.together if isinstance(e, Instruct) else isinstance(e, MapPar)
    return here or any(map(_spread, children(e)))
