"""Layouts of the tensors of a network, drawn at random."""

from collections.abc import Sequence

import numpy as np

from explore.network_graph.arranged_layers import arranged, copies_of
from explore.network_graph.network_layers import Change, Layer, Layers
from explore.operators.layouts import Layout


def needed(ways: Sequence[Layer], layers: Layers) -> list[Change] | None:
    """The copies of tensors that some layer reads in another layout than that in which they are
    made; None if the makers of one tensor do not agree."""
    made = dict.fromkeys(layers.inputs, Layout.ONNX)
    for way in ways:
        layout = way.layouts.get(way.output, Layout.ONNX)
        if made.setdefault(way.output, layout) is not layout:
            return None
    read = [(t, x) for way in ways for t, x in way.layouts.items() if t != way.output]
    return list(dict.fromkeys(Change(t, made[t], x) for t, x in read if made[t] is not x))


def drawn_layouts(layers: Layers) -> Layers:
    """The network with layouts drawn at random, and the copies that they need."""
    random = np.random.default_rng()
    ways = [layer.ways[random.integers(len(layer.ways))] for layer in layers.layers]
    copied = needed(ways, layers)
    assert copied is not None
    found = arranged(layers, ways, copied)
    assert len(copies_of(found)) == len(copied)
    return found
