"""The locations of values in memory and the loops that choose among their cells; `loop_trace`
follows them."""

# key: e term, p pattern

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import TypeAlias

from constraints.quantities.strides import UNKNOWN, Axis, Strides, repeated, row_major, viewed
from ir.core.frozen import distinct, frozen
from ir.core.nodes import (
    Expr,
    Lam,
    Level,
    Pattern,
    Var,
)
from ir.core.size import Size
from ir.core.types import Array, Tuple, Type


@distinct
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


@frozen
class Cells:
    """The location of a value's scalars: the memory (`space`: global, local, or own for a
    work-item's), the array in it (`name`; None for own memory), the loops whose turns choose which
    scalar of the array is meant (`chosen`), and the places of the value's elements in memory
    (`strides`). `maps` are the axes of maps in whose function the value stands, innermost last.
    `carried` tells of a work-item's own value that a loop carries it from turn to turn, or that it
    was made of such a value."""

    space: str  # global, local or own
    name: object = None
    chosen: frozenset[Loop] = frozenset()
    strides: Strides = field(default=UNKNOWN, compare=False)
    maps: tuple[tuple[object, Axis], ...] = field(default=(), compare=False)
    carried: bool = False

    def at(self, loop: Loop) -> "Cells":
        """The cells of one element of the value, the one that the turn of `loop` chooses."""
        return self if self.space == "own" else replace(self.element, chosen=self.chosen | {loop})

    def place(self, k: Size) -> "Cells":
        """The cells of element k of the value, an array."""
        return self if self.space == "own" else replace(self.element, name=(self.name, k))

    @property
    def element(self) -> "Cells":
        """The cells of any one element of the value, an array."""
        return replace(self, strides=self.strides.element)

    def viewed(self, e: Expr) -> "Cells":
        """The cells of the view e of the value."""
        return self if self.space == "own" else replace(self, strides=viewed(e, self.strides))

    def entering(self, f: object) -> "Cells":
        """The cells of an element of the value in the function f of a map over it."""
        if self.space == "own" or not self.strides.axes:
            return self
        return replace(self.element, maps=(*self.maps, (f, self.strides.axes[0])))

    def leaving(self, f: object, n: Size) -> "Cells":
        """The cells of the array of n values of the map of f, each of which this is one."""
        if self.space == "own":
            return self
        if not self.maps or self.maps[-1][0] is not f:
            return replace(self, strides=self.strides.of(repeated(n)))
        return replace(self, strides=self.strides.of(self.maps[-1][1]), maps=self.maps[:-1])


@distinct
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

    def place(self, k: Size) -> "Delayed":
        """The value of the map at element k: that of f at element k of xs."""
        return replace(self, xs=each(self.xs, lambda inner: inner.place(k)))

    def viewed(self, e: Expr) -> "Delayed":
        """The view e of the map's value, which is computed anew where the view is read."""
        return self

    def entering(self, f: object) -> "Delayed":
        return self

    def leaving(self, f: object, n: Size) -> "Delayed":
        return self


OWN, CARRIED = Cells("own"), Cells("own", carried=True)


def laid_out(space: str, name: object, chosen: frozenset[Loop], t: Type) -> "Value":
    """The location of a value of type t that is kept as a whole: each component of tuples apart."""
    if not has_tuples(t):
        return Cells(space, name, chosen, row_major(t))
    parts = enumerate(parts_of_tuples(t))
    return tuple(laid_out(space, (name, k), chosen, part) for k, part in parts)


def has_tuples(t: Type) -> bool:
    """True if a value of type t is a tuple, or an array of tuples."""
    return isinstance(t, Tuple) or (isinstance(t, Array) and has_tuples(t.elem))


Value: TypeAlias = "Cells | Delayed | tuple[Value, ...]"
Env = Mapping[str, Value]


@frozen
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
            return value if value.space == "own" else replace(value, name=(value.name, k))


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
