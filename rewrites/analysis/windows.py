"""The windows of a term: if it has any, and the number of slides that make them."""

# key: e term, f function

from ir.core.nodes import (
    Expr,
    Slide,
    Store,
)
from ir.core.terms import children


def has_windows(e: Expr) -> bool:
    """True if a slide is among the views that make e, those stored for it left out."""
    return slides(e) > 0


def slides(e: Expr) -> int:
    """The number of slides among the views that make e, those stored for it left out."""
    return 0 if isinstance(e, Store) else isinstance(e, Slide) + sum(map(slides, children(e)))
