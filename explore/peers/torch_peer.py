"""The peer PyTorch: oneDNN on a CPU, cuDNN on a GPU, in both memory formats.

It stands as a peer only if its result, in double precision, is the interpreter's. On a GPU TF32 is
off, cuDNN chooses among its algorithms by timing them, and runs are replayed from a CUDA graph, so
that the gaps between launches are not counted.
"""

# key: x input, w weights, b biases, y output

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from codegen.runtime.devices import Device
from explore.measure.reference import inputs_of, relative_error
from explore.measure.reference_file import load_reference
from explore.peers.layers import Layer, layers
from explore.peers.rival import COPIES, Rival, Way, absent, on_host_clock
from explore.peers.torch_layer import Forward, forward, operands
from explore.peers.torch_memory import scratch_bytes
from ir.core.nodes import Program

SAME = 1e-9
REPLAYS = 3  # of a graph, each with all copies of the input


def rival(program: Program, seed: int, reference: Path, target: Device) -> Rival:
    """The program by PyTorch, as the layer that it is, made ready in each memory format."""
    gpu = target.kind == "gpu"
    try:
        import torch
    except ImportError:
        return absent("torch is not installed here: pip install torch")
    if gpu and not torch.cuda.is_available():
        return absent("this torch cannot use the GPU: install one built for CUDA")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    with torch.inference_mode():
        found = recognised(program, seed, reference)
        if found is None:
            return absent("torch has no one call for it: no convolution or linear layer like this")
        names = _formats(found)
        scratch = {} if gpu else scratch_bytes(found, names, torch.get_num_threads())
        ways = {name: _way(found, name, gpu, scratch.get(name, 0)) for name in names}
    threads = "" if gpu else f", {torch.get_num_threads()} threads"
    return Rival(found.words, ways, f"torch {torch.__version__}{threads}")


def recognised(program: Program, seed: int, reference: Path) -> Layer | None:
    """The layer whose result, in double precision, is the interpreter's; None if no layer's is."""
    import torch

    wanted = load_reference(reference).output
    given = {n: np.asarray(a, np.float64) for n, a in inputs_of(program, seed).items()}
    for layer in layers(given, wanted.shape):
        operands = (None if a is None else torch.from_numpy(a) for a in (layer.x, layer.w, layer.b))
        out = layer.as_written(forward(layer)(*operands).numpy())
        if out.shape == wanted.shape and relative_error(out, wanted) < SAME:
            return layer
    return None


def _formats(layer: Layer) -> tuple[str, ...]:
    return ("row major",) if layer.geometry is None else ("channels first", "channels last")


def _way(layer: Layer, name: str, gpu: bool, scratch: int) -> Way:
    x, w, b = operands(layer, name, "cuda" if gpu else "cpu")
    xs = [x.clone() for _ in range(COPIES)]
    run = forward(layer)
    held = _bytes(run, xs[0], w, b, gpu) + scratch
    if gpu:
        return Way(_replayed(run, xs, w, b), held)
    return Way(_hosted(run, xs, w, b), held)


def _hosted(run: Forward, xs: list[Any], w: Any, b: Any) -> Callable[[int], float]:
    import torch

    def once(i: int) -> float:
        with torch.inference_mode():
            return on_host_clock(lambda: run(xs[i], w, b))

    return once


def _replayed(run: Forward, xs: list[Any], w: Any, b: Any) -> Callable[[int], float]:
    """The function that times a run on the i-th copy of the input, replayed from a CUDA graph."""
    import torch

    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):  # algorithms are chosen before the capture
        for x in xs[:3]:
            run(x, w, b)
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.inference_mode(), torch.cuda.graph(graph):
        for x in xs:
            run(x, w, b)

    def once(_: int) -> float:
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        first.record()
        for _ in range(REPLAYS):
            graph.replay()
        last.record()
        torch.cuda.synchronize()
        return float(first.elapsed_time(last)) * 1e6 / (REPLAYS * len(xs))

    return once


def _bytes(run: Forward, x: Any, w: Any, b: Any, gpu: bool) -> int:
    """The bytes of a run: on a GPU the most that was allocated, workspace too; else the tensors."""
    import torch

    given = sum(int(t.numel() * t.element_size()) for t in (x, w, b) if t is not None)
    y = run(x, w, b)
    if not gpu:
        return given + int(y.numel() * y.element_size())
    del y
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    run(x, w, b)
    return given + int(torch.cuda.max_memory_allocated()) - int(before)
