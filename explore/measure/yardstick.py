"""The yardstick: a kernel of fixed work, timed between measurements: it shows a machine's pace."""

from collections.abc import Callable

import numpy as np

from codegen.plan import Buffer, Kernel, Plan, Role
from codegen.runtime.devices import Device
from codegen.runtime.session import Session

TRIPS, CHAINS = 512, 10
GROUP = 64
READING_NS = 2e6  # launches of a reading take at least so long
FEW, MOST = 3, 64  # launches of a reading


def fmas(width: int) -> str:
    """The source of the yardstick's kernel: independent chains of multiply-adds on vectors of this
    width."""
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


def width_of(device: Device) -> int:
    """The width of vectors that suits the device's kind."""
    return 4 if device.kind == "gpu" else 16


def items_of(device: Device) -> int:
    """The number of work-items in a launch of the yardstick on a device; a launch is a part of its
    work."""
    return group_of(device) * max(64, device.compute_units * 64) // parts_of(device)


def parts_of(device: Device) -> int:
    """The number of launches that the yardstick's whole work takes on a device. A reading times one
    or more of them: a CPU needs milliseconds for a few."""
    return 1 if device.kind == "gpu" else 16


def group_of(device: Device) -> int:
    return min(GROUP, device.max_work_group)


def operations(device: Device) -> float:
    """The number of operations of one launch of the yardstick on a device; a multiply-add counts as
    two."""
    return 2.0 * items_of(device) * TRIPS * CHAINS * width_of(device)


def work(device: Device) -> float:
    """The number of operations of the yardstick's whole work on a device, which a reading times."""
    return parts_of(device) * operations(device)


def plan_of(device: Device) -> Plan:
    """The plan of the yardstick for a device: one launch of nothing but arithmetic."""
    items = items_of(device)
    x = Buffer("x", "float", (items + 1,), 4 * (items + 1), Role.INPUT)
    y = Buffer("y", "float", (items,), 4 * items, Role.OUTPUT)
    sizes = (items, 1, 1), (group_of(device), 1, 1)
    launch = Kernel("fmas", *sizes, ("x", "y"), False, fmas(width_of(device)))
    return Plan((launch,), (x, y), x.bytes + y.bytes, 0)


def inputs_of(plan: Plan) -> dict[str, np.ndarray]:
    """The inputs of a yardstick's plan: every element is 0.5, so that its multiply-adds stay
    finite."""
    return {b.name: np.full(b.shape, 0.5, np.float32) for b in plan.buffers if b.role is Role.INPUT}


class Yardstick:
    """The yardstick made ready on a device.

    A reading is the middle one of several launches by the device's clock: a process that takes a
    core of ours, or wakes us late, hits some of them and says nothing of the device's pace, while a
    device that is slow slows them all.
    """

    def __init__(self, middle_ns: Callable[[int], float], parts: int) -> None:
        """The yardstick whose work takes `parts` launches, of which `middle_ns` times any number
        for the middle one's time."""
        self._middle_ns, self._parts = middle_ns, parts
        self._count = int(min(MOST, max(FEW, -(-READING_NS // middle_ns(FEW)))))

    @staticmethod
    def on(session: Session) -> "Yardstick":
        """The yardstick on the device of a session."""
        plan = plan_of(session.device)
        inputs, built = inputs_of(plan), session.build(plan)
        there = session.copies(inputs)

        def middle_ns(count: int) -> float:
            return built.time(inputs, count, warmup=1, turns=there).median_ns

        return Yardstick(middle_ns, parts_of(session.device))

    def reading(self) -> float:
        """The nanoseconds that the yardstick's work takes now."""
        return self._parts * self._middle_ns(self._count)
