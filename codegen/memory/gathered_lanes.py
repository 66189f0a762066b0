"""Kernels whose vectors are gathered from one short run of memory, by each turn of an unrolled loop
in another way: the run is loaded once, before the loop, and turns take their lanes from it.

So a vector over the channels of several groups gets its numbers: in turn i, lane l has number i of
the group of channel l, and the numbers of these groups are a run.
"""

# key: s statement, e value, w width, i index

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from codegen.index.index import Index, var
from codegen.index.substitute import coefficient, substitute
from codegen.memory.kept_for_turns import Loops, computed, kept
from codegen.memory.unrolled_registers import is_aligned
from codegen.tree.emitted_names import in_use
from codegen.tree.statements import (
    Block,
    Broadcast,
    Build,
    Declare,
    For,
    If,
    Kernel,
    Kind,
    Load,
    Memory,
    Number,
    Select,
    Space,
    Statement,
    Store,
    Unroll,
    Value,
    block,
    remembered,
    statements,
)
from ir.core.frozen import frozen

WIDTHS = (4, 8, 16)  # of vectors that hold a run, the narrowest first


@remembered
def with_runs_loaded(kernel: Kernel) -> Kernel:
    """The kernel in which a run of global memory that the vectors of all turns of an unrolled loop
    are gathered from, lane by lane, is loaded before the loop as one vector."""
    body = _block(kernel.body, in_use(kernel))
    return kernel if body == kernel.body else replace(kernel, body=body)


@frozen
class _Run:
    """The `width` numbers of a memory from `start` on, a multiple of `width`, that a gathered
    vector takes its lanes from: in turn t, lane l is number lanes[l] + step * t of them."""

    memory: Memory
    start: Index
    width: int
    lanes: tuple[int, ...]
    step: int


@dataclass(slots=True)
class _Before:
    """What is loaded before the loop `loop`: the statements so far. `taken` are the names in
    use."""

    loop: For
    taken: set[str]
    statements: list[Statement] = field(default_factory=list)

    def turn(self, body: Block, inner: Loops) -> Block:
        """The statements of a turn, or of the loops `inner` in one, with vectors gathered from what
        is loaded before."""
        return Block(tuple([self.statement(s, inner) for s in body.statements]))

    def statement(self, s: Statement, inner: Loops) -> Statement:
        match s:
            case For(_, _, body, Unroll.YES | Unroll.FREE):
                return replace(s, body=self.turn(body, (*inner, s)))
            case Store(memory, _, value) if memory.space is Space.PRIVATE:
                return replace(s, value=self.value(value, inner))
        return s

    def value(self, e: Value, inner: Loops) -> Value:
        """The value e; if it is a gathered vector, or numbers where a condition fails, its lanes
        are those of the run that is loaded before the loop."""
        match e:
            case Build() if (run := _run(e, self.loop)) is not None:
                return self.loaded(run, e.kind, inner, lambda load: load)
            case Select(condition, Build() as build, Broadcast(Number() as n)):
                run = None if self.loop.var in condition.names else _run(build, self.loop)
                if run is not None:
                    zeros = Broadcast(n, Kind(build.kind.scalar, run.width))
                    chosen = partial(Select, condition, b=zeros)
                    return self.loaded(run, build.kind, inner, chosen)
        return e

    def loaded(self, run: _Run, kind: Kind, inner: Loops, given: Callable[[Load], Value]) -> Build:
        """The vector of a kind whose lanes are numbers of a run, of which `given` makes what is
        loaded before the loop."""
        vector = Kind(run.memory.scalar, run.width)
        place = kept(f"{run.memory.name}run", vector, inner, self.taken)
        value = given(Load(run.memory, run.start, run.width))
        self.statements += [Declare(place.memory), computed([(value, place)], self.taken)]
        first = place.here().index + var(self.loop.var, 0, self.loop.count - 1) * run.step
        return Build(tuple([Load(place.memory, first + lane) for lane in run.lanes]), kind)


def _block(body: Block, taken: set[str]) -> Block:
    return block([each for s in body.statements for each in _statement(s, taken)])


def _statement(s: Statement, taken: set[str]) -> list[Statement]:
    match s:
        case Block():
            return [_block(s, taken)]
        case For(_, count, body, Unroll.YES) if count <= WIDTHS[-1]:
            before = _Before(s, taken)
            turn = before.turn(body, ())
            return [*before.statements, replace(s, body=_block(turn, taken))]
        case For(_, _, body, _) | If(_, body):
            return [replace(s, body=_block(body, taken))]
    return [s]


def _run(e: Build, loop: For) -> _Run | None:
    """The run that the lanes of e come from in all turns of a loop; None if they are no numbers of
    one global memory that the loop leaves as it is, or if they are not most of an aligned run."""
    loads = [part for part in e.parts if isinstance(part, Load)]
    if len(loads) < len(e.parts) or not all(_is_plain(load, loads[0].memory) for load in loads):
        return None
    memory, steps = loads[0].memory, {coefficient(load.index, loop.var) for load in loads}
    starts = [substitute(load.index, {loop.var: 0}) for load in loads]
    further = [start - starts[0] for start in starts]
    step = steps.pop()
    if steps or not step or step < 0 or not all(each.is_constant for each in further):
        return None
    if any(isinstance(s, Store) and s.memory is memory for s in statements(loop)):
        return None
    least = min(each.constant for each in further)
    for width in WIDTHS:
        over = (starts[0].constant + least) % width
        start = starts[0] + least - over
        lanes = tuple([each.constant - least + over for each in further])
        numbers = {lane + step * turn for lane in lanes for turn in range(loop.count)}
        whole = is_aligned(start, width) and memory.elements % width == 0
        if whole and max(numbers) < width and 2 * len(numbers) > width:
            return _Run(memory, start, width, lanes, step)
    return None


def _is_plain(e: Load, memory: Memory) -> bool:
    """True if e loads one number of this memory, a global one."""
    return memory.space is Space.GLOBAL and (e.memory, e.width, e.half) == (memory, 1, None)
