"""The limits on types: every array has at least one element, and sizes, dimensions and components
are bounded."""

from ir.core.types import Array, Tuple, Type, Vector, show_type
from ir.errors import Span, UserError

ELEMENTS = 2**48
LEAVES = 256
DEEPEST = 64  # dimensions of an array, as of NumPy's


def check_type(t: Type, span: Span) -> None:
    """Raise a UserError at `span` if the type t has an array without elements or is too large."""
    if dimensions(t) > DEEPEST:
        raise UserError(f"an array of {dimensions(t)} dimensions; expected at most {DEEPEST}", span)
    count, leaves = _measure(t, span)
    if leaves > LEAVES:
        raise UserError(f"a type of {leaves} components; expected at most {LEAVES}", span)
    if count > ELEMENTS:
        raise UserError(f"{show_type(t)} has {count:,} elements; expected at most 2^48", span)


def dimensions(t: Type) -> int:
    """The most dimensions of any array in t; a vector's lanes count as one dimension."""
    match t:
        case Array(elem, _):
            return 1 + dimensions(elem)
        case Tuple(parts):
            return max(map(dimensions, parts), default=0)
        case Vector():
            return 1
    return 0


def _measure(t: Type, span: Span) -> tuple[int, int]:
    """The number of scalars or vectors in a value of type t, and the number of scalar and vector
    types that t is written with; a UserError at `span` for an array without elements."""
    match t:
        case Array(elem, n):
            count, leaves = _measure(elem, span)
            if isinstance(n, int) and n < 1:
                raise UserError(f"an array of size {n}; expected at least 1", span)
            return count * (n if isinstance(n, int) else 1), leaves
        case Tuple(parts):
            measures = [_measure(part, span) for part in parts]
            return sum(c for c, _ in measures), sum(n for _, n in measures)
    return 1, 1
