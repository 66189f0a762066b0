"""Types as they are written: what they mean, and the sizes they infer at a call."""

from collections.abc import Callable

from ir.errors import Span, UserError
from ir.nat import Size, same, show_size
from ir.sizes import at_least_one
from ir.suggest import did_you_mean
from ir.surface import Name, Surface, SurfaceType, TypeArray, TypeName, TypeTuple
from ir.types import FLOAT, HALF, INT, Array, Scalar, Tuple, Type, Vector, show_type

SCALARS = {"float": FLOAT, "half": HALF, "int": INT}
SizeOf = Callable[[Surface], Size]


def meaning(declared: SurfaceType, size: SizeOf) -> Type:
    """The type that is written, every size known."""
    match declared:
        case TypeName(_, width, span):
            scalar = scalar_named(declared)
            if width is None:
                return scalar
            return Vector(scalar, at_least_one(size(width), span, "a vector's width"))
        case TypeArray(elem, n, _):
            inner = meaning(elem, size)
            return Array(inner, at_least_one(size(n), n.span))
        case TypeTuple(parts, _):
            return Tuple(tuple(meaning(part, size) for part in parts))


def scalar_named(declared: TypeName) -> Scalar:
    """float, half or int"""
    if declared.text not in SCALARS:
        hint = did_you_mean(declared.text, SCALARS)
        raise UserError(f"unknown type `{declared.text}`{hint}", declared.span)
    return SCALARS[declared.text]


def infer(declared: SurfaceType, found: Type, is_open: Callable[[str], bool]) -> dict[str, Size]:
    """The sizes that open names must have for `found` to be as declared."""
    match declared, found:
        case TypeArray(elem, n, _), Array(inner, m):
            own = {n.text: m} if isinstance(n, Name) and is_open(n.text) else {}
            return infer(elem, inner, is_open) | own
        case TypeTuple(parts, _), Tuple(types) if len(parts) == len(types):
            bound: dict[str, Size] = {}
            for part, t in zip(parts, types, strict=True):
                bound = infer(part, t, is_open) | bound
            return bound
        case TypeName(_, Name(name, _), _), Vector(_, n) if is_open(name):
            return {name: n}
    return {}


def agree(declared: SurfaceType, found: Type, size: SizeOf, span: Span, whole: Type) -> None:
    """An argument is as declared, or a UserError under it."""
    match declared, found:
        case TypeArray(elem, n, _), Array(inner, m):
            if not same(size(n), m):
                raise UserError(
                    f"expected an array of {show_size(size(n))}, found {show_size(m)} "
                    f"in {show_type(whole)}",
                    span,
                )
            return agree(elem, inner, size, span, whole)
        case TypeTuple(parts, _), Tuple(types) if len(parts) == len(types):
            for part, t in zip(parts, types, strict=True):
                agree(part, t, size, span, whole)
            return None
        case TypeName("_", None, _), _:
            return None
        case TypeName(_, None, _), Scalar() | Vector():
            scalar = found.scalar if isinstance(found, Vector) else found
            if scalar_named(declared) == scalar:
                return None
        case TypeName(_, width, _), Vector(scalar, n) if width is not None:
            if scalar_named(declared) == scalar and same(size(width), n):
                return None
    raise UserError(f"expected {describe(declared)}, found {show_type(whole)}", span)


def describe(declared: SurfaceType) -> str:
    """A written type in words for a message."""
    match declared:
        case TypeName(text, None, _):
            return text
        case TypeName(text, _, _):
            return f"a vector of {text}"
        case TypeArray(elem, _, _):
            inner = describe(elem)
            return f"an array of {inner.removeprefix('an array of ')}" if inner else "an array"
        case TypeTuple(parts, _):
            return f"({', '.join(map(describe, parts))})"
