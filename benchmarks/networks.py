"""Networks of the `onnx` package and networks built here, with random weights, and models in files,
compared with onnxruntime: every tensor, the time, and the memory. The variants are the best by the
cost model's estimates; nothing is explored, unless so many variants are to be `--tried`.

    python -m benchmarks.networks squeezenet resnet18 detector.onnx … [--size 224] [--reference]
    python -m benchmarks.networks squeezenet --beside onnxruntime [--tried 60] [--budget 11MiB]
        [--alone]

Of a file's inputs, open sizes become 1 (the batch), 3 (channels) and the size. With `--beside`,
the network is measured with other engines in turns, in processes of their own: time, and the
memory by which each grew. Variants are measured by processors' time, or, where nothing else runs
(`--alone`), by the clock, which shows when a kernel leaves a core idle. The exit status is 1 if
a network's result or any tensor has a relative error above `KNOWN`."""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import version_converter

import explore
from codegen.runtime.series import Clock
from codegen.runtime.session import Session, open_device
from explore.network_choice.choose_options import Choice, Chooser
from explore.network_graph.network_layers import Layers, layers_of
from explore.networks.beside_peers import Beside, beside_lines, beside_peers
from explore.networks.export_network import inputs_for
from explore.networks.network import Network
from explore.networks.open_network import quickly
from explore.networks.peer_engines import INSTALL, EngineName
from explore.onnx_model.onnx_graph import Array
from explore.onnx_model.read_model import read_model
from explore.options.units import parse_bytes, show_bytes
from explore.run.target import Target, target_of
from tests.support.built_models import mobilenet_v2, resnet18
from tests.support.light_models import OPSET, light_model
from tests.support.onnx_models import expected

RUNS = 9
THREADS = 2
BUILT = {"resnet18": resnet18, "mobilenet_v2": mobilenet_v2}
KNOWN = 5e-5
"""The largest relative error of a tensor: sums of up to 25,088 products of floats, one layer after
the other, in another order than onnxruntime's."""


def model_of(name: str, random: np.random.Generator, size: int | None) -> Any:
    """The ONNX model that `name` stands for: a network that is built here, a model in a file, or a
    light model of the `onnx` package; the last two are converted to a newer opset. Images have
    `size` pixels each way (None: 224, or a light model's own size); a model in a file says its
    own."""
    if name.endswith(".onnx"):
        return version_converter.convert_version(onnx.load(name), OPSET)
    return BUILT[name](random, size or 224) if name in BUILT else light_model(name, random, size)


def shapes_of(model: Any, size: int) -> dict[str, list[int]]:
    """The shapes of a model's inputs by name; a size that is open becomes 1 in the first dimension,
    3 in the second, and `size` in others."""
    stored = {tensor.name for tensor in model.graph.initializer}
    return {
        i.name: [
            d.dim_value or (1, 3, size, size)[n] for n, d in enumerate(i.type.tensor_type.shape.dim)
        ]
        for i in model.graph.input
        if i.name not in stored
    }


def session(model: Any) -> Any:
    """A session of onnxruntime for a model, on the CPU."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def tensors_of(model: Any, names: Sequence[str], inputs: Mapping[str, Array]) -> list[Array]:
    """The values of the tensors `names` of a model, in this order, as onnxruntime computes them
    from the inputs."""
    made = onnx.ModelProto.FromString(model.SerializeToString())
    del made.graph.output[:]
    made.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in names)
    return list(session(made).run(None, dict(inputs)))


def errors(
    net: Network, model: Any, inputs: Mapping[str, Array], reference: bool
) -> dict[str, float]:
    """The relative error of each tensor of the network for these inputs, by the tensor's name,
    compared with onnxruntime's values, or, if `reference`, with those of `onnx.reference`."""
    found = net.trace(**inputs)
    names = list(found)
    right = expected(model, inputs, names) if reference else tensors_of(model, names, inputs)
    return {
        name: float(np.linalg.norm(found[name] - want) / (np.linalg.norm(want) or 1))
        for name, want in zip(found, right, strict=True)
    }


def median_ms(run: Callable[[], object]) -> float:
    """The median time of a call of `run`, in milliseconds, after a first call that is not
    counted."""
    run()
    times = []
    for _ in range(RUNS):
        begun = time.perf_counter()
        run()
        times.append(1e3 * (time.perf_counter() - begun))
    return statistics.median(times)


