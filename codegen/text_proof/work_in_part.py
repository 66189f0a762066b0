"""Kernels that write into a part of each row of a larger array, instead of into an array of their
own: what a concatenation reads is then never copied."""

import re
from dataclasses import replace
from functools import lru_cache

from codegen.plan import Buffer, Kernel
from codegen.text_proof.prove_text import prove_launch
from codegen.text_reader.c_tokens import NotRead
from codegen.text_reader.read_kernel import read_kernel
from ir.core.frozen import frozen


@frozen
class Part:
    """A part of each row of an array, whose rows have `whole` numbers: the `each` numbers that
    begin at number `offset`."""

    offset: int
    each: int
    whole: int


@lru_cache(maxsize=1024)
def in_part(
    kernel: Kernel, arguments: tuple[Buffer, ...], written: str, part: Part
) -> Kernel | None:
    """The kernel that writes its results, `part.each` numbers a row, into a part of the rows of the
    buffer `written`; None if its text does more with its results than to store them, or if a vector
    would cross the end of a row.

    `arguments` are the buffers that the new kernel is launched with. Its text is proved like any
    other. It stores the right numbers since the old text did: what lay at e now lies at e + e /
    each · (whole − each) + offset, and a vector that begins at a multiple of its width ends in the
    same row.
    """
    if kernel.arguments.count(written) != 1:
        return None
    try:
        text = read_kernel(kernel.source)
    except NotRead:
        return None
    if len(text.parameters) != len(kernel.arguments):
        return None
    out = text.parameters[kernel.arguments.index(written)]
    moved = None if out.const else _moved(kernel.text, out.name, part)
    if moved is None:
        return None
    made = replace(kernel, text=moved)
    return made if prove_launch(made, {b.name: b for b in arguments}).ok else None


def _moved(text: str, out: str, part: Part) -> str | None:
    """The text of a kernel that stores into `part` of the rows of `out`, where `text` stores into
    an array of the parts alone. None if `text` does more with `out` than to store, or if a vector
    would cross the end of a row."""
    stored = rf"^(\s*)(?:\*\(__global [a-z]+(\d+) \*\)&)?{out}\["
    found = list(re.finditer(stored, text, re.MULTILINE))
    if not found or len(re.findall(rf"\b{out}\b", text)) != len(found) + 1:  # it is declared once
        return None
    pieces, at = [], 0
    for store in found:
        width, end = int(store[2] or 1), _closing(text, store.end())
        if width == 3 or part.each % width or not text.startswith("] = ", end):
            return None
        place = _place(text[store.end() : end], part)
        pieces.append(text[at : store.start()])
        if part.offset % width == part.whole % width == 0:
            pieces.append(f"{store[0]}{place}")
            at = end
        else:  # a row begins where no aligned vector does
            at = text.index(";", end)
            value = text[end + len("] = ") : at]
            pieces.append(f"{store[1]}vstore{width}({value}, 0, {out} + {place})")
    return "".join([*pieces, text[at:]])


def _closing(text: str, at: int) -> int:
    """The position in `text` of the ] that closes the [ just before position `at`."""
    depth = 1
    while depth:
        depth += {"[": 1, "]": -1}.get(text[at], 0)
        at += 1
    return at - 1


def _place(e: str, part: Part) -> str:
    """The text of the index, in the array of whole rows, of the number that has index e in the
    array of the parts alone."""
    rows = f"({e}) / {part.each} * {part.whole - part.each}"
    return f"{rows} + {e} + {part.offset}" if part.offset else f"{rows} + {e}"
