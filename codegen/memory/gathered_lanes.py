"""Kernels whose vectors are gathered from a short stretch of memory, by each turn of an unrolled
loop in another way: the stretch is loaded once, before the loop, and turns take their lanes from
it.

So a vector over the channels of several groups gets its numbers: in turn i, lane l has number i of
the group of channel l, and the numbers of these groups lie side by side.
"""

# key: s statement, e value

from dataclasses import dataclass, field, replace

from codegen.index.index import var
from codegen.index.substitute import coefficient, substitute
from codegen.memory.kept_for_turns import Loops, computed, kept
from codegen.memory.unrolled_registers import is_aligned
from codegen.tree.emitted_names import in_use
from codegen.tree.kernel_values import Broadcast, Build, Kind, Load, Number, Select, Value, kind_of
from codegen.tree.memories import Memory, Space
from codegen.tree.statements import (
    Block,
    Declare,
    For,
    If,
    Kernel,
    Statement,
    Store,
    Unroll,
    block,
    remembered,
)
from ir.core.frozen import frozen

WIDTHS = (4, 8, 16)  # of vectors that hold a stretch, the narrowest first


@remembered
def with_stretches_loaded(kernel: Kernel) -> Kernel:
    """The kernel in which a stretch of global memory that vectors are gathered from, lane by lane,
    in all turns of an unrolled loop is loaded before the loop as one vector."""
    body = _block(kernel.body, frozenset(kernel.reads) - {*kernel.writes}, in_use(kernel))
    return kernel if body == kernel.body else replace(kernel, body=body)


@frozen
class _Stretch:
    """The numbers that a gathered vector takes its lanes from, as one aligned `load`: in turn t,
    lane l is number lanes[l] + step * t of them."""

    load: Load
    lanes: tuple[int, ...]
    step: int


@dataclass(slots=True)
class _Ahead:
    """The stretches of the memories `given` that are loaded before an unrolled loop, by the
    `statements` so far. `taken` are the names in use."""

    loop: For
    given: frozenset[Memory]
    taken: set[str]
    statements: list[Statement] = field(default_factory=list)

    def turn(self, body: Block, inner: Loops) -> Block:
        """The statements of a turn, or of the loops `inner` in one, with vectors gathered from what
        is loaded before."""
        return Block(tuple([self.statement(s, inner) for s in body.statements]))

    def statement(self, s: Statement, inner: Loops) -> Statement:
        match s:
            case For(_, _, body, Unroll.YES):
                return replace(s, body=self.turn(body, (*inner, s)))
            case Store(memory, _, value) if memory.space is Space.PRIVATE:
                return replace(s, value=self.value(value, inner))
        return s

    def value(self, e: Value, inner: Loops) -> Value:
        """The value e; if it is a gathered vector, or numbers where a condition fails, its lanes
        are those of the stretch that is loaded before the loop."""
        match e:
            case Build() if stretch := self.stretch(e):
                return self.gathered(stretch, stretch.load, e.kind, inner)
            case Select(condition, Build() as build, Broadcast(Number() as n)):
                if self.loop.var not in condition.names and (stretch := self.stretch(build)):
                    zeros = Broadcast(n, kind_of(stretch.load))
                    chosen = Select(condition, stretch.load, zeros)
                    return self.gathered(stretch, chosen, build.kind, inner)
        return e

    def gathered(self, stretch: _Stretch, loaded: Value, kind: Kind, inner: Loops) -> Build:
        """The vector of a kind that takes its lanes from a stretch; `loaded` is what is loaded of
        that before the loop."""
        place = kept(f"{stretch.load.memory.name}stretch", kind_of(loaded), inner, self.taken)
        self.statements += [Declare(place.memory), computed([(loaded, place)], self.taken)]
        first = place.here().index + var(self.loop.var, 0, self.loop.count - 1) * stretch.step
        return Build(tuple([Load(place.memory, first + lane) for lane in stretch.lanes]), kind)

    def stretch(self, e: Build) -> _Stretch | None:
        """The stretch that the lanes of e come from in all turns of the loop; None if they are no
        numbers of one memory that is given, or not all of an aligned stretch."""
        loads = [part for part in e.parts if isinstance(part, Load)]
        if len(loads) < len(e.parts):
            return None
        memory = loads[0].memory
        if not all(self.plain(load, memory) for load in loads):
            return None
        steps = {coefficient(load.index, self.loop.var) for load in loads}
        starts = [substitute(load.index, {self.loop.var: 0}) for load in loads]
        further = [start - starts[0] for start in starts]
        step = steps.pop()
        if steps or not step or step < 0 or not all(each.is_constant for each in further):
            return None
        least = min(each.constant for each in further)
        for width in WIDTHS:
            over = (starts[0].constant + least) % width
            start = starts[0] + least - over
            lanes = tuple([each.constant - least + over for each in further])
            numbers = {lane + step * turn for lane in lanes for turn in range(self.loop.count)}
            whole = is_aligned(start, width) and memory.elements % width == 0
            if whole and max(numbers) < width and len(numbers) == width:
                return _Stretch(Load(memory, start, width), lanes, step)
        return None

    def plain(self, e: Load, memory: Memory) -> bool:
        """True if e loads one number of this memory, which is given."""
        return memory in self.given and (e.memory, e.width, e.half) == (memory, 1, None)


def _block(body: Block, given: frozenset[Memory], taken: set[str]) -> Block:
    return block([each for s in body.statements for each in _statement(s, given, taken)])


def _statement(s: Statement, given: frozenset[Memory], taken: set[str]) -> list[Statement]:
    """The statements in the place of s: what is loaded before it, if it is an unrolled loop, and s
    itself, as it then is. Only memories that are `given`, and not written, are loaded from."""
    match s:
        case Block():
            return [_block(s, given, taken)]
        case For(_, count, body, Unroll.YES) if count <= WIDTHS[-1]:
            ahead = _Ahead(s, given, taken)
            turn = ahead.turn(body, ())
            return [*ahead.statements, replace(s, body=_block(turn, given, taken))]
        case For(_, _, body, _) | If(_, body):
            return [replace(s, body=_block(body, given, taken))]
    return [s]
