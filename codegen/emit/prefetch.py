"""Software pipelining: what the next iterations of a loop need from global memory is loaded during
this one.

A `toLocal` marked `ahead` at the head of a reduction's body gets two halves of local memory. Each
iteration first loads the next one's elements into private memory, then computes on its own half,
then puts what it loaded into the other half: one barrier an iteration. Copies in flight go to the
other half at once. Where they are begun several iterations ahead, there is a part of local memory
for each of these and one more, and each iteration awaits what the next one needs, and no later
copies.
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
from codegen.index.condition import Condition, less
from codegen.index.index import Index, assume, constant
from codegen.memory.begun_copies import begins, begun
from codegen.tree.array_axes import bare
from codegen.tree.statements import (
    Await,
    Block,
    Declare,
    block,
)
from ir.core.frozen import frozen
from ir.core.loaded_ahead import at_once, loaded_ahead
from ir.core.nodes import Expr, Lam, Pattern, ToLocal, Var
from ir.errors import Unsupported


@frozen
class Tile:
    """A let at the head of a loop's body whose term is loaded so many iterations `ahead`: the
    pattern that it binds, the term `given`, and the place of all parts of the local memory for it.
    If it is `in_flight`, it is copied to its part without waiting in private memory."""

    pattern: Pattern
    given: Expr
    place: Place
    ahead: int
    in_flight: bool

    def part(self, k: Index) -> Place:
        """The place of the part of local memory that holds the tile of iteration k."""
        return in_half(self.place, bare(k) % (1 + self.ahead))


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

    @property
    def later(self) -> int:
        """The number of groups of copies that may be under way at the end of an iteration: those
        for iterations after the next. None may where all copies are begun before the loop."""
        ahead = [tile.ahead for tile in self.tiles]
        return min(ahead) - 1 if max(ahead) < self.xs.axis.size else 0

    def prologue(self) -> None:
        """Add the statements that load the tiles of the first iterations."""
        for k in range(max(tile.ahead for tile in self.tiles)):
            ours = [tile for tile in self.tiles if k < min(tile.ahead, self.xs.axis.size)]
            begun = [self.fill(tile, constant(k), tile.in_flight) for tile in ours]
            if any(begun):
                self.scope.add(Await(self.later))

    def fill(self, tile: Tile, k: Index, in_flight: bool = False) -> bool:
        """Add the statements that load a tile of iteration k; True if they begin copies."""
        env = bound(self.env, self.element, self.xs.at(k))
        if in_flight:
            return making.begin(self.emitter, tile.given, env, tile.part(k))
        self.emitter.emit(tile.given, env, tile.part(k))
        return False

    def views(self, env: Env, k: Index) -> Env:
        """The environment `env` with the pattern of each tile bound to the part of its local memory
        that holds the tile of iteration k."""
        for tile in self.tiles:
            env = bound(env, tile.pattern, view_of(tile.part(k)))
        return env

    def around(self, k: Index, compute: Callable[[], None]) -> None:
        """Add statements that load for iterations after k, then compute iteration k, then store
        what was loaded, and await copies that iteration k + 1 needs."""
        n = self.xs.axis.size
        kept, copies = list[tuple[Condition, Block]](), False
        for ahead in sorted({tile.ahead for tile in self.tiles if tile.ahead < n}):
            following = assume(k + ahead, ahead, n - 1)
            ours = [tile for tile in self.tiles if tile.ahead == ahead]
            staged = [self.staged(tile, following) for tile in ours]
            loads = [s for load, _ in staged for s in load.statements]
            for s in loads:
                if isinstance(s, Declare):
                    self.scope.add(s)
            rest = block([s for s in loads if not isinstance(s, Declare)])
            self.under(less(k + ahead, n), rest)
            keep = block([s for _, keep in staged for s in keep.statements])
            kept.append((less(k + ahead, n), keep))
            copies |= begins(rest)
        compute()
        for more, keep in kept:
            self.under(more, keep)
        if copies or self.later:
            self.scope.add(Await(self.later))

    def under(self, condition: Condition, body: Block) -> None:
        self.scope.when(condition, lambda: self.scope.add(body))

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
    return Pipeline(emitter, f.pattern[1], xs, env, tuple(_tile(emitter, *t) for t in found)), rest


def _tile(emitter: Recursion, p: Pattern, tile: ToLocal) -> Tile:
    """The tile that p is bound to, with local memory for each iteration that it is loaded ahead,
    and for one more."""
    if tile.ahead > 1 and not tile.in_flight:
        raise Unsupported("expected copies in flight several iterations ahead, found loads")
    place = making.local(emitter, tile.e, hint_of(p), halves=1 + tile.ahead)
    return Tile(p, tile.e, place, tile.ahead, tile.in_flight)


def in_half(place: Place, half: Index) -> Place:
    """The place with all its cells moved into one part of their memory: the one with the number
    `half`, from 0."""
    match place:
        case Cell() as cell:
            return replace(cell, half=half)
        case Scatter(cells):
            return Scatter(tuple(replace(c, half=half) for c in cells))
        case TuplePlace(parts):
            return TuplePlace(tuple(in_half(p, half) for p in parts))
        case ArrayPlace(axis, at):
            return ArrayPlace(axis, lambda i: in_half(at(i), half))
