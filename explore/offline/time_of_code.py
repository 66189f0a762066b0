"""The time of a kernel, predicted from its compiled code and its launch: the longest of what its
units, its messages to memory and the chip's memory take.

The units of a core work at the same time where enough work-items are there: the least time is that
of the busiest. The most is what all take one after the other, with as few work-items as the
registers leave room for. Neither knows of caches that miss: bytes count once in the least time,
and as often as work-groups ask for them in the most.
"""

from collections.abc import Mapping
from math import prod

from codegen.plan import Kernel, Plan
from explore.offline.device_rates import LINE, Rates
from explore.results.kernel_code import KernelCode
from ir.core.frozen import frozen

WORD = 4  # bytes
LAUNCH = 3e4  # nanoseconds, as the rough estimate has it for mobile devices


@frozen
class CodeTime:
    """The time of a kernel in nanoseconds: predicted, and the least and the most that it may be."""

    time_ns: float
    least_ns: float
    most_ns: float


def code_time(
    code: KernelCode, launch: Kernel, features: Mapping[str, float], rates: Rates, cores: int
) -> CodeTime | None:
    """The predicted time of a kernel on a device with these rates and so many cores; None if it is
    not known how much its work-items do. `features` are those of the kernel, for the bytes that it
    moves."""
    done = dict(code.done)
    if not done:
        return None
    cycles = _cycles(done, prod(launch.global_size), rates, cores)
    spilled = (code.spills + code.fills) * prod(launch.global_size) / rates.warp / cores
    tail = features.get("tail", 1.0) or 1.0
    once = features.get("buffer bytes", 0.0)
    often = max(once, features.get("bytes moved", 0.0))
    least = max(*(c / rates.clock_ghz for c in cycles), once / rates.bandwidth)
    most = (sum(cycles) + spilled) / rates.clock_ghz + often / rates.bandwidth
    most = most / (tail * code.threads)
    middle = max(least / tail, (least * most) ** 0.5)
    return CodeTime(middle + LAUNCH, least + LAUNCH, most + LAUNCH)


def _cycles(
    done: Mapping[str, float], items: int, rates: Rates, cores: int
) -> tuple[float, float, float]:
    """The cycles that arithmetic, shifts and messages take, each by itself, for all items on all
    cores; `done` is what a work-item carries out on average."""
    plain = done.get("tuples", done["instructions"] - done.get("sfu", 0.0))
    messages = done.get("messages", 0.0)
    bytes_moved = WORD * done.get("words", messages) * rates.warp
    return (
        items * plain / (rates.lanes * cores),
        items * done.get("sfu", 0.0) / (rates.shifts * cores),
        items / rates.warp / cores * max(messages, bytes_moved / LINE),
    )


def buffer_bytes(launch: Kernel, plan: Plan) -> float:
    """The bytes of the buffers that a kernel takes, each once."""
    sizes = {b.name: b.bytes for b in plan.buffers}
    return float(sum(sizes[name] for name in {*launch.arguments}))
