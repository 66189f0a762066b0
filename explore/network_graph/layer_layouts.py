"""Layers in other layouts: a tensor between layers may lie in ONNX's order or with its channels
last. A layer then has a program for each pair of layouts, of what it reads and of what it makes,
and a tensor has a program that copies it from one layout into the other."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product

from explore.network_graph.network_layers import (
    Built,
    Layer,
    Layers,
    built_layers,
    copied,
    layer_of,
    program_of,
    several,
)
from explore.onnx_model.onnx_graph import Graph, Node
from explore.operators.all_operators import step_of
from explore.operators.site import Site, Step, Tensor
from explore.operators.window_places import image_text, over_images
from ir.errors import Unsupported

CHANGE = "Layout"  # the operator of layers that copy a tensor into another layout


def layers_in_layouts(graph: Graph, layouts: bool = True) -> Layers:
    """The layers of a graph, as by `layers_of`, each with what it would be in other layouts, and
    with programs that copy tensors from one layout into another; without all these, if not
    `layouts`."""
    built = built_layers(graph)
    if not layouts:
        return built.made
    made = built.made
    made.layers = [
        replace(default, others=tuple(_others(built, default, *built.sites[l])))
        for l, default in enumerate(_told(made, layer) for layer in list(made.layers))
    ]
    for name, met in _layouts_met(made).items():
        for last in met:
            made.changes[name, last] = _change(built, name, last)
    return made


def in_two_layouts(layers: Layers, name: str) -> bool:
    """True if a tensor may lie in two layouts, which differ: it has more than one channel, and
    several numbers for each."""
    kind = layers.tensors[name].kind
    return 3 <= len(kind.shape) <= 5 and kind.shape[1] > 1 and several(kind)


def _told(layers: Layers, layer: Layer) -> Layer:
    """The layer with the layouts of its tensors as they are by default."""
    names = dict.fromkeys([*(t for _, t in layer.tensors), layer.output])
    layouts = {t: layers.tensors[t].last for t in names if in_two_layouts(layers, t)}
    return replace(layer, layouts=layouts)


def _others(built: Built, default: Layer, site: Site, which: int) -> Iterator[Layer]:
    """The layer in all layouts but the default: those of its inputs all alike, each with both of
    its result. Results of the network lie in ONNX's order."""
    made, out = built.made, default.output
    free = out in default.layouts and out not in made.outputs
    inputs = [t for t in default.layouts if t != out]
    for read, last in product((False, True) if inputs else (False,), (False, True)):
        layouts = dict.fromkeys(inputs, read) | ({out: last} if out in default.layouts else {})
        if layouts == default.layouts or (not free and last):
            continue
        step = _step(made, site, which, layouts, last and free)
        if step is not None and step.kind == made.tensors[out].kind:
            yield replace(layer_of(built, site, step, out), layouts=layouts)


def _step(
    layers: Layers, site: Site, which: int, layouts: Mapping[str, bool], last: bool
) -> Step | None:
    """The step of a node that reads and makes its tensors in these layouts (`last`: that of its
    result); None if the node has none."""
    inputs = [_laid_out(layers, t, layouts) for t in site.inputs]
    try:
        step = step_of(Site(site.node, site.opset, inputs, last), which)
    except Unsupported:
        return None
    return step if step.body else copied(step)


def _laid_out(layers: Layers, t: Tensor | None, layouts: Mapping[str, bool]) -> Tensor | None:
    if t is None or t.array is not None or layers.root(t.name) not in layouts:
        return t
    same = layers.tensors[layers.root(t.name)].shape == t.shape
    return replace(t, last=layouts[layers.root(t.name)]) if same else t


def _layouts_met(layers: Layers) -> dict[str, list[bool]]:
    """The layouts in which a tensor is read by some layer in one of its ways, but which it may have
    to be copied into, by the tensor's name."""
    made = {name: {False} for name in layers.inputs}
    read: dict[str, set[bool]] = {}
    for way in (way for layer in layers.layers for way in layer.ways):
        for name, last in way.layouts.items():
            (made if name == way.output else read).setdefault(name, set()).add(last)
    return {
        name: [last for last in sorted(found) if made[name] - {last}]
        for name, found in read.items()
    }


def _change(built: Built, name: str, last: bool) -> int:
    """The number of the program that copies a tensor into the layout with its channels last, or
    into ONNX's order."""
    tensor = replace(built.made.tensors[name], last=not last)
    site = Site(Node("", CHANGE, (name,), ("",), {}), 0, [tensor], last)
    image, many = image_text(site, 0)
    rank = max(len(tensor.shape) - 2, 2)
    return program_of(
        built, site, site.as_stored(tensor.kind, over_images(site, image, many, rank, lambda e: e))
    )
