"""Statements that fill local memory, divided into loads and stores: what the loads read waits in
private memory until the stores write it."""

# key: s statement

from dataclasses import replace
from math import prod

from codegen.emit.scope import Scope
from codegen.index.condition import substitute_in
from codegen.index.index import Index, constant, var
from codegen.index.substitute import substitute
from codegen.tree.emitted_names import apart
from codegen.tree.kernel_values import Load, kind_of, loads
from codegen.tree.memories import Memory, Space
from codegen.tree.move_memory import Location, moved
from codegen.tree.statements import Block, Declare, For, If, Statement, Store, Unroll, statements
from codegen.tree.value_builders import substituted

Loops = tuple[tuple[str, int], ...]  # the name and the trips of each loop around, outermost first


class Stage:
    """The statements that fill local memory, divided into loads and stores: what the loads read
    waits in private variables, named from `hint`, until the stores write it to local memory."""

    def __init__(self, scope: Scope, hint: str) -> None:
        self.scope = scope
        self.hint = hint
        self.declared: list[Statement] = []
        self.waiting: set[Memory] = set()

    def split(self, filling: Block) -> tuple[Block, Block]:
        """The two blocks that the statements `filling` are divided into: one that loads into
        private memory, which it declares, and one that stores from there to local memory."""
        load, keep = self.block(filling, ())
        return Block((*self.declared, *load.statements)), keep

    def block(self, body: Block, loops: Loops) -> tuple[Block, Block]:
        load: list[Statement] = []
        keep: list[Statement] = []
        for s in self.spread(body, loops).statements:
            match s:
                case Store(memory) if memory.space is Space.LOCAL:
                    if self.waits(s):
                        keep.append(s)
                        continue
                    first, second = self.through(s, loops)
                    load.append(first)
                    keep.append(second)
                case If(condition, inner):
                    first_, second_ = self.block(inner, loops)
                    if first_.statements:
                        load.append(If(condition, first_))
                    if second_.statements:
                        keep.append(If(condition, second_))
                case For(name, count, inner, _):
                    first_, second_ = self.block(inner, (*loops, (name, count)))
                    load.append(For(name, count, first_, Unroll.FREE))
                    if second_.statements:
                        again = apart(name, "", self.scope.names)
                        renamed = _renamed(second_, name, var(again, 0, count - 1))
                        keep.append(For(again, count, renamed, Unroll.FREE))
                case _:
                    load.append(s)
        return Block(tuple(load)), Block(tuple(keep))

    def waits(self, s: Store) -> bool:
        """True if the value that s stores is computed only from what is loaded from the memories
        `waiting`, so that s can stay as it is: what it reads waits there already."""
        read = {load.memory for load in loads(s.value)}
        return bool(read) and read <= self.waiting

    def spread(self, body: Block, loops: Loops) -> Block:
        """The statements of `body`, with larger memories in place of some that it declares: those
        that it fills local memory from. Each larger one has a copy of the memory for each iteration
        of `loops`, the loops around.

        So what waits is what was loaded, not a value computed from it.
        """
        own = {s.memory for s in body.statements if isinstance(s, Declare)}
        stores = (s for s in statements(body) if isinstance(s, Store))
        filling = (s for s in stores if s.memory.space is Space.LOCAL)
        made = [{load.memory for load in loads(s.value)} for s in filling]
        alone = {m for read in made if read <= own for m in read}
        to = {m: self.location(m, loops) for m in sorted(alone, key=lambda m: m.name)}
        kept = [s for s in body.statements if not isinstance(s, Declare) or s.memory not in to]
        return moved(Block(tuple(kept)), to) if to else body

    def location(self, memory: Memory, loops: Loops) -> Location:
        """The location of `memory` in a new private memory, which has a copy of it for each
        iteration of `loops`, the loops around."""
        wide, slot = self.declare(memory.scalar, memory.elements, loops)
        self.waiting.add(wide)
        return Location(wide, slot)

    def through(self, s: Store, loops: Loops) -> tuple[Statement, Statement]:
        """The two statements that replace s, a store to local memory: a store of its value to
        private memory, and a store from there to local memory; `loops` are the loops around."""
        kind = kind_of(s.value)
        memory, slot = self.declare(kind.scalar, kind.width, loops)
        return Store(memory, slot, s.value), replace(s, value=Load(memory, slot, kind.width))

    def declare(self, scalar: str, width: int, loops: Loops) -> tuple[Memory, Index]:
        """A new private memory with `width` scalars, of type `scalar`, for each iteration of
        `loops`, the loops around; and the index in it at which the scalars of the current iteration
        begin."""
        shape = (*(count for _, count in loops), width)
        name = self.scope.variable(self.hint)
        memory = Memory(name, Space.PRIVATE, scalar, prod(shape), shape=shape)
        self.declared.append(Declare(memory))
        slot = constant(0)
        for loop, count in loops:
            slot = slot * count + var(loop, 0, count - 1)
        return memory, slot * width


def _renamed(body: Block, name: str, new: Index) -> Block:
    def move(s: Statement) -> Statement:
        match s:
            case Store(memory, index, value, half):
                moved = None if half is None else substitute(half, {name: new})
                index = substitute(index, {name: new})
                return Store(memory, index, substituted(value, {name: new}), moved)
            case If(condition, inner):
                return If(substitute_in(condition, {name: new}), _renamed(inner, name, new))
            case For(_, _, inner, _):
                return replace(s, body=_renamed(inner, name, new))
        return s

    return Block(tuple([move(s) for s in body.statements]))
