"""Decorators for immutable dataclasses that are faster than `frozen=True`.

Only the type checker ensures that nobody changes an instance: a class that checks at run time takes
several times as long to make one, and terms, indices and statements are made by the million.

Of the methods, only `__init__` is compiled for each class: a dataclass that has all of its methods
compiled takes half a millisecond, and a command loads hundreds of them.

An instance is pickled as its fields; whatever else it caches is computed again.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """The class as a dataclass that is never changed; instances are equal if all fields are."""
    made = _with_fields(cls)
    compared = _getter([each.name for each in fields(made) if each.compare])  # type: ignore[arg-type]

    def equal(self: T, other: object) -> object:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return compared(self) == compared(other)

    _add(made, "__eq__", equal)
    _add(made, "__hash__", lambda self: hash(compared(self)))
    return made


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def distinct(cls: type[T]) -> type[T]:
    """The class as a dataclass that is never changed; an instance equals only itself, unless the
    class defines `__eq__`."""
    return _with_fields(cls)


def _with_fields(cls: type[T]) -> type[T]:
    """The class as a dataclass that is shown and pickled by its fields, and not compared."""
    made = dataclass(slots=True, repr=False, eq=False)(cls)
    every = fields(made)  # type: ignore[arg-type]
    names, shown = [f.name for f in every], [f.name for f in every if f.repr]

    def text(self: T) -> str:
        inner = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{self.__class__.__qualname__}({inner})"

    def state(self: T) -> list[object]:
        return [getattr(self, name) for name in names]

    def restored(self: T, values: list[object]) -> None:
        for name, value in zip(names, values, strict=True):
            setattr(self, name, value)

    _add(made, "__repr__", text)
    made.__getstate__ = state  # type: ignore[method-assign, assignment]
    made.__setstate__ = restored  # type: ignore[attr-defined]
    return made


def _getter(names: list[str]) -> Callable[[object], object]:
    """The function that gives the fields of these names of an instance, as one value."""
    return attrgetter(*names) if names else lambda self: ()


def _add(cls: type, name: str, method: Callable[..., object]) -> None:
    """Give a class a method, unless it defines one itself."""
    if cls.__dict__.get(name) is None:
        method.__name__, method.__qualname__ = name, f"{cls.__qualname__}.{name}"
        setattr(cls, name, method)
