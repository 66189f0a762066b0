"""Kernels whose lanes gather what they give to an instruction a turn ahead of its products."""

# key: s statement, e value, g gathered value

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from math import prod

from codegen.index.index import Index, as_index, minimum, var
from codegen.tree.emitted_names import apart
from codegen.tree.statements import (
    Await,
    Barrier,
    Block,
    Build,
    Call,
    Declare,
    For,
    If,
    Kernel,
    Load,
    Memory,
    Space,
    Statement,
    Store,
    Unroll,
    Value,
    loads,
    remembered,
    rewrite,
    statements,
    subvalues,
)
from codegen.tree.value_builders import names_in, substituted


@remembered
def with_gathers_ahead(kernel: Kernel) -> Kernel:
    """The kernel in which numbers that lanes gather from global memory in a nest of unrolled loops,
    to give them to an instruction, are loaded a turn before: loads go on beside products, whether
    or not a compiler unrolls the loops."""
    ahead = _Ahead(_taken(kernel), {m.name for m in kernel.writes})
    body = ahead.block(kernel.body)
    return replace(kernel, body=body) if ahead.found else kernel


@dataclass(slots=True)
class _Ahead:
    """The walk through a kernel: `taken` are names in use, `written` the buffers that the kernel
    writes; `found` is True once anything is loaded ahead."""

    taken: set[str]
    written: set[str]
    found: bool = False

    def block(self, body: Block) -> Block:
        done: list[Statement] = []
        for s in body.statements:
            done.extend(self.statement(s))
        return Block(tuple(done))

    def statement(self, s: Statement) -> list[Statement]:
        match s:
            case Block():
                return [self.block(s)]
            case For():
                return self.nest(s) or [replace(s, body=self.block(s.body))]
            case If(_, body):
                return [replace(s, body=self.block(body))]
        return [s]

    def nest(self, s: For) -> list[Statement]:
        """The statements in place of a nest of unrolled loops, the last of which has operands that
        are made before its products; none if s is no such nest."""
        around = list(_nest(s))
        inner = around[-1].body.statements if around else ()
        made = [*takewhile(lambda each: not _multiplies(each), inner)]
        rest = inner[len(made) :]
        if not rest or not _only_makes_operands(made) or _waits(s):
            return []
        chosen = {loop.var for loop in around}
        gathers = dict.fromkeys(
            (g, loops) for each in made for g, loops in _gathered(each) if self.far(g, chosen)
        )
        if not gathers:
            return []
        self.found = True
        kept = {g: self.memory(g, loops) for g, loops in gathers}
        first = {loop.var: as_index(0) for loop in around}
        before = [
            part
            for g, loops in gathers
            for part in (Declare(kept[g]), self.loaded(g, loops, kept[g], first))
        ]
        after = [self.loaded(g, loops, kept[g], _next(around)) for g, loops in gathers]
        used = [_using(each, kept, dict([*gathers])) for each in made]
        body = Block((*used, *after, *rest))
        for loop in reversed(around):
            nested: Statement = replace(loop, body=body)
            body = Block((nested,))
        return [*before, nested]

    def far(self, g: Build, chosen: set[str]) -> bool:
        """True if g is gathered from buffers that the kernel only reads, in each turn anew."""
        read = {load.memory for load in loads(g)}
        kept = all(m.space is Space.GLOBAL and m.name not in self.written for m in read)
        return bool(read) and kept and chosen <= names_in(g)

    def memory(self, g: Build, loops: tuple[For, ...]) -> Memory:
        shape = (*[loop.count for loop in loops], g.kind.width)
        name = apart(f"next_{next(loads(g)).memory.name}lanes", "_", self.taken)
        return Memory(name, Space.PRIVATE, g.kind.scalar, prod(shape), shape=shape)

    def loaded(
        self, g: Build, loops: tuple[For, ...], memory: Memory, turn: dict[str, Index]
    ) -> Statement:
        """The statement that loads g, for all turns of `loops`, at this turn of those around."""
        named = {loop.var: apart(loop.var, "", self.taken) for loop in loops}
        here: dict[str, Index | int] = {
            **turn,
            **{loop.var: var(named[loop.var], 0, loop.count - 1) for loop in loops},
        }
        cell = _cell(memory, loops, here)
        made: Statement = Store(memory, cell, substituted(g, here))
        for loop in reversed(loops):
            made = For(named[loop.var], loop.count, Block((made,)), Unroll.YES)
        return made


def _nest(s: For) -> Iterator[For]:
    """The unrolled loops of a nest, from s inwards: each is all that is in the one before it."""
    while s.unroll is Unroll.YES:
        yield s
        match s.body.statements:
            case (For() as inner,):
                s = inner
            case _:
                return


def _only_makes_operands(made: list[Statement]) -> bool:
    """True if the statements only declare variables and set these."""
    own = {s.memory for s in made if isinstance(s, Declare)}
    inner = (each for s in made for each in statements(s))
    return all(each.memory in own for each in inner if isinstance(each, Store))


def _waits(s: Statement) -> bool:
    return any(isinstance(each, Barrier | Await) for each in statements(s))


def _multiplies(s: Statement) -> bool:
    return any(isinstance(each, Store) and isinstance(each.value, Call) for each in statements(s))


def _gathered(s: Statement, loops: tuple[For, ...] = ()) -> Iterator[tuple[Build, tuple[For, ...]]]:
    """The vectors that s builds of several loads, each with the loops of s around it."""
    match s:
        case For(_, _, body, _):
            for each in body.statements:
                yield from _gathered(each, (*loops, s))
        case Store():
            for e in subvalues(s.value):
                if isinstance(e, Build) and len([*loads(e)]) > 1:
                    yield e, loops


def _using(
    s: Statement, kept: dict[Build, Memory], loops: dict[Build, tuple[For, ...]]
) -> Statement:
    """The statement s with loads of what is kept in the place of what is gathered."""

    def known(e: Value) -> Value:
        if not isinstance(e, Build) or e not in kept:
            return e
        turns = {loop.var: var(loop.var, 0, loop.count - 1) for loop in loops[e]}
        return Load(kept[e], _cell(kept[e], loops[e], turns), e.kind.width)

    match s:
        case For(_, _, body, _):
            inner = Block(tuple([_using(each, kept, loops) for each in body.statements]))
            return replace(s, body=inner)
        case Store(_, _, value):
            return replace(s, value=rewrite(value, known))
    return s


def _cell(memory: Memory, loops: tuple[For, ...], turns: Mapping[str, Index | int]) -> Index:
    place = as_index(0)
    for loop in loops:
        place = place * loop.count + turns[loop.var]
    return place * memory.shape[-1]


def _next(around: list[For]) -> dict[str, Index]:
    """The turn of a nest of loops after this one; after the last, the last again."""
    turn = as_index(0)
    for loop in around:
        turn = turn * loop.count + var(loop.var, 0, loop.count - 1)
    turn = minimum(turn + 1, prod(loop.count for loop in around) - 1)
    found = dict[str, Index]()
    for loop in reversed(around):
        found[loop.var] = turn % loop.count
        turn = turn // loop.count
    return found


def _taken(kernel: Kernel) -> set[str]:
    inner = list(statements(kernel.body))
    memories = {s.memory.name for s in inner if isinstance(s, Declare)}
    counters = {s.var for s in inner if isinstance(s, For)}
    given = {m.name for m in (*kernel.reads, *kernel.writes)}
    return memories | counters | given | {i.name for i in kernel.ids}
