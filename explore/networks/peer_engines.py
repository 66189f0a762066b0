"""Engines that run a network, each in a fresh process of its own: convlift reads its plan and a
file of weights, others read the model's file. Each reports its times, and how much memory its
process took, with its library and without."""

import pickle
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from codegen.runtime.devices import Device
from explore.export.contents_places import stored_constants
from explore.networks.ncnn_engine import ncnn_engine
from explore.onnx_model.onnx_graph import Array
from explore.options.option_values import demand_one
from ir.core.frozen import frozen
from ir.errors import UserError

EngineName = Literal["convlift", "onnxruntime", "openvino", "ncnn"]
ENGINES = get_args(EngineName)
FIRST_RUNS = 2
QUIET_S = 0.15  # after its last inference, onnxruntime's threads spin for 40 ms
INSTALL: Mapping[EngineName, Sequence[str]] = {
    "onnxruntime": ("onnxruntime",),
    "openvino": ("openvino",),
    "ncnn": ("ncnn", "--no-deps pnnx"),
}
"""The arguments of `pip install` for each engine. `pnnx` converts for ncnn, and needs no others
for that."""

Run = Callable[[], object]


@frozen
class Opened:
    """An engine to open: its name, the file that it reads, its inputs, how many threads it may
    have, and, for convlift alone, the plan, pickled, and the device."""

    engine: EngineName
    file: Path
    inputs: Mapping[str, Array]
    threads: int
    plan: bytes = b""
    device: Device | None = None


@frozen
class Grown:
    """The bytes by which a process grew until it had run a network: the most at any time, and at
    the end."""

    most: int
    kept: int


@frozen
class Growth:
    """The growth of an engine's process, counted from before the engine's library was loaded
    (`whole`), and from after that, before the network was (`network`)."""

    whole: Grown
    network: Grown


@dataclass(slots=True)
class Engine:
    """An engine with a loaded network: `run` computes one inference, and `growth` is how its
    process grew while it loaded the network and first ran it."""

    run: Run
    growth: Growth


@frozen
class Turn:
    """The mean time of an inference in nanoseconds: by the clock, and processor time."""

    wall_ns: float
    processor_ns: float


def opened(task: Opened) -> Engine:
    """The engine of a task, loaded in this process, which has done nothing else before."""
    _forget_peak()
    bare = _status("VmRSS")
    load = LOADERS[task.engine](task)
    most = _status("VmHWM")
    _forget_peak()
    before = _status("VmRSS")
    run = load()
    for _ in range(FIRST_RUNS):
        run()
    later, kept = _status("VmHWM"), _status("VmRSS")
    whole = Grown(max(most, later) - bare, kept - bare)
    return Engine(run, Growth(whole, Grown(later - before, kept - before)))


def turn(engine: Engine, count: int) -> Turn | Growth:
    """The mean time of `count` inferences, after a pause, in which the threads of other engines
    cease to wait on the processors for more work, and an inference that is not counted; for a count
    of 0, how much the engine's process grew."""
    if not count:
        return engine.growth
    time.sleep(QUIET_S)
    engine.run()
    begun, busy = time.perf_counter_ns(), time.process_time_ns()
    for _ in range(count):
        engine.run()
    wall, processor = time.perf_counter_ns() - begun, time.process_time_ns() - busy
    return Turn(wall / count, processor / count)


def _forget_peak() -> None:
    """Set the record that the system keeps of this process's peak memory to its present memory."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def _status(name: str) -> int:
    """The bytes in the field `name` of /proc/self/status, the status of this process."""
    with open("/proc/self/status") as file:
        lines = dict(line.split(":", 1) for line in file)
    return int(lines[name].split()[0]) << 10


# ---- what opens each: a library is imported first, and what is returned loads the network


def _ours(task: Opened) -> Callable[[], Run]:
    from codegen.runtime.session import open_device

    device = task.device
    assert device is not None
    open_device(device)  # the driver is a library, too

    def load() -> Run:
        plan = pickle.loads(task.plan)
        program = open_device(device).build(plan, together=True)
        program.set_constants(dict(stored_constants(plan, task.file)), held=False)
        return lambda: program(task.inputs)

    return load


def _onnxruntime(task: Opened) -> Callable[[], Run]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = task.threads

    def load() -> Run:
        session = onnxruntime.InferenceSession(
            str(task.file), options, providers=["CPUExecutionProvider"]
        )
        return lambda: session.run(None, dict(task.inputs))

    return load


def _openvino(task: Opened) -> Callable[[], Run]:
    import openvino

    core = openvino.Core()
    numbers: dict[str, Any] = {"INFERENCE_NUM_THREADS": task.threads, "PERFORMANCE_HINT": "LATENCY"}
    numbers["INFERENCE_PRECISION_HINT"] = "f32"

    def load() -> Run:
        model = core.read_model(str(task.file))
        model.reshape({name: list(np.shape(a)) for name, a in task.inputs.items()})
        request = core.compile_model(model, "CPU", numbers).create_infer_request()
        return lambda: request.infer(dict(task.inputs))

    return load


def _ncnn(task: Opened) -> Callable[[], Run]:
    return ncnn_engine(task.file, task.inputs, task.threads)


LOADERS: Mapping[EngineName, Callable[[Opened], Callable[[], Run]]] = {
    "convlift": _ours,
    "onnxruntime": _onnxruntime,
    "openvino": _openvino,
    "ncnn": _ncnn,
}


def engine_named(name: str) -> EngineName:
    """The name of an engine other than convlift, as a user wrote it; a UserError if there is no
    such engine."""
    demand_one("engine", name, tuple(INSTALL))
    return next(engine for engine in INSTALL if engine == name)


def demand_installed(engines: Sequence[EngineName]) -> None:
    """Raises a UserError that says what to install if one of the engines is not here."""
    for name in engines:
        if any(find_spec(told.split()[-1]) is None for told in INSTALL[name]):
            ways = " && ".join(f"pip install {told}" for told in INSTALL[name])
            raise UserError(f"{name} is not here: {ways}")
