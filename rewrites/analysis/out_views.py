"""Views that a result may be written through: those with an inverse, and those that show only a
part."""

# key: e term, f function

from ir.core.nodes import (
    AsScalar,
    Edge,
    Expr,
    Join,
    Lam,
    Map,
    Pad,
    PadEdge,
    Reorder,
    Split,
    Transpose,
    Var,
)
from ir.core.size import Size
from ir.core.terms import children, once, subterms
from ir.core.type_rules import size_of
from ir.core.views import is_view
from rewrites.analysis.size_signs import non_negative


def is_out_view(e: Expr) -> bool:
    """True if e is a view through which a result, e's last child, may be written to memory."""
    return _invertible(e) and not (isinstance(e, Map) and is_view(e.xs))


@once
def _invertible(e: Expr) -> bool:
    match e:
        case Join() | Split() | Transpose() | AsScalar() | Reorder():
            return True
        case Pad() | PadEdge():
            return is_crop(e)
        case Map(f, _):
            return rearranges(f)
    return False


def crops(left: Size, right: Size) -> bool:
    """True if the paddings left and right only take elements away, whatever values the parameters
    have."""
    return extends(-left, -right)


def extends(left: Size, right: Size) -> bool:
    """True if the paddings left and right take no element away, whatever values the parameters
    have."""
    return non_negative(left) and non_negative(right)


def is_crop(e: Pad | PadEdge) -> bool:
    """True if a result may be written through the padding e, because all that e shows are elements
    of the result. So it is if e adds none at either end, or leaves one element alone after a change
    at one end."""
    one_side = e.left == 0 or e.right == 0
    return crops(e.left, e.right) or (one_side and size_of(e) == 1)


def adds(e: Expr) -> bool:
    """True if e is a `pad_any` that adds elements of no defined value, as room for tiles."""
    return isinstance(e, PadEdge) and e.edge is Edge.ANY and not is_crop(e)


def adds_anything(e: Expr) -> bool:
    """True if a `pad_any` in e adds elements of no defined value, which need not be numbers: 0
    times them is not 0."""
    return any(map(adds, subterms(e)))


def rearranges(f: Lam) -> bool:
    """True if f is x -> view(x) for a view, not the identity, that can be written through."""
    e = f.body
    while _invertible(e):
        e = children(e)[-1]
    return f.body is not e and isinstance(f.pattern, Var) and e == f.pattern
