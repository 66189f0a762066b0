"""Which terms move no data and compute nothing: views."""

# key: e term

from ir.nodes import (
    AsScalar,
    AsVector,
    At,
    Concat,
    Expr,
    Generate,
    Get,
    Join,
    Let,
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
    Store,
    Transpose,
    Var,
    Zip,
)
from ir.terms import children

LAYOUT = (
    Join, Split, Slide, Pad, PadEdge, Transpose, Reorder, Zip, Concat, At, AsVector, AsScalar,
    Get, MakeArray, MakeTuple,
)  # fmt: skip


def is_view(e: Expr) -> bool:
    """Only variables, numbers, what is stored, and layout: it costs nothing to read it twice."""
    return _is_view(e, stored=True)


def is_plain_view(e: Expr) -> bool:
    """A view in which nothing is stored: it costs nothing to write it twice."""
    return _is_view(e, stored=False)


def _is_view(e: Expr, stored: bool) -> bool:
    match e:
        case Var() | Lit() | SizeOf():
            return True
        case Store():
            return stored
        case Map(f, xs):
            return _is_view(f.body, stored) and _is_view(xs, stored)
        case Let(_, value, body):
            return _is_view(value, stored) and _is_view(body, stored)
        case Generate(_, f):
            return _is_view(f.body, stored)
        case Reorder(_, xs):
            return _is_view(xs, stored)
    return isinstance(e, LAYOUT) and all(_is_view(child, stored) for child in children(e))


def is_layout(e: Expr) -> bool:
    """Whether e only says where arrays lie; what pads them may be computed, where it is read."""
    match e:
        case Var():
            return True
        case Map(f, xs):
            return is_layout(f.body) and is_layout(xs)
        case Generate(_, f):
            return is_layout(f.body)
        case Pad(_, _, _, xs) | Reorder(_, xs):
            return is_layout(xs)
    return is_table(e) or (isinstance(e, LAYOUT) and all(map(is_layout, children(e))))


def is_table(e: Expr) -> bool:
    """An array of numbers that are known now, or of rows of such."""
    return isinstance(e, MakeArray) and all(isinstance(p, Lit) or is_table(p) for p in e.parts)