def compared(name: str, size: int | None, device: str, reference: bool) -> tuple[str, bool]:
    """A pair: the line to print for the network `name` on a device (its errors, times and bytes,
    and onnxruntime's time), and True if no tensor has a relative error above `KNOWN`. Images have
    `size` pixels each way (None: the network's own size); tensors are compared with those of
    onnxruntime, or, with `reference`, of `onnx.reference`."""
    random = np.random.default_rng()
    model = model_of(name, random, size)
    begun = time.process_time()
    net = explore.network(model, shapes=shapes_of(model, size or 224), device=device)
    took = time.process_time() - begun
    shapes = {name: kind.shape for name, kind in net.layers.inputs.items()}
    inputs = {n: random.uniform(-1, 1, shape).astype(np.float32) for n, shape in shapes.items()}
    found = errors(net, model, inputs, reference)
    where = max(found, key=lambda n: found[n])
    last = max(found[n] for n in net.layers.outputs)
    other = session(model)
    theirs = median_ms(lambda: other.run(None, inputs))
    ours = median_ms(lambda: net(**inputs))
    plan = net.plan
    return (
        f"{Path(name).stem:14} {next(iter(shapes.values()))} {len(net.layers.layers):3} layers, "
        f"{len(net.layers.programs):3} programs, made in {took:5.1f} s; error {last:.1e}, of "
        f"{len(found)} tensors at most {found[where]:.1e} ({where}); {ours:8.2f} ms, onnxruntime "
        f"{theirs:8.2f} ms; {show_bytes(net.memory_bytes)}, arena {plan.plan.workspace_bytes:,} "
        f"(bound {plan.bound:,})"
    ), found[where] <= KNOWN


@dataclass(frozen=True, slots=True)
class Wanted:
    """The network that is wanted of a model: for images of `size` pixels each way (None: its own
    size), on a `device`, the fastest that takes at most `budget` bytes of global memory (None:
    any), among `tried` variants of each layer, on average (0: by estimates), which are measured by
    `clock`."""

    size: int | None
    device: str
    tried: int = 0
    budget: int | None = None
    clock: Clock = time.process_time_ns  # other programs that share the cores do not add to it


def measured(
    layers: Layers,
    target: Target,
    session: Session,
    tried: int,
    clock: Clock = time.process_time_ns,
) -> Chooser:
    """A chooser among the options of a network's layers: `tried` variants of each layer's program,
    on average, are measured by `clock` on the session's device (0: none, times are rough
    estimates)."""
    return Chooser.of(layers, quickly(layers, target, session, tried, clock=clock))


def chosen(model: Any, wanted: Wanted) -> tuple[Choice, Session]:
    """The choice for a model's network that is wanted, and the session on the device."""
    layers = layers_of(read_model(model, shapes_of(model, wanted.size or 224)))
    target = target_of(wanted.device, None, ())
    assert target.device is not None
    session = open_device(target.device)
    chooser = measured(layers, target, session, wanted.tried, wanted.clock)
    if wanted.budget is None:
        return chooser.fastest(), session
    return chooser.within(wanted.budget), session


def beside(name: str, wanted: Wanted, engines: Sequence[EngineName]) -> Sequence[Beside]:
    """The measurements of the network `name` as it is wanted, and of other engines that read the
    same model."""
    random = np.random.default_rng()
    model = model_of(name, random, wanted.size)
    choice, session = chosen(model, wanted)
    inputs = inputs_for(choice.layers, random)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.onnx"
        onnx.save(model, file)
        return beside_peers(choice.plan, file, inputs, session.device, engines)


def main() -> None:
    """Print a line for each network that the arguments name, or, with `--beside`, a table; the exit
    status is 1 if a tensor of one has a relative error above `KNOWN`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+", help="names of models, or files of them")
    parser.add_argument("--size", type=int, help="pixels of an image, each way")
    parser.add_argument("--device", default="cpu")
    parser.add_argument(
        "--reference", action="store_true", help="errors against onnx.reference, which is slow"
    )
    parser.add_argument("--beside", action="append", choices=[*INSTALL], help="an engine")
    parser.add_argument(
        "--tried", type=int, default=0, help="with --beside: variants of each layer to measure"
    )
    parser.add_argument("--budget", type=parse_bytes, help="with --beside: such as 11MiB")
    parser.add_argument(
        "--alone",
        action="store_true",
        help="with --beside: nothing else runs, so go by the clock",
    )
    given = parser.parse_args()
    if given.beside:
        for name in given.names:
            clock = time.perf_counter_ns if given.alone else time.process_time_ns
            wanted = Wanted(given.size, given.device, given.tried, given.budget, clock)
            found = beside(name, wanted, given.beside)
            print("\n".join([name, *beside_lines(found)]), flush=True)
        return
    good = []
    for name in given.names:
        line, agrees = compared(name, given.size, given.device, given.reference)
        print(line if agrees else f"{line}: WRONG", flush=True)
        good.append(agrees)
    sys.exit(not all(good))


if __name__ == "__main__":
    main()
