"""What a kernel does in all, as counts in its parameters: operations, loads, bytes moved.

A load is done once for each turn of the loops around it, but for unrolled loops that do not choose
its cell: the text has it once. What the work-items of a group ask for together is moved to the
group once. These are estimates, to rank variants by: windows that overlap are counted apart, and
padding is counted as if it were read.
"""

# key: e term, p pattern

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import prod
from typing import TypeAlias

from constraints.bytes import bytes_of
from constraints.terms import value_at
from ir.nat import Size
from ir.nodes import (
    At,
    Binary,
    Concat,
    Expr,
    Generate,
    Get,
    Lam,
    Let,
    Level,
    MakeArray,
    MakeTuple,
    Map,
    MapPar,
    MapSeq,
    Pattern,
    Reduce,
    ReduceSeq,
    Reorder,
    Store,
    ToLocal,
    ToPrivate,
    Unary,
    Var,
    Zip,
)
from ir.terms import children
from ir.types import BYTES, INT, Array, Scalar, Tuple, Type, Vector
from ir.typing import size_of, type_of
from ir.views import is_view

Count = tuple[Size, ...]  # the product of these
Total = tuple[Count, ...]  # the sum of these


@dataclass(frozen=True, slots=True)
class Work:
    """Of one launch."""

    operations: Total  # on floats, one for each lane of a vector
    instructions: Total  # the same, a vector's counting once
    words: Total  # that work-items load, from global or local memory
    loads: Total  # the same, a vector counting once
    moved: Total  # bytes that groups load from global memory, and the output
    staged: Total  # times that groups fill local memory: they wait for each other


def total_at(total: Total, values: Mapping[str, int], known: dict[Size, int]) -> int:
    """A total at a point; `known` keeps the sizes that were asked for there."""
    for count in total:
        for n in count:
            if n not in known:
                known[n] = value_at(n, values)
    return sum(prod(known[n] for n in count) for count in total)


def work(kernel: Expr) -> Work:
    """What a kernel does; variables that it does not bind lie in global memory."""
    walk = _Walk()
    walk.made(kernel, {}, ())
    moved: list[Count] = [(bytes_of(type_of(kernel)),)]
    loads, words = list[Count](), list[Count]()
    for cells, type_, loops in walk.seen:
        issued = tuple(o.trips for o in loops if not o.unrolled or o in cells.chosen)
        loads.append(issued)
        words.append((*issued, _lanes(type_)))
        if cells.space == "global":
            apart = tuple(o.trips for o in loops if not o.together or o in cells.chosen)
            moved.append((*apart, _lanes(type_), _bytes(type_)))
    return Work(*map(_tidy, (walk.operations, walk.instructions, words, loads, moved, walk.staged)))


def _tidy(counts: list[Count]) -> Total:
    """Equal counts as one, numbers multiplied."""
    found: dict[Count, int] = {}
    for count in counts:
        k = prod(n for n in count if isinstance(n, int))
        rest = tuple(n for n in count if not isinstance(n, int))
        found[rest] = found.get(rest, 0) + k
    return tuple((k, *rest) for rest, k in found.items() if k)


@dataclass(frozen=True, slots=True, eq=False)
class _Loop:
    """A map or a reduction around a place."""

    trips: Size
    unrolled: bool = False
    level: Level | None = None

    @property
    def together(self) -> bool:
        """Whether a group goes through its turns at once."""
        return self.unrolled or self.level is Level.LOCAL


Loops = tuple[_Loop, ...]


@dataclass(frozen=True, slots=True)
class _Cells:
    """Where the scalars of a value lie, and the loops whose turns choose them."""

    space: str  # global, local or own
    name: object = None
    chosen: frozenset[_Loop] = frozenset()

    def at(self, loop: _Loop) -> "_Cells":
        if self.space == "own":
            return self
        return _Cells(self.space, self.name, self.chosen | {loop})

    def part(self, k: Size) -> "_Cells":
        if self.space == "own":
            return self
        return _Cells(self.space, (self.name, k), self.chosen)


@dataclass(frozen=True, slots=True, eq=False)
class _Delayed:
    """A map that is computed where it is read, each time; of what it makes, a part of a tuple."""

    f: Lam
    xs: "Value"
    trips: Size
    env: "Env"
    path: tuple[int, ...] = ()

    def at(self, loop: _Loop) -> "_Delayed":
        return replace(self, xs=_each(self.xs, lambda inner: inner.at(loop)))

    def part(self, k: Size) -> "_Delayed":
        return replace(self, xs=_each(self.xs, lambda inner: inner.part(k)))


OWN = _Cells("own")
Value: TypeAlias = "_Cells | _Delayed | tuple[Value, ...]"
Env = Mapping[str, Value]


