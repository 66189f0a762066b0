"""Networks of the `onnx` package with random weights, compared with onnxruntime: every tensor, the
time, and the memory. The variants are the best by the cost model's estimates; nothing is explored.

    python -m benchmarks.networks squeezenet resnet50 … [--size 224] [--device cpu]"""

import argparse
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx

import explore
from explore.networks.network import Network
from explore.onnx_model.onnx_graph import Array
from explore.options.units import show_bytes
from tests.support.light_models import light_model

RUNS = 9
THREADS = 2


def session(model: Any) -> Any:
    """A session of onnxruntime for a model, on the processor."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def tensors_of(model: Any, names: Sequence[str], inputs: Mapping[str, Array]) -> list[Array]:
    """The values that onnxruntime computes of these tensors of a model, in their order."""
    made = onnx.ModelProto.FromString(model.SerializeToString())
    del made.graph.output[:]
    made.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in names)
    return list(session(made).run(None, dict(inputs)))


def worst(net: Network, model: Any, inputs: Mapping[str, Array]) -> tuple[float, str]:
    """The largest relative error of a tensor of the network, against onnxruntime's, and the
    tensor's name."""
    found = net.trace(**inputs)
    right = tensors_of(model, list(found), inputs)
    errors = [
        (float(np.linalg.norm(found[name] - want) / (np.linalg.norm(want) or 1)), name)
        for name, want in zip(found, right, strict=True)
    ]
    return max(errors)


def median_ms(run: Callable[[], object]) -> float:
    """The median time of a call in milliseconds, after a first call that is not counted."""
    run()
    times = []
    for _ in range(RUNS):
        begun = time.perf_counter()
        run()
        times.append(1e3 * (time.perf_counter() - begun))
    return statistics.median(times)


def line(name: str, size: int | None, device: str) -> str:
    """The line to print for a network: its largest error, its times and its bytes, beside
    onnxruntime's."""
    random = np.random.default_rng()
    model = light_model(name, random, size)
    begun = time.process_time()
    net = explore.network(model, device=device)
    took = time.process_time() - begun
    shapes = {name: kind.shape for name, kind in net.layers.inputs.items()}
    inputs = {n: random.uniform(-1, 1, shape).astype(np.float32) for n, shape in shapes.items()}
    error, where = worst(net, model, inputs)
    other = session(model)
    theirs = median_ms(lambda: other.run(None, inputs))
    ours = median_ms(lambda: net(**inputs))
    plan = net.plan
    return (
        f"{name:14} {len(net.layers.layers):3} layers, {len(net.layers.programs):3} programs, "
        f"made in {took:5.1f} s; error {error:.1e} ({where}); {ours:8.2f} ms, onnxruntime "
        f"{theirs:8.2f} ms; {show_bytes(net.memory_bytes)}, arena {plan.plan.workspace_bytes:,} "
        f"(bound {plan.bound:,})"
    )


def main() -> None:
    """Print a line for each network that is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+", help="names of light models")
    parser.add_argument("--size", type=int, help="pixels of an image, each way")
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    for name in given.names:
        print(line(name, given.size, given.device), flush=True)


if __name__ == "__main__":
    main()
