"""A layer in PyTorch: the call that computes it, and its operands as tensors."""

# key: x input, w weights, b biases

from collections.abc import Callable
from functools import partial
from typing import Any

from explore.peers.layers import Layer

Forward = Callable[[Any, Any, Any], Any]


def forward(layer: Layer) -> Forward:
    """The layer as a function from the tensors of input, weights and biases to its output."""
    import torch.nn.functional as F

    g = layer.geometry
    compute: Forward = (
        F.linear
        if g is None
        else partial(
            F.conv2d, stride=g.stride, padding=g.padding, dilation=g.dilation, groups=g.groups
        )
    )
    return (lambda x, w, b: compute(x, w, b).relu_()) if layer.relu else compute


def operands(layer: Layer, name: str, device: str) -> tuple[Any, Any, Any]:
    """The tensors of input, weights and biases (or None), in the memory format of this name."""
    import torch

    order = torch.channels_last if name == "channels last" else torch.contiguous_format
    x, w = (
        torch.from_numpy(a).float().to(device).contiguous(memory_format=order)
        for a in (layer.x, layer.w)
    )
    return x, w, None if layer.b is None else torch.from_numpy(layer.b).float().to(device)
