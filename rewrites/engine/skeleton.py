"""The skeleton of a term: its maps and reductions with their lengths, one inside the other.

    map 8 > map 8 / k > reduce k

What a map goes over, if it is computed, comes after a dot, as in `map f . map g`. Views are left
out, and so is all that is done to single numbers.
"""

# key: e term

from ir.core.nodes import (
    Expr,
    Let,
    Map,
    MapPar,
    MapSeq,
    Reduce,
    ReduceSeq,
    Store,
    ToLocal,
    ToPrivate,
)
from ir.core.size import show_size
from ir.core.terms import children, once
from ir.core.type_rules import size_of
from ir.core.views import is_view

INSIDE, AFTER = " > ", "  .  "
STORED = "store"  # another kernel's, where it is read


@once
def skeleton(e: Expr) -> str:
    """The maps and reductions of a term with their lengths, outermost first, as text; empty where
    there are none."""
    inner, before = _spine(e)
    made = (part for part in map(skeleton, before) if not part.startswith(STORED))
    return AFTER.join(filter(None, [INSIDE.join(inner), *made]))


def _spine(e: Expr) -> tuple[list[str], list[Expr]]:
    """The levels of a nest as text, outermost first, and the arrays that its maps go over where
    these are computed."""
    match e:
        case Let(_, _, rest):
            return _spine(rest)
        case Map(f, xs) if is_view(f.body):
            return _spine(xs)
        case Map(f, xs) | MapPar(_, _, f, xs) | MapSeq(f, xs) | Reduce(_, f, xs):
            return _level(e, f.body, xs)
        case ReduceSeq(_, f, xs):
            return _level(e, f.body, xs)
        case Store(made) | ToLocal(made) | ToPrivate(made):
            inner, before = _spine(made)
            return [_name(e), *inner], before
    return next((found for c in children(e) if (found := _spine(c))[0]), ([], []))


def _level(e: Expr, body: Expr, xs: Expr) -> tuple[list[str], list[Expr]]:
    inner, before = _spine(body)
    return [f"{_name(e)} {show_size(size_of(xs))}", *inner], [*before, xs]


def _name(e: Expr) -> str:
    if isinstance(e, MapPar):
        return f"{e.level.value}({e.dim})"
    name = type(e).__name__
    return name[0].lower() + name[1:]
