"""PyTorch's ways to compute a row of `matrix_layers` on an NVIDIA GPU: the right results in double
precision, and the time of its fastest way in a precision."""

# key: x input, w weights, b biases

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explore.peers.convolutions import convolutions
from explore.peers.layers import Layer
from explore.peers.torch_layer import Manner, before_relu, manners, prepared
from explore.peers.torch_peer import exactly, replayed

Array = NDArray[Any]
COPIES = 4  # of the input, used in turns


def has_torch() -> bool:
    """True if PyTorch is here and can use a GPU."""
    try:
        import torch
    except ImportError:
        return False
    return bool(torch.cuda.is_available())


def layer_of(inputs: Mapping[str, Array], shape: tuple[int, ...], relu: bool) -> Layer | None:
    """The first convolution of the inputs that gives an output of this `shape`, with a ReLU if
    `relu`; None if the inputs are matrices, which are multiplied."""
    if all(a.ndim == 2 for a in inputs.values()):
        return None
    return replace(next(iter(convolutions(inputs, shape))), relu=relu)


def right(layer: Layer | None, inputs: Mapping[str, Array]) -> Array:
    """The result of a layer, or of the product of two inputs (None), in double precision."""
    import torch

    torch.backends.cudnn.benchmark = False

    if layer is None:
        x, y = (_doubles(a) for a in inputs.values())
        return np.asarray(torch.matmul(x, y).cpu().numpy())
    operands = (layer.x, layer.w, layer.b)
    with torch.inference_mode():
        given = (None if a is None else _doubles(a) for a in operands)
        out = before_relu(layer, *given)
        made = layer.as_written((out.relu_() if layer.relu else out).cpu().numpy())
    return np.ascontiguousarray(made)


def _doubles(a: Array) -> Any:
    import torch

    return torch.from_numpy(np.ascontiguousarray(a, np.float32)).cuda().double()


def ways(
    layer: Layer | None, inputs: Mapping[str, Array], precision: str
) -> Mapping[str, Callable[[], float]]:
    """The ways to compute a layer, or the product of two inputs (None), in a precision (float,
    tf32, half or bfloat): for each, by its name, the function that gives the nanoseconds of a run
    in a CUDA graph. Where there are fused calls, others are left out."""
    import torch

    torch.backends.cudnn.benchmark = True
    if layer is None:
        return {f"matmul, {precision}": _product(inputs, precision)}
    found: dict[str, Callable[[], float]] = {}
    every = [m for m in manners(layer, gpu=True) if m.precision == precision]
    for manner in every:
        if manner.fused or not any(m.fused for m in every):
            try:
                found[manner.name] = _convolution(layer, manner)
            except (RuntimeError, AttributeError, ValueError) as error:
                print(f"without {manner.name}: {str(error).splitlines()[0][:80]}")
    return found


def _convolution(layer: Layer, manner: Manner) -> Callable[[], float]:
    import torch

    with torch.inference_mode(), exactly(manner.precision):
        x, run = prepared(layer, manner, "cuda")
        once = replayed(run, [x.clone() for _ in range(COPIES)])
    return lambda: once(0)


def _product(inputs: Mapping[str, Array], precision: str) -> Callable[[], float]:
    import torch

    kinds = {"half": torch.float16, "bfloat": torch.bfloat16}
    kind = kinds.get(precision, torch.float32)
    x, y = (torch.from_numpy(np.asarray(a, np.float32)).cuda().to(kind) for a in inputs.values())
    with torch.inference_mode(), exactly(precision):
        once = replayed(lambda a: torch.matmul(a, y), [x.clone() for _ in range(COPIES)])
    return lambda: once(0)
