"""Limits of a device, measured: multiply-adds a second, bytes a second, and the times of launches
and of the yardstick."""

import statistics
from collections.abc import Callable, Mapping
from functools import partial

from codegen.plan import Buffer, Kernel, Plan, Role
from codegen.runtime.devices import Device
from codegen.runtime.results import BuildFailed, RunFailed
from codegen.runtime.session import Session, open_device
from explore.measure import yardstick
from explore.measure.yardstick import Yardstick
from explore.results.records import Failed
from explore.workers.pool import Pool
from explore.workers.wait_any import each_done

LIMIT = 30.0  # seconds
COPIED = 32 << 20  # bytes
LEAST, TRIES = 3, 10  # the number of tries
STEADY = 0.01  # the two quickest tries agree if they differ by no more than this share
LAUNCHES, BATCHES = 200, 30  # of the empty kernel: launches in a batch, and batches
READINGS = 9


def copy(width: int) -> str:
    """The source of a kernel that copies vectors of this width; neighbouring work-items copy
    neighbours."""
    return f"""
kernel void copy(global const float{width} *x, global float{width} *y) {{
  y[get_global_id(0)] = x[get_global_id(0)];
}}
"""


EMPTY = "kernel void empty(global const float *x, global float *y) {}\n"


def measured(device: Device) -> Mapping[str, float | None]:
    """The limits of a device by their names in `Bounds`; None for what could not be measured."""
    pool: Pool[str, float] = Pool(
        _limit, workers=1, timeout=LIMIT, stage="run", setup=partial(open_device, device)
    )
    with pool:
        done = {d.task: d.result for d in each_done(pool, list(_LIMITS))}
    return {name: None if isinstance(ns, Failed) else float(ns) for name, ns in done.items()}


def _limit(session: Session, name: str) -> float | Failed:
    try:
        return _LIMITS[name](session)
    except (BuildFailed, RunFailed) as error:
        return Failed("run", str(error))


def _fmas(session: Session) -> float:
    plan = yardstick.plan_of(session.device)
    return yardstick.operations(session.device) / _seconds(session, plan)


def _copy(session: Session) -> float:
    width, group = yardstick.width_of(session.device), yardstick.group_of(session.device)
    items = COPIED // (4 * width) // group * group
    plan = _on_cells(session.device, "copy", copy(width), items, items * width)
    return 8.0 * items * width / _seconds(session, plan)


def _launch(session: Session) -> float:
    """The floor in nanoseconds: the time of an empty launch among many back to back, without
    profiling, in the quickest batch. Whatever else the host does makes launches slower."""
    plan = _empty(session.device)
    series = session.build(plan).series(yardstick.inputs_of(plan))
    series.warm()
    return min(series.batch(LAUNCHES) for _ in range(BATCHES))


def _event(session: Session) -> float:
    """The least device time of an empty kernel in nanoseconds, by its event."""
    plan = _empty(session.device)
    timing = session.build(plan).time(yardstick.inputs_of(plan), runs=LAUNCHES, limit_s=1.0)
    return timing.low_ns


def _pace(session: Session) -> float:
    """The nanoseconds that the yardstick takes now: the median of a few readings."""
    here = Yardstick.on(session)
    return statistics.median(here.reading() for _ in range(READINGS))


_LIMITS: Mapping[str, Callable[[Session], float]] = {
    "peak_flops": _fmas,
    "bandwidth": _copy,
    "launch_ns": _launch,
    "event_ns": _event,
    "yardstick_ns": _pace,
    "yardstick_operations": lambda session: yardstick.work(session.device),
}


def _empty(device: Device) -> Plan:
    group = yardstick.group_of(device)
    return _on_cells(device, "empty", EMPTY, group, group)


def _on_cells(device: Device, name: str, source: str, items: int, cells: int) -> Plan:
    """The plan of the kernel `name` in this source, run by `items` work-items, from one array of
    `cells` floats to another."""
    x = Buffer("x", "float", (cells,), 4 * cells, Role.INPUT)
    y = Buffer("y", "float", (cells,), 4 * cells, Role.OUTPUT)
    group = yardstick.group_of(device)
    launch = Kernel(name, (items, 1, 1), (group, 1, 1), ("x", "y"), False, source)
    return Plan((launch,), (x, y), x.bytes + y.bytes, 0)


def _seconds(session: Session, plan: Plan) -> float:
    """The least time that a run of the plan takes, in seconds. Tries end when the two quickest
    agree."""
    built, data, lows = session.build(plan), yardstick.inputs_of(plan), list[float]()
    while len(lows) < TRIES and (len(lows) < LEAST or lows[1] > (1 + STEADY) * lows[0]):
        timing = built.time(data, runs=3, warmup=1, limit_s=1.0)
        lows = sorted([*lows, timing.low_ns])
    return lows[0] / 1e9
