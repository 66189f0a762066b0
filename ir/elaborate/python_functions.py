"""Python functions as functions of the language, whose parameters take an element apart."""

# key: t type, names of Python parameters

from ir.core.nodes import Pattern, Var
from ir.core.terms import fresh, variables
from ir.core.types import Tuple, Type, show_type
from ir.errors import Span, UserError


def native_pattern(
    names: tuple[str, ...], t: Type, scope: frozenset[str], span: Span
) -> tuple[Pattern, tuple[Var, ...]]:
    """The pattern for a value of type t, and its variables, one for each of `names`, the parameters
    of a Python function.

    One parameter takes the whole value. If there are as many as t has components, each takes one.
    If there are as many as t has after all nested tuples are taken apart, each takes one of those:
    `lambda acc, x, w` is `(acc, (x, w)) -> …`.
    """
    for depth in range(3):
        shape = _opened(t, depth)
        if len(_flat(shape)) == len(names):
            pattern = _named(shape, list(names), set(scope))
            return pattern, variables(pattern)
    raise UserError(
        f"a function of {len(names)} parameters is applied to elements of the type {show_type(t)}: "
        "expected one parameter, or one for each component",
        span,
    )


Shape = Type | tuple["Shape", ...]


def _opened(t: Type, depth: int) -> Shape:
    if depth == 0 or not isinstance(t, Tuple):
        return t
    return tuple(_opened(part, depth - 1) for part in t.parts)


def _flat(shape: Shape) -> list[Type]:
    if isinstance(shape, tuple):
        return [t for part in shape for t in _flat(part)]
    return [shape]


def _named(shape: Shape, names: list[str], taken: set[str]) -> Pattern:
    if isinstance(shape, tuple):
        return tuple(_named(part, names, taken) for part in shape)
    name = fresh(names.pop(0), taken)
    taken.add(name)
    return Var(name, shape)
