"""Views that a result is written through: inverses exist, or only a part is taken."""

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
    """A view that a result is written through, the result being the last child."""
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
    """Amounts that only take away, whatever value the parameters have."""
    return extends(-left, -right)


def extends(left: Size, right: Size) -> bool:
    """Amounts that never take away, whatever value the parameters have."""
    return non_negative(left) and non_negative(right)


def is_crop(e: Pad | PadEdge) -> bool:
    """True if the padding e only removes: by its amounts, or as one side changes and 1 is left."""
    one_side = e.left == 0 or e.right == 0
    return crops(e.left, e.right) or (one_side and size_of(e) == 1)


def adds(e: Expr) -> bool:
    """Elements added for tiles to fit, which nobody looks at."""
    return isinstance(e, PadEdge) and e.edge is Edge.ANY and not is_crop(e)


def adds_anything(e: Expr) -> bool:
    """True if e may hold what is not a number, so that 0 times it is not 0: what pad_any adds."""
    return any(map(adds, subterms(e)))


def rearranges(f: Lam) -> bool:
    """x -> view(x), where the view can be written through, and is one."""
    e = f.body
    while _invertible(e):
        e = children(e)[-1]
    return f.body is not e and isinstance(f.pattern, Var) and e == f.pattern
