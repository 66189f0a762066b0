"""The printing of statement trees as OpenCL C."""

import re
from collections.abc import Iterator, Sequence
from math import prod

from codegen.index.pieces import PIECE_BYTES, PIECES
from codegen.numbers.integer_text import in_memory
from codegen.numbers.number_text import number_text
from codegen.opencl.index_text import counter
from codegen.opencl.memory_names import Spellings
from codegen.opencl.statement_text import AWAIT, Writer
from codegen.tree.kernel_values import (
    Repack,
    Value,
    gathers,
    kind_of,
    loads,
    operands,
    placed_operands,
    subvalues,
)
from codegen.tree.memories import Memory, Space
from codegen.tree.statements import Declare, Kernel, Store, calls, remembered, statements
from ir.arena import LOCAL_ALIGNMENT
from ir.instructions import local_writes, under_way
from ir.instructions.entries.copies import COPIES
from ir.instructions.side_by_side import several
from ir.instructions.sub_groups import SUB_GROUP

HALF = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable"
LOCAL_HALVES = "__local half "
BITS = r"\(__local ushort\d* \*\)\(?&?"  # a pointer to bits, before a name


@remembered
def print_kernel(kernel: Kernel) -> tuple[str, tuple[str, ...]]:
    """The text of a kernel, and what it needs before it: extensions, and functions that it
    calls."""
    return _printed(kernel, in_bytes=False)


@remembered
def print_kernel_in_bytes(kernel: Kernel) -> tuple[str, tuple[str, ...]]:
    """The text of a kernel that addresses global memory by distances in bytes, and what it needs
    before it: extensions, and functions that it calls."""
    return _printed(kernel, in_bytes=True)


def _printed(kernel: Kernel, in_bytes: bool) -> tuple[str, tuple[str, ...]]:
    writer = Writer(kernel, in_bytes)
    body = writer.write(kernel.body)
    kept = _locals(kernel, writer.names, body)
    declared = [*_tables(kernel, body), *kept, *_ids(kernel)]
    lines = [*_head(kernel), *declared, *body, "}"]
    text = "\n".join(lines) + "\n"
    halves = _computes_with_halves(kernel) or any(LOCAL_HALVES in line for line in kept)
    extensions = [HALF] if halves else []
    extensions += [SUB_GROUP] if "SUB_GROUP_OF(" in text else []
    extensions += [COPIES.text] if AWAIT in text else []
    extensions += [under_way.TEXT] if under_way.AWAIT_PRODUCTS in text else []
    extensions += [local_writes.TEXT] if local_writes.ORDERED_BARRIER in text else []
    used = writer.spell.instructions.values()
    beside = [more for i in used for name, _, more in several(i) if f"{name}(" in text]
    return text, (*extensions, *writer.spell.helpers(), *beside)


def _computes_with_halves(kernel: Kernel) -> bool:
    """True if the kernel computes with halves, rather than only loading and storing them."""
    stored = [s.value for s in statements(kernel.body) if isinstance(s, Store)]
    used = [x for value in stored for e in subvalues(value) if not _repacks(e) for x in operands(e)]
    return any(kind_of(e).scalar == "half" and not _repacks(e) for e in (*stored, *used))


def _repacks(e: Value) -> bool:
    return isinstance(e, Repack)


def _head(kernel: Kernel) -> list[str]:
    written = set(kernel.writes)
    given = [*kernel.reads, *(m for m in kernel.writes if m not in kernel.reads)]
    parameters = ",\n    ".join(
        f"__global {'' if m in written else 'const '}{in_memory(m)} *restrict {m.name}"
        for m in given
    )
    x, y, z = kernel.local_size
    groups = " x ".join(map(str, kernel.groups))
    lanes = {c.instruction.lanes // c.instruction.sub_groups for c in calls(kernel) if gathers(c)}
    return [
        f"// {groups} groups of {x} x {y} x {z}",
        f"__attribute__((reqd_work_group_size({x}, {y}, {z})))",
        *(f"SUB_GROUP_OF({n})" for n in sorted(lanes)),
        f"__kernel void {kernel.name}(\n    {parameters})",
        "{",
    ]


def _ids(kernel: Kernel) -> list[str]:
    return [
        f"  const {counter(i.extent)} {i.name} = get_{i.kind}_id({i.dimension});"
        for i in kernel.ids
    ]


def _tables(kernel: Kernel, body: Sequence[str]) -> Iterator[str]:
    """The lines that declare a kernel's constant tables, those that the lines `body` still read
    once loops are spelled out."""
    read = [
        load.memory
        for s in statements(kernel.body)
        if isinstance(s, Store)
        for load in loads(s.value)
        if load.memory.space is Space.CONSTANT
    ]
    for m in dict.fromkeys(read):
        if any(m.name in line for line in body):
            values = ", ".join(number_text(v, m.scalar) for v in m.values)
            yield f"  __constant {m.scalar} {m.name}[{m.elements}] = {{{values}}};"


def _locals(kernel: Kernel, spelled: Spellings, body: Sequence[str]) -> list[str]:
    found = [s.memory for s in statements(kernel.body) if isinstance(s, Declare)]
    lines = {
        e.memory: PIECE_BYTES * PIECES * apart[-1]
        for call in calls(kernel)
        for e, _, apart in placed_operands(call)
    }
    return [
        f"  __local {_as_declared(m, spelled[m].names[0], body)} "
        f"{spelled[m].names[0]}[{m.elements * m.halves}] "
        f"__attribute__((aligned({max(LOCAL_ALIGNMENT, lines.get(m, 0))})));{_shape(m)}"
        for m in found
        if m.space is Space.LOCAL
    ]


def _as_declared(m: Memory, name: str, body: Sequence[str]) -> str:
    """The scalar type with which the local array m, called `name` in the text, is declared. OpenCL
    allows local halves only with an extension, so halves are declared as ushort if the lines `body`
    read and write only their bits."""
    if m.scalar != "half":
        return in_memory(m)
    text = "\n".join(body)
    used, as_bits = (len(re.findall(part + rf"\b{name}\b", text)) for part in ("", BITS))
    return "ushort" if used == as_bits else "half"


def _shape(m: Memory) -> str:
    """The dimensions of a local array as a comment, such as ` // 2 x 8 x 16`; empty if it has only
    one."""
    dims = [m.halves, *m.shape] if m.halves > 1 else list(m.shape)
    kept = [n for n in dims if n > 1]
    fits = prod(kept) == m.elements * m.halves and len(kept) > 1
    return f" // {' x '.join(map(str, kept))}" if fits else ""