@dataclass(slots=True)
class _Walk:
    operations: list[Count] = field(default_factory=list)
    instructions: list[Count] = field(default_factory=list)
    staged: list[Count] = field(default_factory=list)
    seen: dict[tuple[_Cells, Type, Loops], None] = field(default_factory=dict)
    computed_in: set[tuple[_Delayed, Loops]] = field(default_factory=set)

    def value(self, e: Expr, env: Env, loops: Loops) -> Value:
        """Where the value of e lies; what making it takes is noted."""
        match e:
            case Var(name):
                return env.get(name, _Cells("global", name))
            case Store():
                return _Cells("global", e)
            case Binary() | Unary():
                return self.computed(e, env, loops)
            case Get(i, xs):
                return _component(self.value(xs, env, loops), i)
            case At(k, xs):
                return _each(self.value(xs, env, loops), lambda cells: cells.part(k))
            case MakeTuple(parts) | Zip(parts):
                return tuple(self.value(part, env, loops) for part in parts)
            case MakeArray(parts):
                for part in parts:
                    self.made(part, env, loops)
                return OWN
            case Concat(xs, ys):
                self.value(ys, env, loops)
                return self.value(xs, env, loops)
            case Reorder(_, xs):
                return self.value(xs, env, loops)
            case Let(p, value, body):
                return self.value(body, _bound(env, p, self.let(value, env, loops)), loops)
            case ToLocal(a):
                self.staged.append(tuple(o.trips for o in loops if not o.together))
                self.made(a, env, loops)
                return _Cells("local", e, frozenset(loops))
            case ToPrivate(a):
                return self.made(a, env, loops)
            case Map(f, xs):
                return self.delayed(f, self.value(xs, env, loops), size_of(xs), env, loops)
            case Generate(n, f):
                return self.delayed(f, OWN, n, env, loops)
            case MapSeq(f, xs, unrolled):
                return self.loop(f, xs, _Loop(size_of(xs), unrolled), env, loops)
            case MapPar(level, _, f, xs):
                return self.loop(f, xs, _Loop(size_of(xs), level=level), env, loops)
            case ReduceSeq(init, f, xs, unrolled):
                return self.fold(init, f, xs, _Loop(size_of(xs), unrolled), env, loops)
            case Reduce(init, f, xs):
                return self.fold(init, f, xs, _Loop(size_of(xs)), env, loops)
        inner = [self.value(c, env, loops) for c in children(e)]
        return inner[-1] if inner else OWN

    def computed(self, e: Expr, env: Env, loops: Loops) -> Value:
        for operand in children(e):
            self.made(operand, env, loops)
        if type_of(e) != INT:
            trips = tuple(o.trips for o in loops)
            self.instructions.append(trips)
            self.operations.append((*trips, _lanes(type_of(e))))
        return OWN

    def loop(self, f: Lam, xs: Expr, loop: _Loop, env: Env, loops: Loops) -> Value:
        given = _each(self.value(xs, env, loops), lambda inner: inner.at(loop))
        return self.made(f.body, _bound(env, f.pattern, given), (*loops, loop))

    def fold(self, init: Expr, f: Lam, xs: Expr, loop: _Loop, env: Env, loops: Loops) -> Value:
        self.made(init, env, loops)
        given = _each(self.value(xs, env, loops), lambda inner: inner.at(loop))
        return self.made(f.body, _bound(env, f.pattern, (OWN, given)), (*loops, loop))

    def delayed(self, f: Lam, xs: Value, trips: Size, env: Env, loops: Loops) -> Value:
        """A view lies where what it rearranges lies."""
        if is_view(f.body):
            return self.value(f.body, _bound(env, f.pattern, xs), loops)
        return _Delayed(f, xs, trips, env)

    def let(self, value: Expr, env: Env, loops: Loops) -> Value:
        """A let computes what would be delayed elsewhere."""
        found = self.value(value, env, loops)
        return self.made(value, env, loops) if isinstance(found, _Delayed) else found

    def made(self, e: Expr, env: Env, loops: Loops) -> Value:
        """The value of e, made where e stands."""
        self.read(self.value(e, env, loops), type_of(e), loops)
        return OWN

    def read(self, value: Value, type_: Type, loops: Loops) -> None:
        """A value is asked for in these loops; what is in memory is loaded once in each turn."""
        match value:
            case tuple(parts):
                for part, inner in zip(parts, _parts(type_), strict=True):
                    self.read(part, inner, loops)
            case _Delayed() if (value, loops) not in self.computed_in:
                self.computed_in.add((value, loops))
                self.compute(value, type_, loops)
            case _Cells(space) if space != "own" and isinstance(type_, Scalar | Vector):
                self.seen[value, type_, loops] = None

    def compute(self, value: _Delayed, type_: Type, loops: Loops) -> None:
        """One element where one is asked for, else all."""
        xs = value.xs
        if isinstance(type_, Array):
            loop = _Loop(value.trips)
            xs, type_, loops = _each(xs, lambda inner: inner.at(loop)), type_.elem, (*loops, loop)
        found = self.value(value.f.body, _bound(value.env, value.f.pattern, xs), loops)
        for k in value.path:
            found = _component(found, k)
        self.read(found, type_, loops)


def _component(value: Value, k: int) -> Value:
    """A part of a tuple."""
    match value:
        case tuple(parts):
            return parts[k]
        case _Delayed():
            return replace(value, path=(*value.path, k))
        case _Cells():
            return value.part(k)


def _parts(t: Type) -> tuple[Type, ...]:
    """Of an array of tuples, arrays."""
    match t:
        case Tuple(parts):
            return parts
        case Array(elem, n):
            return tuple(Array(part, n) for part in _parts(elem))
    raise AssertionError(f"{t} has no parts")


def _each(value: Value, change: Callable[[_Cells | _Delayed], Value]) -> Value:
    if isinstance(value, tuple):
        return tuple(_each(part, change) for part in value)
    return change(value)


def _bound(env: Env, p: Pattern, value: Value) -> Env:
    """The variables of a pattern, each with its part of the value."""
    if isinstance(p, Var):
        return {**env, p.name: value}
    for k, part in enumerate(p):
        env = _bound(env, part, _component(value, k))
    return env


def _lanes(t: Type) -> Size:
    return t.width if isinstance(t, Vector) else 1


def _bytes(t: Type) -> Size:
    scalar = t.scalar if isinstance(t, Vector) else t
    return BYTES[scalar.name] if isinstance(scalar, Scalar) else 0
