"""Layers that write into a part of the result of a concatenation, which is then no layer any more:
nothing is copied, and only one array of its size lives."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from codegen.plan import Role
from codegen.text_proof.work_in_part import Part, in_part
from explore.network_choice.layer_options import Option
from explore.network_graph.network_layers import Layer, Layers
from explore.network_graph.tensor_lives import lives_of

Each = Sequence[Sequence[Option]]
"""The options of each layer."""


def without_copies(layers: Layers, options: Each) -> tuple[Layers, tuple[tuple[Option, ...], ...]]:
    """The network without those concatenations whose parts can be written straight into the result,
    and the options of each layer that is left. A layer that makes a part has only those options
    that can write it there."""
    makers = {layer.output: l for l, layer in enumerate(layers.layers)}
    changed: dict[int, tuple[Layer, tuple[Option, ...]]] = {}
    gone = set[int]()
    for l, layer in enumerate(layers.layers):
        made = _placed_parts(layers, options, makers, layer)
        if made and not changed.keys() & made.keys() and not gone & made.keys():
            changed |= made
            gone.add(l)
    left = [l for l in range(len(layers.layers)) if l not in gone]
    kept = [changed.get(l, (layers.layers[l], tuple(options[l]))) for l in left]
    return replace(layers, layers=[x for x, _ in kept]), tuple(o for _, o in kept)


def _placed_parts(
    layers: Layers, options: Each, makers: Mapping[str, int], joined: Layer
) -> dict[int, tuple[Layer, tuple[Option, ...]]]:
    """The layers that make the parts of the concatenation `joined`, by number: each as a layer that
    writes its part into the result, and its options that can do so. Empty if one of the parts
    cannot be made so. `makers` has, for each tensor, the number of its layer."""
    lengths = layers.joined.get(joined.output, ())
    lives = lives_of(layers)
    reads = Counter(t for layer in layers.layers for _, t in layer.tensors)
    whole, offset = sum(n for _, n in lengths), 0
    found: dict[int, tuple[Layer, tuple[Option, ...]]] = {}
    for tensor, each in lengths:
        if joined.output not in lives or tensor not in lives or reads[tensor] != 1:
            return {}
        number, part = makers[tensor], Part(offset, each, whole)
        able = [placed(option, part) for option in options[number]]
        kept = tuple(option for option in able if option is not None)
        if not kept or layers.layers[number].into is not None:
            return {}
        found[number] = replace(layers.layers[number], output=joined.output, into=part), kept
        offset += each
    return found if len(found) == len(lengths) else {}


def placed(option: Option, part: Part) -> Option | None:
    """The option changed so that it writes its result into a part of a larger array; None if this
    cannot be done."""
    plan = option.plan
    (out,) = (b for b in plan.buffers if b.role is Role.OUTPUT)
    makes = [n for n, k in enumerate(plan.kernels) if out.name in k.arguments]
    if len(makes) != 1:
        return None
    rows = out.bytes // part.each
    larger = replace(out, shape=(*out.shape[:-1], part.whole), bytes=rows * part.whole)
    buffers = {b.name: larger if b is out else b for b in plan.buffers}
    old = plan.kernels[makes[0]]
    kernel = in_part(old, tuple(buffers[a] for a in old.arguments), out.name, part)
    if kernel is None:
        return None
    kernels = tuple(kernel if k is old else k for k in plan.kernels)
    memory = plan.memory_bytes + larger.bytes - out.bytes
    changed = replace(plan, kernels=kernels, buffers=tuple(buffers.values()), memory_bytes=memory)
    return replace(option, plan=changed)
