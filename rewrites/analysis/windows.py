"""The windows that a term goes over: whether it has any, and how many slides make them."""

# key: e term, f function

from ir.core.nodes import (
    Expr,
    Slide,
    Store,
)
from ir.core.terms import children


def has_windows(e: Expr) -> bool:
    """True if e contains a slide, not counting those below a `store`, which belong to another
    kernel."""
    return slides(e) > 0


def slides(e: Expr) -> int:
    """The number of slides in e, not counting those below a `store`, which belong to another
    kernel."""
    return 0 if isinstance(e, Store) else isinstance(e, Slide) + sum(map(slides, children(e)))
