"""A check that generated code takes the bytes, work-items and groups that constraints inferred for
it.

Constraints limit inferred amounts; a limit holds for the code only if its amounts are the same.
"""

from collections.abc import Iterator, Mapping

from codegen.compile import Generated
from codegen.kernel_facts import Facts
from codegen.tree.statements import Kernel
from constraints.quantities.quantities import (
    Dims,
    KernelQuantities,
    Quantities,
    local_at,
    memory_at,
    peak_at,
    workspace_at,
)

Point = Mapping[str, int]


def disagreements(known: Quantities, point: Point, made: Generated) -> Iterator[str]:
    """Messages on amounts inferred for a point that differ in its generated code, one message for
    each."""
    plan = made.plan
    yield from _unless_same("memory bytes", memory_at(known, point), plan.memory_bytes)
    yield from _unless_same("workspace bytes", workspace_at(known, point), plan.workspace_bytes)
    lasting = max(b.bytes for b in plan.buffers if b.offset is None)
    yield from _unless_same("bytes of the largest buffer", peak_at(known.buffers, point), lasting)
    yield from _unless_same("kernels", len(known.kernels), len(made.kernels))
    for k, kernel, facts in zip(known.kernels, made.kernels, made.facts, strict=True):
        yield from _of_kernel(k, point, kernel, facts)


def _of_kernel(k: KernelQuantities, point: Point, kernel: Kernel, facts: Facts) -> Iterator[str]:
    name = kernel.name
    local = local_at(k, point)
    yield from _unless_same(f"{name}: local bytes", local, facts.local_bytes)
    if any(k.global_items):  # the runtime's groups: as many items as there are, or a few more
        for asked, groups, items in zip(
            lengths(k.global_items, point), kernel.groups, kernel.local_size, strict=True
        ):
            yield from _unless_same(f"{name}: groups of {items}", -(-asked // items), groups)
    else:
        yield from _unless_same(f"{name}: items", lengths(k.items, point), kernel.local_size)
        yield from _unless_same(f"{name}: groups", lengths(k.groups, point), kernel.groups)


def lengths(dims: Dims, point: Point) -> tuple[int, int, int]:
    """The three numbers that `dims` (work-items, or groups, along each dimension) have at a point,
    each at least 1."""
    x, y, z = (max(1, peak_at(peak, point)) for peak in dims)
    return x, y, z


def _unless_same(what: str, inferred: object, found: object) -> Iterator[str]:
    if inferred != found:
        yield f"{what}: inferred {inferred}, the code has {found}"
