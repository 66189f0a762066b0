"""A layer in PyTorch: its operands as tensors, and the manners in which it can be computed."""

# key: x input, w weights, b biases, y output

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from explore.peers.layers import Layer
from ir.core.frozen import frozen

Precision = Literal["float", "tf32", "half"]
Run = Callable[[Any], Any]  # a layer from its input to its output


@frozen
class Manner:
    """A manner of computing a layer: an order of axes, whether bias and ReLU are part of the same
    call, and the precision of products."""

    order: str
    fused: bool = False
    precision: Precision = "float"

    @property
    def name(self) -> str:
        """The manner in words: `channels last, fused, tf32`."""
        rest = (self.precision,) if self.precision != "float" else ()
        return ", ".join((self.order, *(("fused",) if self.fused else ()), *rest))


def manners(layer: Layer, gpu: bool) -> tuple[Manner, ...]:
    """All manners in which a layer can be computed, on a GPU (`gpu`) or a CPU; exact ones first."""
    exact = [Manner(order) for order in _orders(layer)]
    if _can_fuse(layer, gpu):
        exact += [Manner(manner.order, fused=True) for manner in exact]
    if not gpu or layer.w is None:
        return tuple(exact)
    others: tuple[Precision, ...] = ("tf32", "half")
    return (*exact, *(Manner(m.order, m.fused, p) for p in others for m in exact))


def _orders(layer: Layer) -> tuple[str, ...]:
    if layer.kind == "linear":
        return ("row major",)
    return ("channels first", "channels last") if layer.sides > 1 else ("channels first",)


def _can_fuse(layer: Layer, gpu: bool) -> bool:
    """True if torch has one call for the layer with its bias and ReLU: on a CPU that of oneDNN,
    with weights in its own blocks; on a GPU those of cuDNN and cuBLAS, for layers with a ReLU."""
    if layer.kind == "convolution":
        return layer.sides > 1 and (layer.relu or not gpu)
    if layer.kind == "linear":
        return not gpu or (layer.relu and layer.b is not None and layer.x.ndim == 2)
    return False


def before_relu(layer: Layer, x: Any, w: Any, b: Any) -> Any:
    """The layer's output before its ReLU, computed by torch from the tensors x (input), w (weights)
    and b (biases), where None stands for one that the layer does not have."""
    import torch
    import torch.nn.functional as F

    g, sides = layer.geometry, layer.sides
    if g is None:
        return F.linear(x, w, b)
    if layer.kind == "convolution":
        call: Any = (F.conv1d, F.conv2d, F.conv3d)[sides - 1]
        return call(x, w, b, g.stride, g.padding, g.dilation, g.groups)
    if layer.kind == "transposed convolution":
        call = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[sides - 1]
        return call(x, w, b, g.stride, g.padding, g.behind)
    if layer.kind == "max pooling":
        call = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[sides - 1]
        return call(x, g.window, g.stride, g.padding)
    averages: Any = (torch.nn.AvgPool1d, torch.nn.AvgPool2d, torch.nn.AvgPool3d)
    return averages[sides - 1](g.window, g.stride, g.padding)(x)


def prepared(layer: Layer, manner: Manner, device: str) -> tuple[Any, Run]:
    """The layer's input as a tensor on a device, and the function that computes the layer in this
    manner."""
    import torch

    dtype = torch.float16 if manner.precision == "half" else torch.float32
    order = _memory_format(layer, manner)

    def placed(a: Any) -> Any:
        tensor = torch.from_numpy(a).to(dtype).to(device)
        return tensor.contiguous(memory_format=order) if tensor.ndim == layer.x.ndim else tensor

    x, w, b = (None if a is None else placed(a) for a in (layer.x, layer.w, layer.b))
    if manner.fused:
        fused = _fused_on_gpu if device == "cuda" else _fused_on_cpu
        return x, fused(layer, x, w, b)
    if not layer.relu:
        return x, lambda x: before_relu(layer, x, w, b)
    return x, lambda x: before_relu(layer, x, w, b).relu_()


def _memory_format(layer: Layer, manner: Manner) -> Any:
    import torch

    if manner.order != "channels last":
        return torch.contiguous_format
    return torch.channels_last if layer.sides == 2 else torch.channels_last_3d


def _fused_on_gpu(layer: Layer, x: Any, w: Any, b: Any) -> Run:
    """The function that calls cuDNN's convolution, or cuBLAS's product, with bias and ReLU."""
    import torch

    g = layer.geometry
    if g is None:
        turned = w.t()
        return lambda x: torch._addmm_activation(b, x, turned)
    sides = ([n] * layer.sides for n in (g.stride, g.padding, g.dilation))
    stride, padding, dilation = sides
    return lambda x: torch.cudnn_convolution_relu(x, w, b, stride, padding, dilation, g.groups)


def _fused_on_cpu(layer: Layer, x: Any, w: Any, b: Any) -> Run:
    """The function that calls oneDNN's operators with bias and ReLU, on weights laid out in its
    blocks beforehand, as `torch.compile` does for a frozen layer."""
    import torch

    attribute, g = "relu" if layer.relu else "none", layer.geometry
    if g is None:
        packed = torch.ops.mkldnn._reorder_linear_weight(w, x.numel() // x.shape[-1])
        linear = torch.ops.mkldnn._linear_pointwise
        return lambda x: linear(x, packed, b, attribute, [], "")
    sizes = [[n] * layer.sides for n in (g.padding, g.stride, g.dilation)]
    nn = torch._C._nn
    pack = nn.mkldnn_reorder_conv2d_weight if layer.sides == 2 else nn.mkldnn_reorder_conv3d_weight
    packed = pack(w.to_mkldnn(), *sizes, g.groups, list(x.shape))
    convolution: Any = torch.ops.mkldnn._convolution_pointwise
    return partial(_pointwise, convolution, packed, b, sizes, g.groups, attribute)


def _pointwise(
    convolution: Any, packed: Any, b: Any, sizes: Any, groups: int, attribute: str, x: Any
) -> Any:
    return convolution(x, packed, b, *sizes, groups, attribute, [], "")
