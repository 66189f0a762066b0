"""Which terms move no data and compute nothing: views."""

from ir.nodes import (
    AsScalar,
    AsVector,
    At,
    Concat,
    Expr,
    Get,
    Join,
    Lit,
    MakeArray,
    MakeTuple,
    Map,
    Pad,
    PadEdge,
    Reorder,
    SizeOf,
    Slide,
    Split,
    Transpose,
    Var,
    Zip,
)


def is_view(e: Expr) -> bool:
    """Only variables, numbers and layout: e may be repeated, or read in place, at no cost."""
    match e:
        case Var() | Lit() | SizeOf():
            return True
        case MakeTuple(parts) | MakeArray(parts) | Zip(parts):
            return all(map(is_view, parts))
        case Map(f, xs):
            return is_view(f.body) and is_view(xs)
        case Pad(_, _, value, xs):
            return is_view(value) and is_view(xs)
        case Concat(a, b):
            return is_view(a) and is_view(b)
        case Get(_, a) | Join(a) | Transpose(a) | AsScalar(a):
            return is_view(a)
        case Split(_, a) | Slide(_, _, a, _) | PadEdge(_, _, _, a):
            return is_view(a)
        case Reorder(_, a) | At(_, a) | AsVector(_, a):
            return is_view(a)
    return False


def is_table(e: Expr) -> bool:
    """An array of numbers that are known now, or of rows of such."""
    return isinstance(e, MakeArray) and all(isinstance(p, Lit) or is_table(p) for p in e.parts)
