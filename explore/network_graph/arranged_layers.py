"""A network with a layout for each tensor: layers in the layouts chosen, and layers that copy
tensors from one layout into another."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from explore.network_graph.layer_layouts import CHANGE
from explore.network_graph.network_layers import Change, Layer, Layers
from explore.operators.layouts import Layout
from explore.operators.site import Tensor


def arranged(layers: Layers, chosen: Sequence[Layer], copied: Sequence[Change]) -> Layers:
    """The network whose layers are `chosen`, one of the ways of each layer, with these copies of
    tensors in other layouts. Layers read each tensor in the layout that they ask for.

    A copy is made just after its tensor; copies of the network's inputs come first.
    """
    made = {out: way.layouts[out] for way in chosen if (out := way.output) in way.layouts}
    tensors = {n: replace(t, layout=made.get(n, t.layout)) for n, t in layers.tensors.items()}
    copies = {(c.tensor, c.copied): _copy(tensors, c) for c in copied}
    after = {way.output: l for l, way in enumerate(chosen)}
    changes = [_change(layers, c, copies[c.tensor, c.copied]) for c in copied]
    found = [c for c in changes if c.tensors[0][1] not in after]
    for l, way in enumerate(chosen):
        found.append(_reading(way, tensors, copies))
        found += [c for c in changes if after.get(c.tensors[0][1]) == l]
    tensors |= {copy.name: copy for copy in copies.values()}
    return replace(layers, layers=found, tensors=tensors)


def _copy(tensors: Mapping[str, Tensor], change: Change) -> Tensor:
    """The copy of a tensor in another layout, under a name that no tensor has."""
    name = f"{change.tensor} {change.copied.value}"
    while name in tensors:
        name += "'"
    return replace(tensors[change.tensor], name=name, layout=change.copied)


def _change(layers: Layers, change: Change, copy: Tensor) -> Layer:
    program = layers.changes[change]
    (parameter,) = layers.programs[program].params
    return Layer(copy.name, CHANGE, program, ((parameter.var.name, change.tensor),), {}, copy.name)


def _reading(
    way: Layer, tensors: Mapping[str, Tensor], copies: Mapping[tuple[str, Layout], Tensor]
) -> Layer:
    """The layer with each tensor that it asks for in another layout replaced by its copy."""
    asked = {t: way.layouts.get(t, tensors[t].layout) for _, t in way.tensors}
    names = {
        t: t if layout is tensors[t].layout else copies[t, layout].name
        for t, layout in asked.items()
    }
    return replace(way, tensors=tuple((p, names[t]) for p, t in way.tensors), others=())


def copies_of(layers: Layers) -> set[str]:
    """The names of the tensors that are copies of others in another layout."""
    return {layer.output for layer in layers.layers if layer.operator == CHANGE}
