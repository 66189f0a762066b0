"""PyTorch's ways to compute the gradients of a layer of VGG, and transposed convolutions, on an
NVIDIA GPU: the right results in double precision, and the time of cuDNN in single precision."""

# key: x image, w weights, b biases, y cotangent

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explore.peers.torch_peer import exactly, replayed

Array = NDArray[Any]
Call = Callable[[Any, Any], Any]  # of a tensor that varies, and one that does not

COPIES = 4  # of the operand that varies, used in turns
DATA, WEIGHTS, TRANSPOSED = "data", "weights", "transposed"
# The inputs of each kind: first the one that varies from run to run.
OPERANDS = {
    DATA: ("cotangent", "weights"),
    WEIGHTS: ("image", "cotangent"),
    TRANSPOSED: ("image", "weights"),
}


def right(kind: str, inputs: Mapping[str, Array], device: str = "cuda") -> Array:
    """The result of a program of this kind, in double precision, as the program writes it."""
    import torch

    torch.backends.cudnn.benchmark = False
    given = (_tensor(inputs[name], device).double() for name in OPERANDS[kind])
    with torch.inference_mode():
        out = _call(kind, inputs)(*given).cpu().numpy()
    if kind == WEIGHTS:
        return np.ascontiguousarray(np.moveaxis(out, 1, -1))
    back = np.moveaxis(out[0], 0, -1)
    return np.ascontiguousarray(back + inputs["biases"] if kind == TRANSPOSED else back)


def ways(kind: str, inputs: Mapping[str, Array]) -> Mapping[str, Callable[[], float]]:
    """The function that gives the nanoseconds of a run in a CUDA graph, in single precision, for
    each order of the dimensions."""
    import torch

    torch.backends.cudnn.benchmark = True
    call, found = _call(kind, inputs), dict[str, Callable[[], float]]()
    orders = {"channels first": torch.contiguous_format, "channels last": torch.channels_last}
    for name, order in orders.items():
        varies, kept = (
            _tensor(inputs[name], "cuda").contiguous(memory_format=order) for name in OPERANDS[kind]
        )
        found[f"cuDNN, float, {name}"] = _timed(call, varies, kept)
    return found


def _timed(call: Call, varies: Any, kept: Any) -> Callable[[], float]:
    import torch

    with torch.inference_mode(), exactly("float"):
        once = replayed(lambda a: call(a, kept), [varies.clone() for _ in range(COPIES)])
    return lambda: once(0)


def _tensor(a: Array, device: str) -> Any:
    """The images or kernels of an input, channels first, as PyTorch has them; an image is a batch
    of one."""
    import torch

    batched = a if a.ndim == 4 else a[None]
    return torch.from_numpy(np.ascontiguousarray(np.moveaxis(batched, -1, 1))).to(device)


def _call(kind: str, inputs: Mapping[str, Array]) -> Call:
    """PyTorch's function for a program of this kind, of the operand that varies and the other."""
    import torch

    if kind == TRANSPOSED:
        return lambda x, w: torch.nn.functional.conv_transpose2d(
            x, w.transpose(0, 1), stride=2, padding=1
        )
    one, none = [1, 1], [0, 0]

    def backward(y: Any, x: Any, w: Any) -> Any:
        mask = [kind == DATA, kind == WEIGHTS, False]
        made = torch.ops.aten.convolution_backward(
            y, x, w, None, one, one, one, False, none, 1, mask
        )
        return made[0 if kind == DATA else 1]

    if kind == DATA:
        h, w, _ = inputs["cotangent"].shape
        like = (1, inputs["weights"].shape[-1], h, w)
        return lambda y, k: backward(y, _unread(like, y), k)
    like = (inputs["cotangent"].shape[-1], inputs["image"].shape[-1], 3, 3)
    return lambda x, y: backward(y, x, _unread(like, x))


def _unread(shape: tuple[int, ...], like: Any) -> Any:
    """A tensor of a shape whose numbers are not read, of the kind of `like` and in its order."""
    import torch

    order = torch.contiguous_format
    if like.is_contiguous(memory_format=torch.channels_last):
        order = torch.channels_last
    return torch.empty(shape, dtype=like.dtype, device=like.device, memory_format=order)
