"""Values that are computed before a loop and kept in private memory, one for each turn of some
loops inside it."""

# key: e value

from collections.abc import Mapping, Sequence
from math import prod

from codegen.index.index import Index, as_index, var
from codegen.tree.emitted_names import apart
from codegen.tree.kernel_values import Kind, Load, Value
from codegen.tree.memories import Memory, Space
from codegen.tree.statements import Block, For, Statement, Store, Unroll, block
from codegen.tree.value_builders import substituted
from ir.core.frozen import frozen

Loops = tuple[For, ...]  # the outermost first
Turns = dict[str, Index | int]  # of loops, by their variables


@frozen
class Kept:
    """A value in private memory of its own, one for each turn of the `loops`."""

    memory: Memory
    loops: Loops

    def at(self, turns: Mapping[str, Index | int]) -> Load:
        """The value at these turns of loops."""
        place, width = as_index(0), self.memory.shape[-1]
        for loop in self.loops:
            place = place * loop.count + turns[loop.var]
        return Load(self.memory, place * width, width)

    def here(self) -> Load:
        """The value at the turns that its loops are in."""
        return self.at({loop.var: _turn(loop.var, loop) for loop in self.loops})


def kept(name: str, kind: Kind, loops: Loops, taken: set[str]) -> Kept:
    """The place for a value of a kind, one for each turn of the loops; its name is made from
    `name`, and is none of those that are `taken`."""
    shape = (*[loop.count for loop in loops], kind.width)
    named = apart(name, "_", taken)
    return Kept(Memory(named, Space.PRIVATE, kind.scalar, prod(shape), shape=shape), loops)


def computed(values: Sequence[tuple[Value, Kept]], taken: set[str]) -> Statement:
    """The statement that computes these values for all turns of their loops, which are the same for
    all; its own loops have names that are none of those `taken`."""
    loops = values[0][1].loops
    named = {loop.var: apart(loop.var, "", taken) for loop in loops}
    turns: Turns = {loop.var: _turn(named[loop.var], loop) for loop in loops}
    stores = [Store(to.memory, to.at(turns).index, substituted(e, turns)) for e, to in values]
    made: Statement = Block(tuple(stores))
    for loop in reversed(loops):
        made = For(named[loop.var], loop.count, block([made]), Unroll.YES)
    return made


def _turn(name: str, loop: For) -> Index:
    return var(name, 0, loop.count - 1)
