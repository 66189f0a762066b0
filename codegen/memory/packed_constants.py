"""The packing of a plan's constants: an order of its steps in which few bytes are there twice, and
plans whose constants are packed already."""

# key: n number of a kernel

from collections.abc import Iterable
from dataclasses import replace

from codegen.plan import Plan, Role
from ir.core.frozen import frozen


@frozen
class PackingStep:
    """A step in which some constants are written to the device, and kernels pack them: the names of
    these constants, the kernels' numbers in the plan, and the buffers to `free` then, because no
    later kernel reads them."""

    constants: tuple[str, ...]
    kernels: tuple[int, ...]
    free: tuple[str, ...]


def packing_steps(plan: Plan) -> list[PackingStep]:
    """The steps for all constants of a plan. Constants that kernels pack together are in one step,
    and steps with many bytes come first: what is written and not yet packed is large while little
    is packed."""
    roles = {b.name: b.role for b in plan.buffers}
    sizes = {b.name: b.bytes for b in plan.buffers}
    read = {name for k in plan.kernels if not k.prepack for name in k.arguments}
    steps = []
    for together, kernels in packed_together(plan):
        constants = [name for name in together if roles[name] is Role.CONST]
        free = [name for name in together if name not in read]
        steps.append(PackingStep(tuple(constants), tuple(kernels), tuple(free)))
    packed = {name for step in steps for name in step.constants}
    rest = [b.name for b in plan.buffers if b.role is Role.CONST and b.name not in packed]
    steps += [
        PackingStep((name,), (), () if name in read else (name,)) for name in rest
    ]  # as they are
    return sorted(steps, key=lambda step: -sum(sizes[name] for name in step.constants))


def preparation_bytes(plan: Plan) -> int:
    """The most bytes of buffers that live while a plan's constants are packed, step by step; its
    other buffers are allocated later."""
    sizes = {b.name: b.bytes for b in plan.buffers}
    living, most = set[str](), 0
    for step in packing_steps(plan):
        living |= {*step.constants, *(a for n in step.kernels for a in plan.kernels[n].arguments)}
        most = max(most, sum(sizes[name] for name in living))
        living -= {*step.free}
    return most


def packed_ahead(plan: Plan) -> Plan:
    """The plan without the kernels that pack: what they make are constants, given packed, and
    constants that only they read are gone."""
    kernels = tuple(k for k in plan.kernels if not k.prepack)
    read = {name for k in kernels for name in k.arguments}
    buffers = (
        replace(b, role=Role.CONST) if b.role is Role.PACKED else b
        for b in plan.buffers
        if b.role not in (Role.CONST, Role.PACKED) or b.name in read
    )
    return replace(plan, kernels=kernels, buffers=tuple(buffers))


def packed_together(plan: Plan) -> Iterable[tuple[list[str], list[int]]]:
    """The groups of prepack kernels that share buffers, directly or through others of the group:
    the buffers of each group, and the kernels' numbers in their order."""
    groups: list[tuple[list[str], list[int]]] = []
    for n, kernel in enumerate(plan.kernels):
        if kernel.prepack:
            mine = [g for g in groups if not set(kernel.arguments).isdisjoint(g[0])]
            names = dict.fromkeys([*(name for g in mine for name in g[0]), *kernel.arguments])
            numbers = sorted([*(number for g in mine for number in g[1]), n])
            groups = [g for g in groups if g not in mine] + [(list(names), numbers)]
    return groups
