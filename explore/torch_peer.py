"""PyTorch on the same program, in a process of its own.

A program is recognised by what it computes: a layer whose shapes fit is built, and it stands as a
peer only if its result, in double precision, is the interpreter's.
"""

# key: x input, w weights, b biases, y output, k size of a window, s stride, p padding

import itertools
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from explore.records import Failed
from explore.reference import Array, inputs_of, load_reference, relative_error
from ir.nodes import Program

SAME = 1e-9
COPIES, WARMUP, RUNS, LIMIT = 8, 3, 15, 1.0
STRIDES, DILATIONS = range(1, 9), range(1, 5)


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer in words, on tensors: `forward(x, w, b)`, in torch's own axes."""

    words: str
    x: Any
    w: Any
    b: Any
    forward: Callable[[Any, Any, Any], Any]
    back: tuple[int, ...]  # its output's axes as the program has them
    spatial: bool  # whether channels last means anything


@dataclass(frozen=True, slots=True)
class Timed:
    """One pass: the median of each memory layout, and the bytes that each needs."""

    words: str
    ns: Mapping[str, float]
    bytes: int
    device: str
    version: str


@dataclass(slots=True)
class Rival:
    """The layer found, or why there is none."""

    layer: Layer | None
    reason: str
    device: str
    ready: "dict[str, tuple[list[Any], Any, Any]] | None" = None


def setup_for(program: Program, seed: int, reference: Path, gpu: bool) -> "partial[Rival]":
    """`rival` with its arguments, as a worker takes it."""
    return partial(rival, program, seed, reference, gpu)


def rival(program: Program, seed: int, reference: Path, gpu: bool) -> Rival:
    """Runs once in the worker."""
    try:
        import torch
    except ImportError:
        return Rival(None, "torch is not installed here: pip install torch", "")
    if gpu and not torch.cuda.is_available():
        return Rival(None, "this torch cannot use the GPU: install one built for CUDA", "")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    inputs = inputs_of(program, seed)
    wanted = load_reference(reference).output
    with torch.inference_mode():
        for layer in layers(program, inputs, wanted.shape):
            out = layer.forward(layer.x, layer.w, layer.b).permute(layer.back).numpy()
            if out.shape == wanted.shape and relative_error(out, wanted) < SAME:
                return Rival(layer, "", "cuda" if gpu else "cpu")
    return Rival(None, "the program is no convolution or linear layer that torch has", "")


def layers(program: Program, inputs: Mapping[str, Array], out: tuple[int, ...]) -> Iterator[Layer]:
    """Layers whose parameters fit the program's, in double precision."""
    import torch

    given = {n: torch.from_numpy(np.asarray(a, np.float64)) for n, a in inputs.items()}
    vectors: list[Any] = [t for t in given.values() if t.dim() == 1]
    for x, w in itertools.permutations(given.values(), 2):
        rest = [t for t in given.values() if t is not x and t is not w]
        if len(rest) > 1 or any(t.dim() != 1 for t in rest):
            continue
        b = rest[0] if rest else None
        assert b is None or any(b is v for v in vectors)
        yield from _linear(x, w, b, out)
        yield from _convolutions(x, w, b, out)


def _linear(x: Any, w: Any, b: Any, out: tuple[int, ...]) -> Iterator[Layer]:
    import torch.nn.functional as F

    if w.dim() != 2 or x.dim() > 4:
        return
    for words, weights in (("linear", w), ("linear, transposed", w.T)):
        m, k = weights.shape
        if x.shape[-1] != k or out != (*x.shape[:-1], m) or (b is not None and len(b) != m):
            continue
        axes = tuple(range(x.dim()))
        for relu in (False, True):
            forward = _then(relu, F.linear)
            yield Layer(words + relu * " + relu", x, weights, b, forward, axes, False)


def _then(relu: bool, layer: Callable[..., Any]) -> Callable[[Any, Any, Any], Any]:
    def forward(x: Any, w: Any, b: Any) -> Any:
        y = layer(x, w, b)
        return y.relu() if relu else y

    return forward


