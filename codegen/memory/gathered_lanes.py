"""Kernels whose vectors are gathered from one short run of memory, by each turn of an unrolled loop
in another way: the run is loaded once, before the loop, and turns take their lanes from it.

So a vector over the channels of several groups gets its numbers: in turn i, lane l has number i of
the group of channel l, and the numbers of these groups are a run.
"""

# key: s statement, e value, w width, i index

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod

from codegen.index.index import Index, as_index, var
from codegen.index.substitute import coefficient, substitute
from codegen.memory.unrolled_registers import is_aligned
from codegen.tree.emitted_names import apart, in_use
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
)
from codegen.tree.value_builders import substituted
from ir.core.frozen import frozen

Loops = tuple[For, ...]  # the outermost first

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
        counts = tuple([loop.count for loop in inner])
        shape = (*counts, run.width)
        name = apart(f"{run.memory.name}run", "_", self.taken)
        memory = Memory(name, Space.PRIVATE, run.memory.scalar, prod(shape), shape=shape)
        named = {loop.var: apart(loop.var, "", self.taken) for loop in inner}
        turns = {loop.var: var(named[loop.var], 0, loop.count - 1) for loop in inner}
        place = as_index(0)
        for loop in inner:
            place = place * loop.count + var(loop.var, 0, loop.count - 1)
        place = place * run.width
        load = substituted(given(Load(run.memory, run.start, run.width)), {**turns})
        made: Statement = Store(memory, substitute(place, turns), load)
        for loop in reversed(inner):
            made = For(named[loop.var], loop.count, Block((made,)), Unroll.YES)
        self.statements += [Declare(memory), made]
        at = place + var(self.loop.var, 0, self.loop.count - 1) * run.step
        return Build(tuple([Load(memory, at + lane) for lane in run.lanes]), kind)


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
    global memory, or if they are not most of an aligned run."""
    loads = [part for part in e.parts if isinstance(part, Load)]
    first = loads[0] if loads else None
    if first is None or len(loads) < len(e.parts) or not _is_plain(first):
        return None
    if any(replace(load, index=first.index) != first for load in loads):
        return None
    step = coefficient(first.index, loop.var)
    starts = [substitute(load.index, {loop.var: 0}) for load in loads]
    apart_ = [start - starts[0] for start in starts]
    if not step or step < 0 or any(not each.is_constant for each in apart_):
        return None
    if any(coefficient(load.index, loop.var) != step for load in loads):
        return None
    least = min(each.constant for each in apart_)
    lowest = starts[0] + least
    for width in WIDTHS:
        over = lowest.constant % width
        lanes = tuple([each.constant - least + over for each in apart_])
        numbers = {lane + step * turn for lane in lanes for turn in range(loop.count)}
        whole = is_aligned(lowest - over, width) and first.memory.elements % width == 0
        if whole and max(numbers) < width and 2 * len(numbers) > width:
            return _Run(first.memory, lowest - over, width, lanes, step)
    return None


def _is_plain(e: Load) -> bool:
    return e.memory.space is Space.GLOBAL and e.width == 1 and e.half is None
