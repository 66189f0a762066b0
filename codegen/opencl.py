"""Trees as OpenCL C."""

# key: e value, s statement, i index, w width

from codegen.spelling import Writer
from codegen.tree import (
    Declare,
    Kernel,
    Space,
    statements,
)


def print_kernel(kernel: Kernel) -> str:
    """A kernel's text."""
    writer = Writer(kernel)
    body = writer.write(kernel.body)
    lines = [*_head(kernel), *_locals(kernel), *_ids(kernel), *body, "}"]
    return "\n".join([*writer.helpers(), *lines]) + "\n"


def _head(kernel: Kernel) -> list[str]:
    written = set(kernel.writes)
    given = [*kernel.reads, *(m for m in kernel.writes if m not in kernel.reads)]
    parameters = ",\n    ".join(
        f"__global {'' if m in written else 'const '}{m.scalar} *restrict {m.name}" for m in given
    )
    x, y, z = kernel.local_size
    return [
        f"__attribute__((reqd_work_group_size({x}, {y}, {z})))",
        f"__kernel void {kernel.name}(\n    {parameters})",
        "{",
    ]


def _ids(kernel: Kernel) -> list[str]:
    return [f"  const int {i.name} = get_{i.kind}_id({i.dimension});" for i in kernel.ids]


def _locals(kernel: Kernel) -> list[str]:
    found = [s.memory for s in statements(kernel.body) if isinstance(s, Declare)]
    return [
        f"  __local {m.scalar} {m.name}[{m.elements * m.halves}] __attribute__((aligned(64)));"
        for m in found
        if m.space is Space.LOCAL
    ]
