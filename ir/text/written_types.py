"""Types as they are written: their meaning, and the sizes inferred from them at a call."""

from collections.abc import Callable

from ir.core.size import Size, exact, same, show_size
from ir.core.types import SCALARS, Array, Scalar, Tuple, Type, Vector, show_type
from ir.errors import Span, UserError
from ir.text.suggest import did_you_mean
from ir.text.surface import Name, Operator, Surface, SurfaceType, TypeArray, TypeName, TypeTuple
from ir.text.written_sizes import at_least_one, size_names

SizeOf = Callable[[Surface], Size]


ELSEWHERE = {
    **{"int8": "char", "uint8": "uchar", "i8": "char", "u8": "uchar", "byte": "uchar"},
    **{"int16": "short", "uint16": "ushort", "int32": "int", "int64": "long"},
    **{"float16": "half", "fp16": "half", "f16": "half", "bfloat16": "bfloat", "bf16": "bfloat"},
    **{"float32": "float", "fp32": "float", "f32": "float"},
}
"""The names of our types by those that other languages and libraries give them."""


def meaning(declared: SurfaceType, size: SizeOf) -> Type:
    """The type that the written type `declared` stands for; `size` evaluates the sizes written in
    it."""
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
    """The scalar type that is written, such as float or uchar."""
    if declared.text not in SCALARS:
        meant = ELSEWHERE.get(declared.text)
        hint = f"; it is called `{meant}` here" if meant else did_you_mean(declared.text, SCALARS)
        raise UserError(f"unknown type `{declared.text}`{hint}", declared.span)
    return SCALARS[declared.text]


def infer(declared: SurfaceType, found: Type, is_open: Callable[[str], bool]) -> dict[str, Size]:
    """The sizes, by name, that make the written type `declared` equal to the type `found`. They are
    those of the names that stand alone as a size, such as n in [float]n, and for which `is_open` is
    true: these have no size yet."""
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


def infer_rest(
    declared: SurfaceType, found: Type, is_open: Callable[[str], bool], size: SizeOf
) -> dict[str, Size]:
    """The sizes, by name, that `infer` does not find. They are those of the names for which
    `is_open` is true (these have no size yet), each the only such name in an arithmetic size, such
    as n in 2 * n + 1. `size` evaluates what else is in it."""
    match declared, found:
        case TypeArray(elem, n, _), Array(inner, m):
            names = [name.text for name in size_names(n) if is_open(name.text)]
            own = {names[0]: solved(n, m, names[0], size)} if len(names) == 1 else {}
            return infer_rest(elem, inner, is_open, size) | own
        case TypeTuple(parts, _), Tuple(types) if len(parts) == len(types):
            bound: dict[str, Size] = {}
            for part, t in zip(parts, types, strict=True):
                bound = infer_rest(part, t, is_open, size) | bound
            return bound
    return {}


def solved(e: Surface, whole: Size, name: str, size: SizeOf) -> Size:
    """The size of `name`, which occurs once in e, such that e equals `whole`; `size` evaluates the
    parts of e without it."""
    match e:
        case Name():
            return whole
        case Operator("neg", (a,), _):
            return solved(a, -whole, name, size)
        case Operator(op, (a, b), span):
            left = any(x.text == name for x in size_names(a))
            part, other = (a, size(b)) if left else (b, size(a))
            match op, left:
                case "+", _:
                    return solved(part, whole - other, name, size)
                case "-", True:
                    return solved(part, whole + other, name, size)
                case "-", False:
                    return solved(part, other - whole, name, size)
                case "*", _:
                    return solved(part, _quotient(whole, other, span), name, size)
                case "/", True:
                    return solved(part, whole * other, name, size)
                case "/", False:
                    return solved(part, _quotient(other, whole, span), name, size)
    raise UserError(
        f"the size `{name}` cannot be inferred from this: expected only + - * / around it", e.span
    )


def _quotient(whole: Size, part: Size, span: Span) -> Size:
    if part == 0 or (isinstance(whole, int) and isinstance(part, int) and whole % part):
        raise UserError(
            f"found an array of {show_size(whole)}, which {show_size(part)} does not divide", span
        )
    return exact(whole, part)


def agree(declared: SurfaceType, found: Type, size: SizeOf, span: Span, whole: Type) -> None:
    """Raise a UserError at `span` if the type `found`, a part of the argument's type `whole`, is
    not as declared; `size` evaluates the sizes in `declared`, and `whole` is shown in the
    message."""
    match declared, found:
        case TypeArray(elem, n, _), Array(inner, m):
            if not same(size(n), m):
                raise UserError(
                    f"expected an array of size {show_size(size(n))}, found one of size "
                    f"{show_size(m)} in {show_type(whole)}",
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
    """The words for a written type in a message."""
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
