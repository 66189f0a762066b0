"""Surface trees: the program as it was written, before names are resolved, with the span of each
part."""

from collections.abc import Callable

from ir.core.frozen import distinct
from ir.core.nodes import Expr
from ir.errors import Span


@distinct
class Name:
    """A name x, as it is written."""

    text: str
    span: Span


@distinct
class Number:
    """A number: 2, 0.5, 0.5h (half), 0.5b (bfloat), 0.5f (float), 2i (int), 2L (long), 2s (short),
    2us (ushort), 2c (char), 2uc (uchar); without a suffix it adapts to what it meets."""

    value: int | float
    suffix: str
    span: Span


@distinct
class Apply:
    """A call head(args); head(a)(b) is head(a, b)."""

    head: "Surface"
    args: tuple["Surface", ...]
    span: Span


@distinct
class Operator:
    """An operator with its operands: -a, a + b, a - b, a * b, a / b, a % b."""

    op: str
    parts: tuple["Surface", ...]
    span: Span


@distinct
class Group:
    """A group (a, b, …): a tuple, or a pattern that takes one apart."""

    parts: tuple["Surface", ...]
    span: Span


@distinct
class List:
    """An array written element by element: [a, b, …]."""

    parts: tuple["Surface", ...]
    span: Span


@distinct
class Lambda:
    """A function pattern -> body."""

    pattern: "SurfacePattern"
    body: "Surface"
    span: Span


@distinct
class Vectorized:
    """A function vectorized f."""

    f: "Surface"
    span: Span


@distinct
class Component:
    """A component of a tuple, such as e.0."""

    index: int
    e: "Surface"
    span: Span


@distinct
class LetIn:
    """A let: let pattern = value, then body; `let!` keeps even a pure view under its name."""

    pattern: "SurfacePattern"
    value: "Surface"
    body: "Surface"
    keep: bool
    span: Span


@distinct
class Done:
    """A core term made before, in the place of a surface tree."""

    term: Expr
    span: Span


@distinct
class Native:
    """A Python function; `names` are those of its parameters."""

    f: "Callable[..., Surface]"
    names: tuple[str, ...]
    span: Span


Surface = (
    Name
    | Number
    | Apply
    | Operator
    | Group
    | List
    | Lambda
    | Vectorized
    | Component
    | LetIn
    | Done
    | Native
)
SurfacePattern = Name | Group


@distinct
class TypeName:
    """A scalar or vector type as it is written: float, half, int, float<4>; _ is any type."""

    text: str
    width: Surface | None
    span: Span


@distinct
class TypeArray:
    """An array type as it is written: [elem]size."""

    elem: "SurfaceType"
    size: Surface
    span: Span


@distinct
class TypeTuple:
    """A tuple type as it is written: (t, u, …)."""

    parts: tuple["SurfaceType", ...]
    span: Span


SurfaceType = TypeName | TypeArray | TypeTuple


@distinct
class Parameter:
    """A parameter as it is written: const pattern : type."""

    pattern: SurfacePattern
    type: SurfaceType | None
    const: bool
    span: Span


@distinct
class Definition:
    """A definition as it is written: name(parameters) = body."""

    name: Name
    params: tuple[Parameter, ...]
    body: Surface


@distinct
class Binding:
    """A size as it is bound after `where`: name = size, or `?` (no size) for a tuning parameter."""

    name: Name
    size: Surface | None
    span: Span


@distinct
class File:
    """A file: its definitions, the last of which is the program, and the sizes after `where`."""

    definitions: tuple[Definition, ...]
    where: tuple[Binding, ...]


def pattern_names(p: SurfacePattern | Surface) -> tuple[Name, ...]:
    """The names that a pattern binds, left to right."""
    if isinstance(p, Name):
        return (p,)
    assert isinstance(p, Group)
    return tuple(name for part in p.parts for name in pattern_names(part))


def type_sizes(t: SurfaceType | None) -> tuple[Surface, ...]:
    """The sizes written in a type, outermost first."""
    match t:
        case TypeArray(elem, size):
            return (size, *type_sizes(elem))
        case TypeTuple(parts):
            return tuple(size for part in parts for size in type_sizes(part))
        case TypeName(_, width) if width is not None:
            return (width,)
    return ()
