"""Layers that work in place: they write their result over a tensor that nobody reads later."""

from collections.abc import Mapping

from codegen.plan import Kernel, Plan, Role
from codegen.text_proof.work_in_place import in_place
from explore.network_graph.network_layers import Layer, Layers
from ir.arena import Life
from ir.core.frozen import frozen


@frozen
class Overwriting:
    """A layer that writes its result over the tensor `tensor`: `kernels` has, by the number of a
    kernel in the layer's plan, the kernel to launch instead."""

    tensor: str
    kernels: Mapping[int, Kernel]


def overwriting(
    layers: Layers, lives: Mapping[str, Life], number: int, layer: Layer, plan: Plan
) -> Overwriting | None:
    """The way in which a `layer` with this plan works in place, as layer number `number`; None if
    it cannot. `lives` are those of the tensors between layers."""
    if layer.output not in lives or layer.into is not None:
        return None
    size = layers.tensors[layer.output].kind.bytes
    for name, tensor in layer.tensors:
        life = lives.get(tensor)
        dies = life is not None and life.last == number > life.first
        if dies and layers.tensors[tensor].kind.bytes == size and _once(layer, tensor):
            kernels = _replaced(plan, name)
            if kernels is not None:
                return Overwriting(tensor, kernels)
    return None


def _once(layer: Layer, tensor: str) -> bool:
    return sum(t == tensor for _, t in layer.tensors) == 1


def _replaced(plan: Plan, read: str) -> dict[int, Kernel] | None:
    """A kernel of a plan, by its number, changed so that it writes the output over the parameter
    `read`; None if this cannot be done.

    None, too, if kernels read the parameter only before the output is begun: then the two share
    storage by their lives, and no kernel has to be replaced.
    """
    buffers = {b.name: b for b in plan.buffers}
    written = next(b.name for b in plan.buffers if b.role is Role.OUTPUT)
    takes = [n for n, k in enumerate(plan.kernels) if read in k.arguments]
    makes = [n for n, k in enumerate(plan.kernels) if written in k.arguments]
    if not takes or takes[-1] != makes[0]:
        return None
    kernel = plan.kernels[makes[0]]
    made = in_place(kernel, tuple(buffers[a] for a in kernel.arguments), read, written)
    return None if made is None else {makes[0]: made}
