"""Views: terms that move no data and compute nothing."""

# key: e term

from collections.abc import Callable

from ir.core.nodes import (
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
from ir.core.terms import children, once

LAYOUT = (
    Join, Split, Slide, Pad, PadEdge, Transpose, Reorder, Zip, Concat, At, AsVector, AsScalar,
    Get, MakeArray, MakeTuple,
)  # fmt: skip


@once
def is_view(e: Expr) -> bool:
    """True if e is made of variables, numbers, stored terms and layout, so that reading it twice
    costs no computation."""
    return isinstance(e, Store) or _is_view(e, is_view)


@once
def is_plain_view(e: Expr) -> bool:
    """True if e is a view without stores, so that a copy of it in the program costs nothing."""
    return _is_view(e, is_plain_view)


def _is_view(e: Expr, is_part: Callable[[Expr], bool]) -> bool:
    match e:
        case Var() | Lit() | SizeOf():
            return True
        case Map(f, xs):
            return is_part(f.body) and is_part(xs)
        case Let(_, value, body):
            return is_part(value) and is_part(body)
        case Generate(_, f):
            return is_part(f.body)
        case Reorder(_, xs):
            return is_part(xs)
    return isinstance(e, LAYOUT) and all(map(is_part, children(e)))


@once
def is_layout(e: Expr) -> bool:
    """True if e does nothing but arrange elements of arrays and pad them. The value that pads may
    be a computed one: it is then computed at each read."""
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
    """True if e is an array of literal numbers, or an array whose elements are such arrays."""
    return isinstance(e, MakeArray) and all(isinstance(p, Lit) or is_table(p) for p in e.parts)
