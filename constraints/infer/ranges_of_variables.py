"""The ranges of variables: those of all numbers of their types, and those of the parts of values
that patterns bind."""

# key: t type, p pattern, env ranges of variables

from collections.abc import Iterator, Mapping

from constraints.infer.ranges_of_operations import UNKNOWN, Range, hull
from ir.core.nodes import Pattern, Var
from ir.core.types import INT, LONG, RANGES, Array, Scalar, Tuple, Type, Vector

Known = Range | tuple["Known", ...]  # of arrays: of all elements
Env = Mapping[str, Known]


def of_type(t: Type) -> Known:
    """The range of all numbers of a type; for ints and longs it is unknown, as their type says
    nothing of how large the numbers are."""
    match t:
        case Array(elem, _):
            return of_type(elem)
        case Tuple(parts):
            return tuple(map(of_type, parts))
        case Vector(scalar, _):
            return of_type(scalar)
        case Scalar(name):
            return UNKNOWN if t in (INT, LONG) or name not in RANGES else Range(*RANGES[name])


def bound(env: Env, p: Pattern, known: Known) -> Env:
    """The ranges `env`, with each variable of the pattern p bound to its part of `known`."""
    return {**env, **dict(_bindings(p, known))}


def _bindings(p: Pattern, known: Known) -> Iterator[tuple[str, Known]]:
    if isinstance(p, Var):
        yield p.name, known
        return
    parts = known if isinstance(known, tuple) else tuple(map(_of_pattern, p))
    for q, part in zip(p, parts, strict=True):
        yield from _bindings(q, part)


def _of_pattern(p: Pattern) -> Known:
    return of_type(p.type) if isinstance(p, Var) else tuple(map(_of_pattern, p))


def either(a: Known, b: Known) -> Known:
    """The range of numbers that are in one of two ranges; a single range is that of each part of a
    tuple."""
    if isinstance(a, Range):
        return hull(a, b) if isinstance(b, Range) else tuple(either(a, part) for part in b)
    if isinstance(b, Range):
        return tuple(either(part, b) for part in a)
    return tuple(map(either, a, b))
