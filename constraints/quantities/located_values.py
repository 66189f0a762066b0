"""The locations of values in memory and the loops that choose among their cells; `loop_trace`
follows them."""

# key: e term, p pattern

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from ir.core.nodes import (
    Lam,
    Level,
    Pattern,
    Var,
)
from ir.core.size import Size
from ir.core.types import Array, Tuple, Type


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A map or a reduction around a term, as a loop of `trips` turns; `level` and `dim` are those
    of a parallel map, with `level` None for other loops."""

    trips: Size
    unrolled: bool = False
    level: Level | None = None
    dim: int = 0

    @property
    def together(self) -> bool:
        """True if the work-items of a group run the loop's turns, or some of them, at the same
        time."""
        return self.unrolled or self.level in (Level.LOCAL, Level.GLOBAL)


Loops = tuple[Loop, ...]


@dataclass(frozen=True, slots=True)
class Cells:
    """The location of a value's scalars: the memory (`space`: global, local, or own for a
    work-item's), the array in it (`name`; None for own memory), and the loops whose turns choose
    which scalar of the array is meant (`chosen`)."""

    space: str  # global, local or own
    name: object = None
    chosen: frozenset[Loop] = frozenset()

    def at(self, loop: Loop) -> "Cells":
        """The cells of one element of the value, the one that the turn of `loop` chooses."""
        if self.space == "own":
            return self
        return Cells(self.space, self.name, self.chosen | {loop})

    def part(self, k: Size) -> "Cells":
        """The cells of part k of the value: component k of a tuple, or element k of an array."""
        if self.space == "own":
            return self
        return Cells(self.space, (self.name, k), self.chosen)


@dataclass(frozen=True, slots=True, eq=False)
class Delayed:
    """The map of f over xs, an array of `trips` elements, computed anew at each read; if there is a
    `path`, the component there of the tuples that the map makes."""

    f: Lam
    xs: "Value"
    trips: Size
    env: "Env"
    path: tuple[int, ...] = ()

    def at(self, loop: Loop) -> "Delayed":
        """The value of the map at one element: that of f at the element of xs that the turn of
        `loop` chooses."""
        return replace(self, xs=each(self.xs, lambda inner: inner.at(loop)))

    def part(self, k: Size) -> "Delayed":
        """The value of the map at element k: that of f at element k of xs."""
        return replace(self, xs=each(self.xs, lambda inner: inner.part(k)))


OWN = Cells("own")
Value: TypeAlias = "Cells | Delayed | tuple[Value, ...]"
Env = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Scope:
    """The surroundings of a term: the values of its variables, and the loops around it."""

    env: Env = field(default_factory=dict)
    loops: Loops = ()

    def bound(self, p: Pattern, value: Value) -> "Scope":
        """This scope with the variables of the pattern p bound to the parts of a value."""
        return replace(self, env=bound(self.env, p, value))

    def inside(self, loop: Loop) -> "Scope":
        """This scope with one more loop, inside the others."""
        return replace(self, loops=(*self.loops, loop))


def component(value: Value, k: int) -> Value:
    """The k-th part of a tuple's value."""
    match value:
        case tuple(parts):
            return parts[k]
        case Delayed():
            return replace(value, path=(*value.path, k))
        case Cells():
            return value.part(k)


def parts_of_tuples(t: Type) -> tuple[Type, ...]:
    """The types of the components of a value of type t: those of a tuple; or, of an array of
    tuples, an array for each component. t must be one of these."""
    match t:
        case Tuple(parts):
            return parts
        case Array(elem, n):
            return tuple(Array(part, n) for part in parts_of_tuples(elem))
    raise AssertionError(f"{t} has no parts")


def each(value: Value, change: Callable[[Cells | Delayed], Value]) -> Value:
    """The value with `change` applied to each of its parts, tuples being taken apart."""
    if isinstance(value, tuple):
        return tuple(each(part, change) for part in value)
    return change(value)


def bound(env: Env, p: Pattern, value: Value) -> Env:
    """The environment with each variable of a pattern bound to its part of the value."""
    if isinstance(p, Var):
        return {**env, p.name: value}
    for k, part in enumerate(p):
        env = bound(env, part, component(value, k))
    return env
