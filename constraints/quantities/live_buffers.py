"""Which local and private buffers of a kernel are live at the same time.

A value made real lives from where it is made to the end of the `let` (or the function) that reads
it; a result with a place to go (an output, an accumulator, another buffer) needs none of its own.
"""

# key: e term, b buffer, p pattern

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from constraints.quantities.origin import brief
from constraints.quantities.value_bytes import bytes_of, share
from ir.core.loaded_ahead import loaded_ahead
from ir.core.nodes import (
    AsScalar,
    AsVector,
    Expr,
    Generate,
    Instruct,
    Join,
    Lam,
    Let,
    Level,
    MakeArray,
    MakeTuple,
    Map,
    MapPar,
    MapSeq,
    Pad,
    PadEdge,
    Pattern,
    Reduce,
    ReduceSeq,
    Reorder,
    Split,
    ToLocal,
    ToPrivate,
    Transpose,
    Var,
    Zip,
)
from ir.core.size import Size
from ir.core.terms import children, variables
from ir.core.type_rules import size_of, type_of
from ir.core.views import is_layout


class Space(Enum):
    """Who shares a buffer."""

    LOCAL = "local"
    PRIVATE = "private"


class Place(Enum):
    """Whether a result has somewhere to go."""

    NONE = "none"
    MEMORY = "memory"
    PRIVATE = "private"  # in place: an accumulator needs no other


@dataclass(frozen=True, slots=True)
class Buffer:
    """Memory that a kernel holds for a while."""

    number: int
    space: Space
    bytes: Size
    origin: str
    alone: bool = False  # its storage serves nothing else


Live = frozenset[Buffer]
Env = Mapping[str, Live]
NOTHING: Live = frozenset()


@dataclass(frozen=True, slots=True)
class Use:
    """What a value needs while it is used, and the largest sets live while it is made."""

    hold: Live
    peaks: frozenset[Live]


Counts = Mapping[int, Size]


def live_sets(kernel: Expr, counts: Counts) -> frozenset[Live]:
    """The largest sets of buffers that are live together while a kernel runs; `counts`: how many
    work-items a group has along each dimension, where that is one size."""
    return _Walk(counts).use(kernel, {}, Place.MEMORY, 1).peaks


def _maximal(sets: Iterable[Live]) -> frozenset[Live]:
    every = set(sets)
    return frozenset(s for s in every if not any(s < other for other in every))


def _after(*steps: Use) -> Use:
    """One step after the other, each held while the later ones are made."""
    held, peaks = NOTHING, [NOTHING]
    for step in steps:
        peaks += [held | peak for peak in step.peaks]
        held |= step.hold
        peaks.append(held)
    return Use(held, _maximal(peaks))


def _during(held: Live, use: Use) -> frozenset[Live]:
    return _maximal([held, *(held | peak for peak in use.peaks)])


def _bound(env: Env, p: Pattern, hold: Live) -> Env:
    return {**env, **{v.name: hold for v in variables(p)}}


