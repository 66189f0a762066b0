"""Trees as OpenCL C."""

from collections.abc import Iterator, Sequence

from codegen.expressions import number_text
from codegen.index_text import counter
from codegen.spelling import Writer
from codegen.tree import (
    Declare,
    Kernel,
    Space,
    Store,
    loads,
    remembered,
    statements,
)


def print_program(kernels: Sequence[Kernel], notes: Sequence[str] = ()) -> str:
    """The text of all kernels; `notes` are its first lines, as comments."""
    spelled = [_kernel(kernel) for kernel in kernels]
    texts = [text for text, _ in spelled]
    helpers = dict.fromkeys(line for _, called in spelled for line in called)
    half = any(" half" in text or "(half" in text for text in texts)
    head = [f"// {line}".rstrip() for note in notes for line in note.splitlines()]
    if half:
        head.append("#pragma OPENCL EXTENSION cl_khr_fp16 : enable")
    head.extend(helpers)
    return "\n".join([*(["\n".join(head) + "\n"] if head else []), *texts])


def print_kernel(kernel: Kernel) -> str:
    """The text of one kernel."""
    return print_program([kernel])


@remembered
def _kernel(kernel: Kernel) -> tuple[str, tuple[str, ...]]:
    """The text of a kernel, and the functions that it calls."""
    writer = Writer(kernel)
    body = writer.write(kernel.body)
    lines = [*_head(kernel), *_tables(kernel, body), *_locals(kernel), *_ids(kernel), *body, "}"]
    return "\n".join(lines) + "\n", tuple(writer.spell.helpers())


def _head(kernel: Kernel) -> list[str]:
    written = set(kernel.writes)
    given = [*kernel.reads, *(m for m in kernel.writes if m not in kernel.reads)]
    parameters = ",\n    ".join(
        f"__global {'' if m in written else 'const '}{m.scalar} *restrict {m.name}" for m in given
    )
    x, y, z = kernel.local_size
    groups = " x ".join(map(str, kernel.groups))
    return [
        f"// {groups} groups of {x} x {y} x {z}",
        f"__attribute__((reqd_work_group_size({x}, {y}, {z})))",
        f"__kernel void {kernel.name}(\n    {parameters})",
        "{",
    ]


def _ids(kernel: Kernel) -> list[str]:
    return [
        f"  const {counter(i.extent)} {i.name} = get_{i.kind}_id({i.dimension});"
        for i in kernel.ids
    ]


def _tables(kernel: Kernel, body: Sequence[str]) -> Iterator[str]:
    """The constant tables that are still read once loops are spelled out."""
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


def _locals(kernel: Kernel) -> list[str]:
    found = [s.memory for s in statements(kernel.body) if isinstance(s, Declare)]
    return [
        f"  __local {m.scalar} {m.name}[{m.elements * m.halves}] __attribute__((aligned(64)));"
        for m in found
        if m.space is Space.LOCAL
    ]
