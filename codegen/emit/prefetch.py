"""Software pipelining: what the next iteration of a loop needs from global memory is loaded during
this one.

A `toLocal` marked `ahead` at the head of a reduction's body gets two halves of local memory. Each
iteration first loads the next one's elements into private memory, then computes on its own half,
then puts what it loaded into the other half: one barrier an iteration.
"""

# key: k iteration, n trip count, s statement

from collections.abc import Callable
from dataclasses import dataclass, replace

from codegen.emit import materialise as making
from codegen.emit.bound_values import Env, bound, hint_of
from codegen.emit.load_then_store import Stage
from codegen.emit.read_views import ArrayView
from codegen.emit.recursion import Recursion
from codegen.emit.scope import Scope
from codegen.emit.write_places import ArrayPlace, Cell, Place, Scatter, TuplePlace, view_of
from codegen.index.condition import less
from codegen.index.index import Index, assume, constant
from codegen.memory.begun_copies import begins, begun
from codegen.tree.array_axes import bare
from codegen.tree.statements import (
    Await,
    Block,
    Declare,
    block,
)
from ir.core.loaded_ahead import at_once, loaded_ahead
from ir.core.nodes import Expr, Lam, Pattern, Var


@dataclass(frozen=True, slots=True)
class Tile:
    """A let at the head of a loop's body whose term is loaded ahead: the pattern that it binds, the
    term `given`, and the place of both halves of the local memory for it. If it is `in_flight`, it
    is copied to its half without waiting in private memory."""

    pattern: Pattern
    given: Expr
    place: Place
    in_flight: bool


@dataclass(slots=True)
class Pipeline:
    """The loads of a reduction over xs that run one iteration ahead: those of the terms in `tiles`.
    `element` is the pattern that the reduction's function binds to an element of xs."""

    emitter: Recursion
    element: Pattern
    xs: ArrayView
    env: Env
    tiles: tuple[Tile, ...]

    @property
    def scope(self) -> Scope:
        return self.emitter.scope

    def prologue(self) -> None:
        """Add the statements that load the tiles of the first iteration."""
        for tile in self.tiles:
            self.fill(tile, constant(0), tile.in_flight)

    def fill(self, tile: Tile, k: Index, in_flight: bool = False) -> None:
        env = bound(self.env, self.element, self.xs.at(k))
        making.fill(self.emitter, tile.given, env, in_half(tile.place, bare(k) % 2), in_flight)

    def views(self, env: Env, k: Index) -> Env:
        """The environment `env` with the pattern of each tile bound to the half of its local memory
        that holds the tile of iteration k."""
        for tile in self.tiles:
            env = bound(env, tile.pattern, view_of(in_half(tile.place, bare(k) % 2)))
        return env

    def around(self, k: Index, compute: Callable[[], None]) -> None:
        """Add statements that load for iteration k + 1, then compute iteration k, then store what
        was loaded, and await copies that were begun."""
        n = self.xs.axis.size
        following = assume(k + 1, 1, n - 1)
        staged = [self.staged(tile, following) for tile in self.tiles]
        more = less(k + 1, n)
        loads = [s for load, _ in staged for s in load.statements]
        for s in loads:
            if isinstance(s, Declare):
                self.scope.add(s)
        rest = block([s for s in loads if not isinstance(s, Declare)])
        self.scope.when(more, lambda: self.scope.add(rest))
        compute()
        keep = block([s for _, keep in staged for s in keep.statements])
        self.scope.when(more, lambda: self.scope.add(keep))
        if begins(rest):
            self.scope.add(Await())

    def staged(self, tile: Tile, k: Index) -> tuple[Block, Block]:
        _, filling = self.scope.capture(lambda: self.fill(tile, k))
        if tile.in_flight:
            return begun(filling), Block(())
        return Stage(self.scope, f"next_{hint_of(tile.pattern)}").split(filling)


def pipeline(emitter: Recursion, f: Lam, xs: ArrayView, env: Env) -> tuple[Pipeline | None, Expr]:
    """The pipeline of the tiles that the body of f loads ahead, and the rest of the body. The
    pipeline is None if there are no such tiles, or if xs has one element: then the body loads them
    at once."""
    found, rest = loaded_ahead(f)
    if not found or isinstance(f.pattern, Var):
        return None, f.body
    if xs.axis.size < 2:
        return None, at_once(f.body)
    tiles = [
        Tile(p, tile.e, making.local(emitter, tile.e, hint_of(p), halves=2), tile.in_flight)
        for p, tile in found
    ]
    return Pipeline(emitter, f.pattern[1], xs, env, tuple(tiles)), rest


def in_half(place: Place, half: Index) -> Place:
    """The place with all its cells moved into one half of their memory: the one with the number
    `half`, 0 or 1."""
    match place:
        case Cell() as cell:
            return replace(cell, half=half)
        case Scatter(cells):
            return Scatter(tuple(replace(c, half=half) for c in cells))
        case TuplePlace(parts):
            return TuplePlace(tuple(in_half(p, half) for p in parts))
        case ArrayPlace(axis, at):
            return ArrayPlace(axis, lambda i: in_half(at(i), half))
