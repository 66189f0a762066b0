"""The peer PyTorch: oneDNN on a CPU, cuDNN and cuBLAS on a GPU, in every manner that torch has.

It stands as a peer only if its result, in double precision, is the interpreter's. On a GPU cuDNN
chooses among its algorithms by timing them, and runs are replayed from a CUDA graph, so that
launches from Python are not counted. Manners in TF32 or half precision stand beside the exact ones.
"""

# key: x input, w weights, b biases, y output

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from codegen.runtime.devices import Device
from explore.measure.reference import Array, relative_error
from explore.measure.reference_file import load_reference
from explore.peers import recognise
from explore.peers.layers import Layer
from explore.peers.rival import COPIES, Rival, Way, absent, on_host_clock
from explore.peers.torch_layer import Manner, Run, before_relu, manners, prepared
from explore.peers.torch_memory import scratch_bytes
from ir.core.nodes import Program

REPLAYS = 3  # of a graph, each with all copies of the input
NEAR = {"float": 1e-4, "tf32": 1e-2, "half": 1e-2}  # relative errors of right results


def rival(program: Program, seed: int, reference: Path, target: Device) -> Rival:
    """PyTorch's ways to compute the program, one for each manner; without ways if it is no layer of
    torch."""
    gpu = target.kind == "gpu"
    try:
        import torch
    except ImportError:
        return absent("torch is not installed here: pip install torch")
    if gpu and not torch.cuda.is_available():
        return absent("this torch cannot use the GPU: install one built for CUDA")
    torch.backends.cudnn.benchmark = True
    with torch.inference_mode(), exactly("float"):
        found = recognised(program, seed, reference)
    if found is None:
        return absent("torch has no one call for it: it is no convolution, pooling or linear layer")
    (wanted,), known = load_reference(reference).outputs, manners(found, gpu)
    scratch = {} if gpu else scratch_bytes(found, known, torch.get_num_threads())
    ways: dict[str, Way] = {}
    left: list[str] = []
    for manner in known:
        try:
            ways[manner.name] = _way(found, manner, wanted, gpu, scratch.get(manner.name, 0))
        except (RuntimeError, AttributeError, ValueError) as error:  # this torch has it not
            left.append(f"{manner.name}: {str(error).splitlines()[0][:80]}")
    threads = "" if gpu else f", {torch.get_num_threads()} threads"
    without = f"; without {'; '.join(left)}" if left else ""
    return Rival(found.words, ways, f"torch {torch.__version__}{threads}{without}")


def recognised(program: Program, seed: int, reference: Path) -> Layer | None:
    """The layer of torch that a program is: its result, in double precision, is the interpreter's
    in the file `reference`; None if no layer's is."""
    return recognise.recognised(program, seed, reference, _double)


def _double(layer: Layer) -> Array:
    import torch

    operands = (layer.x, layer.w, layer.b)
    x, w, b = (None if a is None else torch.from_numpy(np.array(a)) for a in operands)
    return np.asarray(before_relu(layer, x, w, b).numpy())


@contextmanager
def exactly(precision: str) -> Iterator[None]:
    """The context in which products of floats are made in TF32 if `precision` is `tf32`, and
    exactly for any other."""
    import torch

    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    before = matmul.allow_tf32, cudnn.allow_tf32
    matmul.allow_tf32 = cudnn.allow_tf32 = precision == "tf32"
    try:
        yield
    finally:
        matmul.allow_tf32, cudnn.allow_tf32 = before


def _way(layer: Layer, manner: Manner, wanted: Array, gpu: bool, scratch: int) -> Way:
    """The way to compute a layer in a manner, on a GPU (`gpu`) or a CPU; a ValueError if its result
    is not `wanted`. `scratch` is what it allocates beside its tensors, in bytes."""
    import torch

    with torch.inference_mode(), exactly(manner.precision):
        x, run = prepared(layer, manner, "cuda" if gpu else "cpu")
        error = relative_error(layer.as_written(run(x).float().cpu().numpy()), wanted)
        if not error < NEAR[manner.precision]:
            least = NEAR[manner.precision]
            raise ValueError(
                f"expected an error below {least:.0e} of its result, found {error:.1e}"
            )
        xs = [x.clone() for _ in range(COPIES)]
        held = _bytes(layer, run, x, gpu) + scratch
        timed = replayed(run, xs) if gpu else _hosted(run, xs)
    return Way(timed, held, manner.precision)


def _hosted(run: Run, xs: list[Any]) -> Callable[[int], float]:
    """The function that gives the time of a run on a CPU: the mean over all copies of the input,
    back to back."""
    import torch

    def once(_: int) -> float:
        with torch.inference_mode():
            return on_host_clock(lambda: [run(x) for x in xs]) / len(xs)

    return once


def replayed(run: Run, xs: list[Any]) -> Callable[[int], float]:
    """The function that gives the time of a run on a GPU: the mean over a replayed graph of runs,
    one on each copy of the input. It holds `run`, whose weights the graph reads: tensors that are
    given back may be another's when the graph is replayed."""
    import torch

    held = run, xs
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):  # algorithms are chosen before the capture
        for x in xs[:3]:
            run(x)
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for x in xs:
            run(x)

    def once(_: int) -> float:
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        first.record()
        for _ in range(REPLAYS):
            graph.replay()
        last.record()
        torch.cuda.synchronize()
        return float(first.elapsed_time(last)) * 1e6 / (REPLAYS * len(held[1]))

    return once


def _bytes(layer: Layer, run: Run, x: Any, gpu: bool) -> int:
    """The bytes of a run: on a GPU the most allocated, workspace included; on a CPU those of the
    tensors."""
    import torch

    size = int(x.element_size())
    given: int = size * sum(a.size for a in (layer.x, layer.w, layer.b) if a is not None)
    y = run(x)
    if not gpu:
        return given + int(y.numel() * y.element_size())
    del y
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    run(x)
    return given + int(torch.cuda.max_memory_allocated()) - int(before)
