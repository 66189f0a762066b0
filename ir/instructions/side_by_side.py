"""One call for several calls of an instruction: those that have all operands in common but for the
placed one, which goes on from call to call, and the sums that they add to."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ir.core.instruction import Instruction
from ir.instructions.entry import Spelled


@dataclass(frozen=True)
class Several(Spelled):
    """The texts of one call for several: a macro with the arguments of the first of them, and then
    the sums of the others."""

    spelled: Mapping[str, str]
    emulated: str


def several_name(name: str, count: int) -> str:
    """The name of one call that stands for so many of the instruction called `name`."""
    return f"{name}_{count}"


def several(instruction: Instruction) -> Iterator[tuple[str, int, str]]:
    """The names of the calls that stand for several of an instruction, for how many, and the texts
    that carry them out."""
    for count, text in instruction.beside.items():
        yield several_name(instruction.name, count), count, text
