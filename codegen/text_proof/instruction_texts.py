"""The texts of instructions in a kernel's text: those of the table, letter by letter, or they are
not read."""

from ir.core.nodes import Instruction
from ir.instructions.sub_groups import SUB_GROUP
from ir.instructions.table import TABLE


def taken_out(source: str) -> tuple[str, tuple[Instruction, ...]]:
    """The text of a kernel with the functions of instructions blanked, and the instructions that
    these carry out."""
    found = tuple(e.instruction for e in TABLE.values() if f"{e.text}\n" in source)
    for text in (SUB_GROUP, *(instruction.text for instruction in found)):
        source = source.replace(f"{text}\n", "\n" * (text.count("\n") + 1), 1)
    return source, found
