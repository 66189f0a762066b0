"""Kernels that work in place: the array that is read and the array that is written become one, if
that is proved to change no result."""

import re
from dataclasses import replace
from functools import lru_cache

from codegen.plan import Buffer, Kernel
from codegen.proof.cells_in_order import read_before_written
from codegen.text_proof.prove_text import prove_launch
from codegen.text_proof.text_footprint import text_footprint
from codegen.text_reader.c_syntax import Parameter
from codegen.text_reader.c_tokens import NotRead
from codegen.text_reader.c_words import SIZES, STORED_AS
from codegen.text_reader.read_kernel import read_kernel


@lru_cache(maxsize=1024)
def in_place(
    kernel: Kernel, arguments: tuple[Buffer, ...], read: str, written: str
) -> Kernel | None:
    """The kernel that writes its results over the buffer `read` instead of to the buffer `written`,
    and has one parameter less; None if it is not proved that every cell is read before it is
    written.

    `arguments` are the buffers that the kernel is launched with. The new text is proved like any
    other: a work-item that reads a cell which another one writes would be a race."""
    names = list(kernel.arguments)
    if names.count(read) != 1 or names.count(written) != 1:
        return None
    try:
        text = read_kernel(kernel.source)
        if len(text.parameters) != len(names):
            return None
        old, new = (text.parameters[names.index(name)] for name in (read, written))
        if not old.const or new.const or old.scalar != new.scalar:
            return None
        elements = {
            p.name: b.bytes // SIZES[STORED_AS.get(b.scalar, b.scalar)]
            for p, b in zip(text.parameters, arguments, strict=True)
        }
        x, y, z = text.group_size
        groups = tuple(n // size for n, size in zip(kernel.global_size, (x, y, z), strict=True))
        found = text_footprint(text, elements, (x, y, z), (groups[0], groups[1], groups[2]))
        if not read_before_written(found, old.name, new.name):
            return None
    except NotRead:
        return None
    names.remove(read)
    made = replace(kernel, text=_with_one(kernel.text, old, new), arguments=tuple(names))
    proof = prove_launch(made, {b.name: b for b in arguments if b.name != read})
    return made if proof.ok else None


def _with_one(text: str, old: Parameter, new: Parameter) -> str:
    """The text of a kernel without the parameter `old`: in its place stands `new`."""
    declared = rf"__global const \w+ \*restrict {old.name}\b"
    left = re.sub(rf"{declared},\s*|,\s*{declared}", "", text, count=1)
    return re.sub(rf"\b{old.name}\b", new.name, left)
