"""The texts of instructions and of functions on numbers that stand in a kernel's text: they are not
parsed, but must agree with those of their tables letter by letter."""

from collections.abc import Iterator, Mapping
from itertools import islice

from codegen.numbers.number_functions import number_function, text_of
from ir.core.instruction import Instruction
from ir.instructions import local_writes, under_way
from ir.instructions.entries.copies import COPIES
from ir.instructions.side_by_side import several
from ir.instructions.sub_groups import SUB_GROUP
from ir.instructions.table import CALLED

Several = Mapping[str, tuple[Instruction, int]]  # calls that stand for several of an instruction


def taken_out(source: str) -> tuple[str, tuple[Instruction, ...], Several]:
    """The text of a kernel with the functions of instructions replaced by empty lines, the
    instructions that these functions carry out, and the calls that stand for several of one."""
    found = tuple(e.instruction for e in CALLED.values() if f"{e.text}\n" in source)
    together = {
        name: (instruction, count, text)
        for instruction in found
        for name, count, text in several(instruction)
        if f"{text}\n" in source
    }
    numbers = tuple(_functions_on_numbers(source))
    ours = (SUB_GROUP, COPIES.text, local_writes.TEXT, under_way.TEXT)
    called = (*(i.text for i in found), *(text for _, _, text in together.values()))
    for text in (*ours, *numbers, *called):
        source = source.replace(f"{text}\n", "\n" * (text.count("\n") + 1), 1)
    return source, found, {name: (i, count) for name, (i, count, _) in together.items()}


def _functions_on_numbers(source: str) -> Iterator[str]:
    """The texts of those functions on numbers, written before a kernel, that are letter by letter
    what code generation writes."""
    for line in source.split("\n"):
        words = line.split("(", 1)[0].split()
        ours = number_function(words[-1]) if len(words) == 2 else None
        known = () if ours is None else (text_of(*ours, True), text_of(*ours))
        agree = (text for text in known if line in text.split("\n") and f"{text}\n" in source)
        yield from islice(agree, 1)