def _convolutions(x: Any, w: Any, b: Any, out: tuple[int, ...]) -> Iterator[Layer]:
    """Two-dimensional, for every reading of the axes that fits."""
    import torch.nn.functional as F

    if w.dim() != 4 or x.dim() not in (3, 4):
        return
    batched = x.dim() == 4
    images = {"channels last": (0, 3, 1, 2), "channels first": (0, 1, 2, 3)}
    kernels = ((0, 3, 1, 2), (0, 1, 2, 3), (3, 2, 0, 1))  # [M][K][K][C], [M][C][K][K], [K][K][C][M]
    outs = ((0, 2, 3, 1), (0, 1, 2, 3))
    for (name, order), kernel, back in itertools.product(images.items(), kernels, outs):
        image = (x if batched else x[None]).permute(order)
        weights = w.permute(kernel)
        m, per_group, kh, kw = weights.shape
        channels = image.shape[1]
        if channels % per_group or m % (channels // per_group) or (b is not None and len(b) != m):
            continue
        shape = out if batched else (1, *out)
        if len(shape) != 4:
            continue
        tall, wide = (shape[back.index(axis)] for axis in (2, 3))
        geometries = list(_geometries(tuple(image.shape[2:]), (kh, kw), (tall, wide)))
        for (s, p, d), relu in itertools.product(geometries, (True, False)):
            convolution = partial(
                F.conv2d, stride=s, padding=p, dilation=d, groups=channels // per_group
            )
            words = f"conv2d stride {s} padding {p}" + (d > 1) * f" dilation {d}" + relu * " + relu"
            yield Layer(
                f"{words}, given {name}",
                image,
                weights,
                b,
                _unbatched(_then(relu, convolution), batched),
                back if batched else tuple(axis - 1 for axis in back[1:]),
                True,
            )


def _unbatched(forward: Callable[..., Any], batched: bool) -> Callable[[Any, Any, Any], Any]:
    return forward if batched else lambda x, w, b: forward(x, w, b)[0]


def _geometries(
    image: tuple[int, int], kernel: tuple[int, int], out: tuple[int, int]
) -> Iterator[tuple[int, int, int]]:
    """Strides, paddings and dilations that give an output of that size."""
    for d, s in itertools.product(DILATIONS, STRIDES):
        reach = [d * (k - 1) + 1 for k in kernel]
        for p in range(max(reach)):
            made = [(n + 2 * p - r) // s + 1 for n, r in zip(image, reach, strict=True)]
            if made == list(out):
                yield s, p, d


# ---- timing


def once(state: Rival, task: int) -> Timed | Failed:
    """One pass over the memory layouts; `task` is its number."""
    if state.layer is None:
        return Failed("run", state.reason)
    import torch

    with torch.inference_mode():
        if state.ready is None:
            state.ready = _prepared(state.layer, state.device)
        found = {name: _median_ns(state, *made) for name, made in state.ready.items()}
        return Timed(
            state.layer.words,
            found,
            _bytes(state),
            state.device,
            f"torch {torch.__version__}, {torch.get_num_threads()} threads"
            if state.device == "cpu"
            else f"torch {torch.__version__}",
        )


def _prepared(layer: Layer, device: str) -> "dict[str, tuple[list[Any], Any, Any]]":
    import torch

    formats = {"channels first": torch.contiguous_format}
    if layer.spatial:
        formats["channels last"] = torch.channels_last
    b = None if layer.b is None else layer.b.float().to(device)
    made = {}
    for name, order in formats.items():
        x, w = (t.float().to(device).contiguous(memory_format=order) for t in (layer.x, layer.w))
        made[name if layer.spatial else "row major"] = ([x.clone() for _ in range(COPIES)], w, b)
    return made


def _median_ns(state: Rival, xs: list[Any], w: Any, b: Any) -> float:
    assert state.layer is not None
    clock = _on_gpu if state.device == "cuda" else _on_cpu
    samples: list[float] = []
    until = time.monotonic() + LIMIT
    while len(samples) < WARMUP + RUNS and (not samples or time.monotonic() < until):
        x = xs[len(samples) % len(xs)]
        samples.append(clock(partial(state.layer.forward, x, w, b)))
    return statistics.median(samples[min(WARMUP, len(samples) - 1) :])


def _on_cpu(run: Callable[[], Any]) -> float:
    begun = time.perf_counter_ns()
    run()
    return float(time.perf_counter_ns() - begun)


def _on_gpu(run: Callable[[], Any]) -> float:
    import torch

    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    first.record()
    run()
    last.record()
    torch.cuda.synchronize()
    return float(first.elapsed_time(last)) * 1e6


def _bytes(state: Rival) -> int:
    """On a GPU the most that was allocated during a run, workspace too; else the tensors."""
    import torch

    assert state.layer is not None
    assert state.ready is not None
    xs, w, b = next(iter(state.ready.values()))
    y = state.layer.forward(xs[0], w, b)
    tensors = [xs[0], w, y, *([] if b is None else [b])]
    held = sum(int(t.numel() * t.element_size()) for t in tensors)
    if state.device != "cuda":
        return held
    del y, tensors
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    state.layer.forward(xs[0], w, b)
    given = sum(int(t.numel() * t.element_size()) for t in (xs[0], w, *([] if b is None else [b])))
    return given + int(torch.cuda.max_memory_allocated()) - int(before)
