"""The binding of tuning parameters to their values."""

# key: e term, p pattern, t type, n size

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeVar, cast

from ir.core.nodes import Expr, Pattern, Var
from ir.core.size import Nat, Size, bind, names
from ir.core.terms import children, fields_of, free, once, variables
from ir.core.types import Array, Tuple, Type, Vector

T = TypeVar("T")


def bind_sizes(e: Expr, values: Mapping[str, Size]) -> Expr:
    """The term e with the sizes `values`, by name, in place of the tuning parameters in its sizes
    and types."""
    return _Binding(values).term(e)


@dataclass(slots=True)
class _Binding:
    """A binding of parameters' names to `values` in sizes, types and terms. Its results are kept in
    `made`, so that a part that several terms share is bound only once."""

    values: Mapping[str, Size]
    made: dict[int, object] = field(default_factory=dict)  # by identity

    def term(self, e: Expr) -> Expr:
        return cast(Expr, self.once(e, self._term))

    def type(self, t: Type) -> Type:
        return cast(Type, self.once(t, self._type))

    def size(self, n: Size) -> Size:
        return n if isinstance(n, int) else cast(Size, self.once(n, lambda n: bind(n, self.values)))

    def once(self, x: T, make: Callable[[T], object]) -> object:
        found = self.made.get(id(x))
        if found is None:
            found = self.made[id(x)] = make(x)
        return found

    def _term(self, e: Expr) -> Expr:
        return e if self.values.keys().isdisjoint(_names_in(e)) else self._rebuilt(e)

    def _rebuilt(self, e: Expr) -> Expr:
        new: list[object] = []
        for name in fields_of(e):
            value = getattr(e, name)
            if name == "pattern":
                value = self.pattern(value)
            elif isinstance(value, Expr):
                value = self.term(value)
            elif isinstance(value, tuple):
                value = tuple([self.term(v) if isinstance(v, Expr) else v for v in value])
            elif isinstance(value, Nat):
                value = self.size(value)
            elif isinstance(value, Array | Vector | Tuple):
                value = self.type(value)
            new.append(value)
        made = type(e)(*new)
        object.__setattr__(made, "_free", free(e))  # whatever the sizes
        return made

    def pattern(self, p: Pattern) -> Pattern:
        if isinstance(p, Var):
            return Var(p.name, self.type(p.type))
        return tuple([self.pattern(part) for part in p])

    def _type(self, t: Type) -> Type:
        match t:
            case Array(elem, n):
                return Array(self.type(elem), self.size(n))
            case Vector(scalar, n):
                return Vector(scalar, self.size(n))
            case Tuple(parts):
                return Tuple(tuple(map(self.type, parts)))
        return t


@once
def _names_in(e: Expr) -> frozenset[str]:
    """The tuning parameters that occur in the sizes and the types of the node e."""
    found = set[str]()
    for name in fields_of(e):
        value = getattr(e, name)
        if name == "pattern":
            found.update(*[names_of(variable.type) for variable in variables(value)])
        elif isinstance(value, Nat):
            found |= names(value)
        elif isinstance(value, Array | Vector | Tuple):
            found |= names_of(value)
    return frozenset(found.union(*map(_names_in, children(e))))


@lru_cache(maxsize=1 << 14)
def names_of(t: Type) -> frozenset[str]:
    """The tuning parameters that occur in a type."""
    match t:
        case Array(elem, n):
            return names_of(elem) | names(n)
        case Vector(_, n):
            return names(n)
        case Tuple(parts):
            return frozenset().union(*map(names_of, parts))
    return frozenset()
