"""Measurements of a network in convlift and in other engines: times measured in turns, and the
memory that each takes, measured in the same way."""

import os
import pickle
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from codegen.plan import Role
from codegen.runtime.devices import Device
from codegen.runtime.session import open_device
from explore.export.contents_places import WEIGHTS, places_of
from explore.network_choice.network_plan import NetworkPlan
from explore.networks.packed_network import packed_network
from explore.networks.peer_engines import EngineName, Growth, Opened, Turn, opened, turn
from explore.onnx_model.onnx_graph import Array
from explore.options.units import show_bytes, show_time
from explore.results.records import Failed
from explore.workers.pool import Pool
from explore.workers.wait_any import each_done
from ir.core.frozen import frozen
from ir.errors import UserError

PASSES = 11
TURN_NS = 2e8  # of runs in a turn
LIMIT = 300.0  # seconds of an engine to load, or to run a turn
OURS: EngineName = "convlift"
FRESH = {"CONVLIFT_ENGINE": "1"}  # a worker with a variable of its own is a fresh process, no fork


@frozen
class Beside:
    """The measurement of an engine: the medians of an inference's time, of its processor time, and
    of the ratio of its time to convlift's in the same pass; how much memory its process took
    (`growth`); and, for convlift, the bytes that its plan takes."""

    engine: EngineName
    time_ns: float
    processor_ns: float
    ratio: float
    growth: Growth
    planned: int | None = None


def beside_peers(
    plan: NetworkPlan,
    model: Path,
    inputs: Mapping[str, Array],
    device: Device,
    engines: Sequence[EngineName],
) -> list[Beside]:
    """The measurements of convlift's network (`plan`) and of these `engines`, which read the file
    `model`, on the same inputs; convlift's comes first, with its constants packed ahead."""
    threads = len(os.sched_getaffinity(0))
    given = {plan.tensors[name]: a for name, a in inputs.items()}
    session = open_device(device)
    plan = packed_network(plan, session)
    session.build(plan.plan, together=True)  # into the cache: a compiler's memory is no network's
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        weights = Path(folder) / Path(WEIGHTS).name
        _write_weights(plan, weights)
        ours = Opened(OURS, weights, given, threads, pickle.dumps(plan.plan), device)
        others = [Opened(engine, model, inputs, threads) for engine in engines]
        pools = {task.engine: stack.enter_context(_pool(task)) for task in (ours, *others)}
        growth = {name: _growth(pool) for name, pool in pools.items()}
        counts = {n: max(1, int(TURN_NS / _turn(pool, 1).wall_ns)) for n, pool in pools.items()}
        passes = [
            {name: _turn(pool, counts[name]) for name, pool in pools.items()} for _ in range(PASSES)
        ]
    measured = [_beside(name, passes, growth[name]) for name in pools]
    return [replace(b, planned=plan.memory_bytes) if b.engine == OURS else b for b in measured]


def _beside(
    name: EngineName, passes: Sequence[Mapping[EngineName, Turn]], growth: Growth
) -> Beside:
    return Beside(
        name,
        statistics.median(p[name].wall_ns for p in passes),
        statistics.median(p[name].processor_ns for p in passes),
        statistics.median(p[name].wall_ns / p[OURS].wall_ns for p in passes),
        growth,
    )


def _pool(task: Opened) -> "Pool[int, Turn | Growth]":
    """A pool of one fresh process, in which the engine of `task` is opened."""
    setup = partial(opened, task)
    return Pool(turn, workers=1, timeout=LIMIT, stage="run", setup=setup, env=FRESH)


def _growth(pool: "Pool[int, Turn | Growth]") -> Growth:
    found = _done(pool, 0)
    assert isinstance(found, Growth)
    return found


def _turn(pool: "Pool[int, Turn | Growth]", count: int) -> Turn:
    found = _done(pool, count)
    assert isinstance(found, Turn)
    return found


def _done(pool: "Pool[int, Turn | Growth]", count: int) -> Turn | Growth:
    (done,) = each_done(pool, [count])
    if isinstance(done.result, Failed):
        raise UserError(
            f"an engine that is timed beside others failed: {done.result.reason}\n"
            f"{done.result.detail}".rstrip()
        )
    return done.result


def _write_weights(plan: NetworkPlan, file: Path) -> None:
    places = places_of(plan.plan)
    with file.open("wb") as opened_file:
        for b in plan.plan.buffers:
            if b.role is Role.CONST:
                opened_file.seek(places[b.name].at)
                opened_file.write(np.ascontiguousarray(plan.constants[b.name]).tobytes())


def beside_lines(found: Sequence[Beside]) -> list[str]:
    """The lines of a table of engines: times, and bytes by which the processes grew, counted from
    before the network was loaded and from before the library was; and a line on the bytes of
    convlift's plan."""
    lines = [
        f"{'':14} {'':9} {'':10} {'':10} {'the network':>21} {'with its library':>21}",
        f"{'engine':14} {'time':>9} {'times ours':>10} {'processors':>10} "
        f"{'most':>10} {'kept':>10} {'most':>10} {'kept':>10}",
    ]
    for b in found:
        network, whole = b.growth.network, b.growth.whole
        lines.append(
            f"{b.engine:14} {show_time(b.time_ns):>9} {b.ratio:10.2f} "
            f"{show_time(b.processor_ns):>10} {show_bytes(network.most):>10} "
            f"{show_bytes(network.kept):>10} {show_bytes(whole.most):>10} "
            f"{show_bytes(whole.kept):>10}"
        )
    planned = [b.planned for b in found if b.planned is not None]
    return [*lines, *(f"of {OURS}'s, buffers take {n:,} bytes, as planned" for n in planned)]
