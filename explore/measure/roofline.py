"""The peaks of a device, measured: multiply-adds a second, and bytes copied a second."""

from functools import partial

import numpy as np

from codegen.plan import Buffer, Kernel, Plan, Role
from codegen.runtime.devices import Device
from codegen.runtime.results import BuildFailed, RunFailed
from codegen.runtime.session import Session, open_device
from explore.results.records import Failed
from explore.workers.pool import Pool

LIMIT = 30.0  # seconds
TRIPS, CHAINS = 512, 10
GROUP = 64
COPIED = 32 << 20  # bytes
TRIES = 10


def fmas(width: int) -> str:
    """The source of a kernel of independent chains of multiply-adds on vectors of this width."""
    names = [f"a{j}" for j in range(CHAINS)]
    start = "".join(f"  T {a} = b + {j}.0f;\n" for j, a in enumerate(names))
    step = "".join(f"    {a} = fma({a}, b, c);\n" for a in names)
    return f"""#define T float{width}
kernel void fmas(global const float *x, global float *y) {{
  int i = get_global_id(0);
  T b = x[i], c = x[i + 1];
{start}  for (int t = 0; t < {TRIPS}; ++t) {{
{step}  }}
  T sum = {" + ".join(names)};
  y[i] = sum.s0 + sum.s1 + sum.s{width - 1:x};
}}
"""


def copy(width: int) -> str:
    """The source of a kernel that copies vectors of this width, neighbours by neighbours."""
    return f"""
kernel void copy(global const float{width} *x, global float{width} *y) {{
  y[get_global_id(0)] = x[get_global_id(0)];
}}
"""


def measured(device: Device) -> tuple[float | None, float | None]:
    """The measured peaks, operations and bytes a second, each None where it could not be
    measured."""
    pool: Pool[str, float] = Pool(
        _rate, workers=1, timeout=LIMIT, stage="run", setup=partial(open_device, device)
    )
    with pool:
        pool.submit("fmas")
        pool.submit("copy")
        found = {
            done.task: None if isinstance(done.result, Failed) else float(done.result)
            for _ in range(2)
            for done in pool.results()
        }
    return found.get("fmas"), found.get("copy")


def _rate(session: Session, what: str) -> float | Failed:
    try:
        return _fmas(session) if what == "fmas" else _copy(session)
    except (BuildFailed, RunFailed) as error:
        return Failed("run", str(error))


def _width(device: Device) -> int:
    """The width of the vectors that suit the device's kind."""
    return 4 if device.kind == "gpu" else 16


def _fmas(session: Session) -> float:
    width = _width(session.device)
    group = min(GROUP, session.device.max_work_group)
    items = group * max(64, session.device.compute_units * 64)
    done = 2.0 * items * TRIPS * CHAINS * width
    return done / _seconds(session, fmas(width), "fmas", items, group, (items + 1, items))


def _copy(session: Session) -> float:
    width = _width(session.device)
    group = min(GROUP, session.device.max_work_group)
    items = COPIED // (4 * width) // group * group
    cells = items * width
    return 8.0 * cells / _seconds(session, copy(width), "copy", items, group, (cells, cells))


def _seconds(
    session: Session, source: str, name: str, items: int, group: int, cells: tuple[int, int]
) -> float:
    given, made = cells
    x = Buffer("x", "float", (given,), 4 * given, Role.INPUT)
    y = Buffer("y", "float", (made,), 4 * made, Role.OUTPUT)
    launch = Kernel(name, (items, 1, 1), (group, 1, 1), ("x", "y"), False, source)
    built = session.build(Plan((launch,), (x, y), x.bytes + y.bytes, 0))
    data = np.full(given, 0.5, np.float32)
    timings = (built.time({"x": data}, runs=3, warmup=1, limit_s=1.0) for _ in range(TRIES))
    return min(timing.low_ns for timing in timings) / 1e9
