"""Calls of an instruction that one call stands for: those that have all operands in common but the
placed one, which goes on from call to call, and add to sums of their own."""

# key: s statement

from collections.abc import Iterator, Mapping
from dataclasses import replace

from codegen.index.index import Index
from codegen.index.substitute import substitute
from codegen.tree.kernel_values import Call, placed_operands
from codegen.tree.memories import Memory
from codegen.tree.statements import Store
from ir.core.frozen import frozen
from ir.core.instruction import Instruction
from ir.instructions.side_by_side import several_name


@frozen
class Beside:
    """Calls that one stands for, one or more: the texts of the first one's operands before the
    sums, `given`, of which the placed one is left out in `common`; where it lies, and how many
    numbers on that of the next call; and the texts of the `sums`."""

    instruction: Instruction
    given: tuple[str, ...]
    common: tuple[str, ...]
    memory: Memory
    place: Index
    apart: int
    sums: tuple[str, ...]

    @property
    def text(self) -> str:
        """The statement: an assignment, or one call for several."""
        name, count = self.instruction.name, len(self.sums)
        arguments = ", ".join((*self.given, *self.sums))
        if count == 1:
            return f"{self.sums[0]} = {name}({arguments});"
        return f"{several_name(name, count)}({arguments});"

    def joined(self, after: "Beside") -> "Beside | None":
        """One call for these and the one `after` them; None if it is no neighbour of the last."""
        count = len(self.sums)
        if (
            self.instruction is not after.instruction
            or count + 1 not in self.instruction.beside
            or (self.common, self.memory) != (after.common, after.memory)
            or after.place != self.place + count * self.apart
        ):
            return None
        return replace(self, sums=(*self.sums, *after.sums))


def beside(s: Store, text: str, values: Mapping[str, int]) -> Beside | None:
    """The call of the store s, whose `text` this is where loops that are spelled out have these
    `values`; None if it does not add to the sums that it stores, or no call stands for several of
    its instruction."""
    if not isinstance(s.value, Call) or not s.value.instruction.beside:
        return None
    (placed,), ((load, _, told),) = s.value.instruction.placed, placed_operands(s.value)
    target, _, called = text.partition(" = ")
    *given, to = _arguments(called)
    if to != target:
        return None
    apart = placed.beyond(told) * load.width
    common = tuple(e for n, e in enumerate(given) if n != placed.operand)
    place = substitute(load.index, values)
    if load.half is not None:
        place = place + substitute(load.half, values) * load.memory.elements
    return Beside(s.value.instruction, tuple(given), common, load.memory, place, apart, (to,))


def _arguments(called: str) -> Iterator[str]:
    """The texts of the arguments of a statement's call."""
    inside, depth, begun = called.partition("(")[2].rpartition(")")[0], 0, 0
    for at, letter in enumerate(inside):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            yield inside[begun:at]
            begun = at + 2
    yield inside[begun:]
