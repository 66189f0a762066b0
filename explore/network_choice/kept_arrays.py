"""The arrays that a layer keeps for good, under keys which are equal where two layers keep the same
numbers in the same form: a network keeps such arrays once."""

import re
from collections.abc import Hashable, Iterable, Mapping

from codegen.memory.packed_constants import packed_together
from codegen.plan import Kernel, Plan, Role
from explore.network_graph.network_layers import Layer
from ir.core.frozen import frozen


@frozen
class Keeps:
    """The bytes that a layer with one of its options keeps for good: those of arrays that another
    layer may keep, too, by key, and `own`, those of all others."""

    shared: Mapping[Hashable, int]
    own: int

    @staticmethod
    def of(layer: Layer, plan: Plan) -> "Keeps":
        """The bytes that a layer with this plan keeps."""
        keys, read = kept_keys(layer, plan), _read(plan)
        kept = [
            b for b in plan.buffers
            if b.role is Role.PACKED or (b.role is Role.CONST and b.name in read)
        ]  # fmt: skip
        own = sum(b.bytes for b in kept if b.name not in keys)
        return Keeps({keys[b.name]: b.bytes for b in kept if b.name in keys}, own)


def kept_together(keeps: Iterable[Keeps]) -> int:
    """The bytes that several layers keep together."""
    shared, own = dict[Hashable, int](), 0
    for each in keeps:
        shared |= each.shared
        own += each.own
    return own + sum(shared.values())


def kept_keys(layer: Layer, plan: Plan) -> dict[str, Hashable]:
    """The keys of the constants of a layer with this plan, and of the arrays that are packed of
    them, by the names of their buffers. Those of which the contents are not known have none."""
    buffers, read = {b.name: b for b in plan.buffers}, _read(plan)
    keys: dict[str, Hashable] = {}
    for b in plan.buffers:
        if b.role is Role.CONST and b.name in read and b.name in layer.contents:
            keys[b.name] = ("given", layer.contents[b.name], b.scalar, b.shape)
    for names, numbers in packed_together(plan):
        constants = [n for n in names if buffers[n].role is Role.CONST]
        if all(n in layer.contents for n in constants):
            recipe = (
                tuple((names.index(n), layer.contents[n], buffers[n].scalar) for n in constants),
                tuple((buffers[n].bytes, buffers[n].scalar) for n in names),
                tuple(
                    (what_it_does(kernel), tuple(names.index(a) for a in kernel.arguments))
                    for kernel in (plan.kernels[n] for n in numbers)
                ),
            )
            for n, name in enumerate(names):
                keys.setdefault(name, ("packed", n, recipe))
    return keys


def what_it_does(kernel: Kernel) -> Hashable:
    """The work of a kernel on its arguments; that of kernels which differ in name is equal."""
    text = re.sub(rf"\b{kernel.name}\b", "kernel", kernel.text)
    return text, kernel.needs, kernel.global_size, kernel.local_size


def _read(plan: Plan) -> set[str]:
    """The names of the buffers that kernels read in every run."""
    return {name for k in plan.kernels if not k.prepack for name in k.arguments}
