"""Frozen dataclasses whose hash is computed once: those that are deep and hashed often."""

from collections.abc import Callable
from typing import TypeVar, cast, dataclass_transform

from ir.core.frozen import frozen


class Hashed:
    """A base class of values that compute their hash once and keep it."""

    __slots__ = ("_hash",)
    _hash: int


H = TypeVar("H", bound=Hashed)


@dataclass_transform(frozen_default=True)
def hashed(cls: type[H]) -> type[H]:
    """The class as a frozen dataclass whose hash is computed once."""
    made = frozen(cls)
    structural = cast(Callable[[Hashed], int], made.__hash__)

    def cached_hash(self: Hashed) -> int:
        try:
            return self._hash
        except AttributeError:
            object.__setattr__(self, "_hash", structural(self))
            return self._hash

    setattr(made, "__hash__", cached_hash)  # noqa: B010
    return made
