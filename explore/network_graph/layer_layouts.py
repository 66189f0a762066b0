"""Layers in other layouts: a tensor between layers may lie in ONNX's order, with its channels last,
or with its channels in blocks. A layer then has a program for each pair of layouts, of what it
reads and of what it makes, and a tensor has programs that copy it from one layout into another."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from explore.network_graph.network_layers import (
    Built,
    Change,
    Layer,
    Layers,
    built_layers,
    copied,
    layer_of,
    program_of,
    with_contents,
)
from explore.onnx_model.onnx_graph import Graph, Kind, Node
from explore.operators.all_operators import step_of
from explore.operators.layouts import Layout
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
        return with_contents(built.made)
    made = built.made
    made.layers = [
        replace(default, others=tuple(_others(built, default, *built.sites[l])))
        for l, default in enumerate(_told(made, layer) for layer in list(made.layers))
    ]
    made.changes = {change: _change(built, change) for change in _changes(made)}
    return with_contents(made)


def layouts_of(kind: Kind) -> tuple[Layout, ...]:
    """The layouts in which a tensor may lie, which all differ."""
    return tuple(layout for layout in Layout if layout.fits(kind.shape))


def _told(layers: Layers, layer: Layer) -> Layer:
    """The layer with the layouts of its tensors as they are by default."""
    names = dict.fromkeys([*(t for _, t in layer.tensors), layer.output])
    several = [t for t in names if len(layouts_of(layers.tensors[t].kind)) > 1]
    return replace(layer, layouts={t: layers.tensors[t].layout for t in several})


def _others(built: Built, default: Layer, site: Site, which: int) -> Iterator[Layer]:
    """The layer in all layouts but the default: those of its inputs all alike, each with all of its
    result. Results of the network lie in ONNX's order."""
    made, out = built.made, default.output
    inputs = [t for t in default.layouts if t != out]
    usual = tuple(Layout) if inputs else (Layout.ONNX,)
    free = out in default.layouts and out not in made.outputs
    for read in (x for x in usual if all(x in layouts_of(made.tensors[t].kind) for t in inputs)):
        for result in layouts_of(made.tensors[out].kind) if free else (Layout.ONNX,):
            layouts = dict.fromkeys(inputs, read)
            layouts |= {out: result} if out in default.layouts else {}
            if layouts == default.layouts:
                continue
            step = _step(made, site, which, layouts, result)
            if step is not None and step.kind == made.tensors[out].kind:
                yield replace(layer_of(built, site, step, out), layouts=layouts)


def _step(
    layers: Layers, site: Site, which: int, layouts: Mapping[str, Layout], result: Layout
) -> Step | None:
    """The step of a node that reads its tensors in these layouts, with a `result` in this one; None
    if the node has none."""
    try:
        inputs = [_laid_out(layers, t, layouts) for t in site.inputs]
        step = step_of(Site(site.node, site.opset, inputs, result), which)
    except Unsupported:
        return None
    return step if step.body else copied(step)


def _laid_out(layers: Layers, t: Tensor | None, layouts: Mapping[str, Layout]) -> Tensor | None:
    """An input of a node in its layout; Unsupported if it is a tensor in a new shape that would not
    lie as ONNX has it."""
    if t is None or t.array is not None or layers.root(t.name) not in layouts:
        return t
    root = layers.tensors[layers.root(t.name)]
    if root.shape == t.shape:
        return replace(t, layout=layouts[root.name])
    if layouts[root.name] is not Layout.ONNX:
        raise Unsupported(f"'{t.name}' has another shape than '{root.name}'")
    return t


def _changes(layers: Layers) -> Iterator[Change]:
    """The copies of tensors that may be needed: from each layout in which some layer makes a tensor
    in one of its ways, to each other in which some layer reads it."""
    made: dict[str, set[Layout]] = {name: {Layout.ONNX} for name in layers.inputs}
    read: dict[str, set[Layout]] = {}
    for way in (way for layer in layers.layers for way in layer.ways):
        for name, layout in way.layouts.items():
            (made if name == way.output else read).setdefault(name, set()).add(layout)
    for name, found in read.items():
        for lies in (x for x in Layout if x in made[name]):
            yield from (Change(name, lies, x) for x in Layout if x in found and x is not lies)


def _change(built: Built, change: Change) -> int:
    """The number of the program that copies a tensor into another layout."""
    tensor = replace(built.made.tensors[change.tensor], layout=change.lies)
    site = Site(Node("", CHANGE, (tensor.name,), ("",), {}), 0, [tensor], change.copied)
    image, many = image_text(site, 0)
    rank = max(len(tensor.shape) - 2, 2)
    return program_of(
        built, site, site.as_stored(tensor.kind, over_images(site, image, many, rank, lambda e: e))
    )
