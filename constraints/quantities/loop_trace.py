"""Where the values of a kernel lie, and in which loops it computes, loads and stages them."""

# key: e term, p pattern

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from ir.core.nodes import (
    At,
    Binary,
    Concat,
    Expr,
    Generate,
    Get,
    Instruct,
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
    ToLocal,
    ToPrivate,
    Unary,
    Var,
    Zip,
)
from ir.core.size import Size
from ir.core.terms import children
from ir.core.type_rules import size_of, type_of
from ir.core.types import INT, Array, Scalar, Tuple, Type, Vector
from ir.core.views import is_view


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A map or a reduction around a place."""

    trips: Size
    unrolled: bool = False
    level: Level | None = None
    dim: int = 0

    @property
    def together(self) -> bool:
        """Whether a group goes through its turns, or some of them, at once."""
        return self.unrolled or self.level in (Level.LOCAL, Level.GLOBAL)


Loops = tuple[Loop, ...]


@dataclass(frozen=True, slots=True)
class Cells:
    """Where the scalars of a value lie, and the loops whose turns choose them."""

    space: str  # global, local or own
    name: object = None
    chosen: frozenset[Loop] = frozenset()

    def at(self, loop: Loop) -> "Cells":
        if self.space == "own":
            return self
        return Cells(self.space, self.name, self.chosen | {loop})

    def part(self, k: Size) -> "Cells":
        if self.space == "own":
            return self
        return Cells(self.space, (self.name, k), self.chosen)


@dataclass(frozen=True, slots=True, eq=False)
class Delayed:
    """A map that is computed where it is read, each time; of what it makes, a part of a tuple."""

    f: Lam
    xs: "Value"
    trips: Size
    env: "Env"
    path: tuple[int, ...] = ()

    def at(self, loop: Loop) -> "Delayed":
        return replace(self, xs=_each(self.xs, lambda inner: inner.at(loop)))

    def part(self, k: Size) -> "Delayed":
        return replace(self, xs=_each(self.xs, lambda inner: inner.part(k)))


OWN = Cells("own")
Value: TypeAlias = "Cells | Delayed | tuple[Value, ...]"
Env = Mapping[str, Value]


@dataclass(slots=True)
class Trace:
    """What is noted on the way through a term."""

    computed: list[tuple[Type, Loops]] = field(default_factory=list)  # operations on floats
    staged: list[Loops] = field(default_factory=list)  # local memory is filled
    loaded: dict[tuple[Cells, Type, Loops], None] = field(default_factory=dict)
    computed_in: set[tuple[Delayed, Loops]] = field(default_factory=set)

    def value(self, e: Expr, env: Env, loops: Loops) -> Value:
        """Where the value of e lies; what making it takes is noted."""
        match e:
            case Var(name):
                return env.get(name, Cells("global", name))
            case Binary() | Unary():
                return self.operation(e, env, loops)
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
                self.staged.append(loops)
                self.made(a, env, loops)
                return Cells("local", e, frozenset(loops))
            case ToPrivate(a):
                return self.made(a, env, loops)
            case Instruct(instruction, parts):
                given = tuple(self.made(part, env, loops) for part in parts)
                meaning = instruction.meaning
                return self.made(meaning.body, _bound(env, meaning.pattern, given), loops)
            case Map(f, xs):
                return self.delayed(f, self.value(xs, env, loops), size_of(xs), env, loops)
            case Generate(n, f):
                return self.delayed(f, OWN, n, env, loops)
            case MapSeq(f, xs, unrolled):
                return self.loop(f, xs, Loop(size_of(xs), unrolled), env, loops)
            case MapPar(level, dim, f, xs):
                return self.loop(f, xs, Loop(size_of(xs), False, level, dim), env, loops)
            case ReduceSeq(init, f, xs, unrolled):
                return self.fold(init, f, xs, Loop(size_of(xs), unrolled), env, loops)
            case Reduce(init, f, xs):
                return self.fold(init, f, xs, Loop(size_of(xs)), env, loops)
        inner = [self.value(c, env, loops) for c in children(e)]
        return inner[-1] if inner else OWN

    def operation(self, e: Expr, env: Env, loops: Loops) -> Value:
        for operand in children(e):
            self.made(operand, env, loops)
        if type_of(e) != INT:
            self.computed.append((type_of(e), loops))
        return OWN

    def loop(self, f: Lam, xs: Expr, loop: Loop, env: Env, loops: Loops) -> Value:
        given = _each(self.value(xs, env, loops), lambda inner: inner.at(loop))
        return self.made(f.body, _bound(env, f.pattern, given), (*loops, loop))

    def fold(self, init: Expr, f: Lam, xs: Expr, loop: Loop, env: Env, loops: Loops) -> Value:
        self.made(init, env, loops)
        given = _each(self.value(xs, env, loops), lambda inner: inner.at(loop))
        return self.made(f.body, _bound(env, f.pattern, (OWN, given)), (*loops, loop))

    def delayed(self, f: Lam, xs: Value, trips: Size, env: Env, loops: Loops) -> Value:
        """A view lies where what it rearranges lies."""
        if is_view(f.body):
            return self.value(f.body, _bound(env, f.pattern, xs), loops)
        return Delayed(f, xs, trips, env)

    def let(self, value: Expr, env: Env, loops: Loops) -> Value:
        """A let computes what would be delayed elsewhere."""
        found = self.value(value, env, loops)
        return self.made(value, env, loops) if isinstance(found, Delayed) else found

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
            case Delayed() if (value, loops) not in self.computed_in:
                self.computed_in.add((value, loops))
                self.compute(value, type_, loops)
            case Cells(space) if space != "own" and isinstance(type_, Scalar | Vector):
                self.loaded[value, type_, loops] = None

    def compute(self, value: Delayed, type_: Type, loops: Loops) -> None:
        """One element where one is asked for, else all."""
        xs = value.xs
        if isinstance(type_, Array):
            loop = Loop(value.trips)
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
        case Delayed():
            return replace(value, path=(*value.path, k))
        case Cells():
            return value.part(k)


def _parts(t: Type) -> tuple[Type, ...]:
    """Of an array of tuples, arrays."""
    match t:
        case Tuple(parts):
            return parts
        case Array(elem, n):
            return tuple(Array(part, n) for part in _parts(elem))
    raise AssertionError(f"{t} has no parts")


def _each(value: Value, change: Callable[[Cells | Delayed], Value]) -> Value:
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
