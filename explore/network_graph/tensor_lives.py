"""The lives of the tensors between layers, counted in layers."""

from explore.network_graph.network_layers import Layers
from ir.arena import Life


def lives_of(layers: Layers) -> dict[str, Life]:
    """The life of each tensor that lies in the arena, from the layer that makes it to the last that
    reads it; inputs and results of the network lie outside."""
    results = {layers.root(name) for name in layers.outputs}
    lives: dict[str, Life] = {}
    for l, layer in enumerate(layers.layers):
        lives.setdefault(layer.output, Life(l, l))
        for _, t in layer.tensors:
            if t in lives:
                lives[t] = Life(lives[t].first, l)
    return {t: life for t, life in lives.items() if t not in results}
