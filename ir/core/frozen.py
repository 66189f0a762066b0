"""Decorators for immutable dataclasses that are faster than `frozen=True`.

Only the type checker ensures that nobody changes an instance: a class that checks at run time takes
several times as long to make one, and terms, indices and statements are made by the million.

An instance is pickled as its fields; whatever else it caches is computed again.
"""

from dataclasses import dataclass, field, fields
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """The class as a dataclass that is never changed; instances are equal if all fields are."""
    return _pickled_by_fields(dataclass(slots=True, unsafe_hash=True)(cls))


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def distinct(cls: type[T]) -> type[T]:
    """The class as a dataclass that is never changed; an instance equals only itself, unless the
    class defines `__eq__`."""
    return _pickled_by_fields(dataclass(slots=True, eq=False)(cls))


def _pickled_by_fields(cls: type[T]) -> type[T]:
    names = [each.name for each in fields(cls)]  # type: ignore[arg-type]

    def state(self: T) -> list[object]:
        return [getattr(self, name) for name in names]

    def restored(self: T, values: list[object]) -> None:
        for name, value in zip(names, values, strict=True):
            setattr(self, name, value)

    cls.__getstate__ = state  # type: ignore[method-assign, assignment]
    cls.__setstate__ = restored  # type: ignore[attr-defined]
    return cls
