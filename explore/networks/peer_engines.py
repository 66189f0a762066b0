"""Engines that run a network, each in a process of its own: convlift reads its plan and a file of
weights, others read the model's file. Each reports its times, and how much memory its process
took."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from codegen.plan import Plan
from codegen.runtime.devices import Device
from codegen.runtime.session import open_device
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
INSTALL: Mapping[str, Sequence[str]] = {
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
    have, and, for convlift alone, the plan and the device."""

    engine: EngineName
    file: Path
    inputs: Mapping[str, Array]
    threads: int
    plan: Plan | None = None
    device: Device | None = None


@frozen
class Grown:
    """The bytes by which a process grew while it loaded a network and first ran it: the most at any
    time, and at the end."""

    most: int
    kept: int


@dataclass(slots=True)
class Engine:
    """An engine with a loaded network: `run` computes one inference, and `grown` is how its process
    grew while it loaded the network and first ran it."""

    run: Run
    grown: Grown


@frozen
class Turn:
    """The mean time of an inference in nanoseconds: by the clock, and processor time."""

    wall_ns: float
    processor_ns: float


def opened(task: Opened) -> Engine:
    """The engine of a task, loaded in this process; growth is counted from after its library is
    imported."""
    load = LOADERS[task.engine](task)
    _forget_peak()
    before = _status("VmRSS")
    run = load()
    for _ in range(FIRST_RUNS):
        run()
    return Engine(run, Grown(_status("VmHWM") - before, _status("VmRSS") - before))


def turn(engine: Engine, count: int) -> Turn | Grown:
    """The mean time of `count` inferences, after a pause, in which the threads of other engines
    cease to wait on the processors for more work, and an inference that is not counted; for a count
    of 0, how much the engine's process grew."""
    if not count:
        return engine.grown
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
    plan, file = task.plan, task.file
    assert plan is not None
    assert task.device is not None
    session = open_device(task.device)

    def load() -> Run:
        program = session.build(plan, together=True)
        program.set_constants(dict(stored_constants(plan, file)), held=False)
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
    return name  # type: ignore[return-value]


def demand_installed(engines: Sequence[EngineName]) -> None:
    """Raises a UserError that says what to install if one of the engines is not here."""
    for name in engines:
        if any(find_spec(told.split()[-1]) is None for told in INSTALL[name]):
            ways = " && ".join(f"pip install {told}" for told in INSTALL[name])
            raise UserError(f"{name} is not here: {ways}")