@dataclass(slots=True)
class _Walk:
    counts: Counts
    made: list[Buffer] = field(default_factory=list)
    ahead: list[ToLocal] = field(default_factory=list)  # what loops load ahead, in two halves

    def buffer(self, space: Space, size: Size, e: Expr, alone: bool = False) -> Live:
        b = Buffer(len(self.made), space, size, brief(e), alone)
        self.made.append(b)
        return frozenset({b})

    def use(self, e: Expr, env: Env, to: Place, items: Size) -> Use:
        """`items`: how many work-items of the group stand here apart."""
        match e:
            case Var(name, _):
                return Use(env.get(name, NOTHING), frozenset({env.get(name, NOTHING)}))
            case Let(p, value, body):
                return self.let(p, value, body, env, to, items)
            case ToLocal(a):
                ahead = any(e is tile for tile in self.ahead)
                size = bytes_of(type_of(a)) * items * (2 if ahead else 1)
                own = self.buffer(Space.LOCAL, size, e, alone=ahead)
                return self.real(own, a, env, Place.MEMORY, items)
            case ToPrivate(a) if to is Place.PRIVATE:
                return self.use(a, env, to, items)
            case ToPrivate(a):
                own = self.buffer(Space.PRIVATE, share(a), e)
                return self.real(own, a, env, Place.PRIVATE, items)
            case Instruct(_, parts) if to is Place.NONE:
                own = self.buffer(Space.PRIVATE, share(e), e)
                operands = _after(*(self.use(part, env, Place.NONE, items) for part in parts))
                return Use(own, _during(own, operands))
            case MapSeq() | MapPar():
                return self.loop(e, env, to, items)
            case ReduceSeq(init, f, xs, _) | Reduce(init, f, xs):
                return self.fold(e, init, f, xs, env, to, items)
            case Map(f, xs):
                return self.delayed(e, f, xs, env, to, items)
            case Generate(_, f):
                return self.use(f.body, env, Place.NONE, items)
        inner = to if isinstance(e, INVERTIBLE) else Place.NONE
        return _after(*(self.use(c, env, inner, items) for c in children(e)))

    def let(self, p: Pattern, value: Expr, body: Expr, env: Env, to: Place, items: Size) -> Use:
        first = self.given(value, env, items)
        inner = self.use(body, _bound(env, p, first.hold), to, items)
        return Use(inner.hold, _maximal([*first.peaks, *_during(first.hold, inner)]))

    def given(self, value: Expr, env: Env, items: Size) -> Use:
        """A let computes a map or a list that would be delayed elsewhere."""
        if isinstance(value, Map | MakeArray) and not is_layout(value):
            own = self.buffer(Space.PRIVATE, share(value), value)
            return self.real(own, value, env, Place.PRIVATE, items)
        return self.use(value, env, Place.NONE, items)

    def real(self, own: Live, a: Expr, env: Env, to: Place, items: Size) -> Use:
        return Use(own, _during(own, self.use(a, env, to, items)))

    def loop(self, e: MapSeq | MapPar, env: Env, to: Place, items: Size) -> Use:
        own = self.buffer(Space.PRIVATE, share(e), e) if to is Place.NONE else NOTHING
        xs = self.use(e.xs, env, Place.NONE, items)
        if isinstance(e, MapPar) and e.level is Level.LOCAL:
            items = items * self.counts.get(e.dim, size_of(e.xs))
        target = Place.PRIVATE if to is Place.NONE else to
        body = self.use(e.f.body, _bound(env, e.f.pattern, xs.hold), target, items)
        return Use(own, _maximal([*_during(own, xs), *_during(own | xs.hold, body)]))

    def fold(self, e: Expr, init: Expr, f: Lam, xs: Expr, env: Env, to: Place, items: Size) -> Use:
        own = NOTHING if to is Place.PRIVATE else self.buffer(Space.PRIVATE, share(f.body), e)
        start = self.use(init, env, Place.PRIVATE, items)
        over = self.use(xs, env, Place.NONE, items)
        ahead = [tile for _, tile in loaded_ahead(f)[0]]
        self.ahead += ahead
        inside = env
        if isinstance(f.pattern, tuple):
            inside = _bound(_bound(env, f.pattern[0], own), f.pattern[1], over.hold)
        body = self.use(f.body, inside, Place.PRIVATE, items)
        staged = NOTHING.union(*(self.staged(tile) for tile in ahead))
        held = own | over.hold | staged
        peaks = [*_during(own, start), *_during(own, over), *_during(held, body)]
        return Use(own, _maximal(peaks))

    def staged(self, tile: ToLocal) -> Live:
        """What is loaded ahead waits in private memory until its half is free."""
        return self.buffer(Space.PRIVATE, share(tile.e), tile)

    def delayed(self, e: Expr, f: Lam, xs: Expr, env: Env, to: Place, items: Size) -> Use:
        """Computed where it is read, or written to its place; rows are rearranged in place."""
        rows = Place.NONE if to is Place.NONE or not is_chain(f.body) else to
        over = self.use(xs, env, rows, items)
        body = self.use(f.body, _bound(env, f.pattern, over.hold), to, items)
        return _after(over, body)


INVERTIBLE = (Join, Split, Transpose, Reorder, AsScalar, AsVector, Pad, PadEdge, MakeTuple, Zip)


def is_chain(e: Expr) -> bool:
    """A chain of views of one variable."""
    if isinstance(e, Map):
        return is_chain(e.f.body) and is_chain(e.xs)
    return isinstance(e, Var) or (isinstance(e, INVERTIBLE) and is_chain(children(e)[-1]))
