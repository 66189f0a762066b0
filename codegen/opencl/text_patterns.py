"""Patterns of text, each spelled once for all copies of a statement that spelled-out loops make.

Copies differ in the places that they read and write, and some in the constants that are folded in
them. Copies with the same constants share a pattern, whose holes are the places; and a hole keeps
one text for each choice of values of the loops that it changes with.
"""

from collections.abc import Callable, Collection, Mapping
from operator import itemgetter
from typing import Generic, TypeVar

from ir.core.frozen import frozen

Values = Mapping[str, int]  # of the spelled-out loops around a place
T = TypeVar("T")


class Varying(Generic[T]):
    """A result that depends on the variables of some spelled-out loops (`names`), computed once for
    each choice of their values."""

    __slots__ = ("_made", "_make", "_values_of", "names")

    def __init__(self, names: Collection[str], make: Callable[[Values], T]) -> None:
        self.names = frozenset(names)
        self._values_of = itemgetter(*sorted(names)) if names else _nothing
        self._make = make
        self._made: dict[object, T] = {}

    def at(self, values: Values) -> T:
        key = self._values_of(values)
        try:
            return self._made[key]
        except KeyError:
            made = self._made[key] = self._make(values)
            return made


def _nothing(values: Values) -> None:
    """None, as the key of a result that depends on no loop, whatever the `values` of loops are."""


@frozen
class Pattern:
    """A text with `{n}` in place of its hole n, and for each hole its text for each choice of the
    loops' values."""

    form: str
    holes: tuple[Varying[str], ...]

    def at(self, values: Values) -> str:
        return self.form.format(*[hole.at(values) for hole in self.holes])
