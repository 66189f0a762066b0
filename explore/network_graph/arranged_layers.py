"""A network with a layout for each tensor: layers in the layouts chosen, and layers that copy
tensors from one layout into the other."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from explore.network_graph.layer_layouts import CHANGE
from explore.network_graph.network_layers import Layer, Layers
from explore.operators.site import Tensor


def arranged(layers: Layers, chosen: Sequence[Layer], copied: Sequence[str]) -> Layers:
    """The network whose layers are `chosen`, one of the ways of each layer; of the tensors `copied`
    there is a copy in the other layout. Layers read each tensor in the layout that they ask for.

    A copy is made just after its tensor; copies of the network's inputs come first.
    """
    made = {out: way.layouts[out] for way in chosen if (out := way.output) in way.layouts}
    tensors = {n: replace(t, last=made.get(n, t.last)) for n, t in layers.tensors.items()}
    copies = {name: _copy(tensors, tensors[name]) for name in copied}
    after = {way.output: l for l, way in enumerate(chosen)}
    changes = [_change(layers, tensors[name], copy) for name, copy in copies.items()]
    found = [c for c in changes if c.tensors[0][1] not in after]
    for l, way in enumerate(chosen):
        found.append(_reading(way, tensors, copies))
        found += [c for c in changes if after.get(c.tensors[0][1]) == l]
    tensors |= {copy.name: copy for copy in copies.values()}
    return replace(layers, layers=found, tensors=tensors)


def _copy(tensors: Mapping[str, Tensor], of: Tensor) -> Tensor:
    """The copy of a tensor in its other layout, under a name that no tensor has."""
    name = f"{of.name} with its channels {'first' if of.last else 'last'}"
    while name in tensors:
        name += "'"
    return replace(of, name=name, last=not of.last)


def _change(layers: Layers, of: Tensor, copy: Tensor) -> Layer:
    program = layers.changes[of.name, copy.last]
    (parameter,) = layers.programs[program].params
    return Layer(copy.name, CHANGE, program, ((parameter.var.name, of.name),), {}, copy.name)


def _reading(way: Layer, tensors: Mapping[str, Tensor], copies: Mapping[str, Tensor]) -> Layer:
    """The layer with each tensor that it asks for in another layout replaced by its copy."""
    asked = {t: way.layouts.get(t, tensors[t].last) for _, t in way.tensors}
    names = {t: t if last == tensors[t].last else copies[t].name for t, last in asked.items()}
    return replace(way, tensors=tuple((p, names[t]) for p, t in way.tensors), others=())


def copies_of(layers: Layers) -> set[str]:
    """The names of the tensors that are copies of others in another layout."""
    return {layer.output for layer in layers.layers if layer.operator == CHANGE}
