"""The device times of a plan's runs: when there are enough of them, and what they tell together."""

import statistics
from collections.abc import Sequence

import numpy as np

from codegen.plan import Plan
from ir.core.frozen import frozen

# One run or two tell that a plan is hopeless only if they are so slow that neither a cold start nor
# another process can be the reason: COLD times the limit (in all), and BRIEF nanoseconds each.
COLD = 4.0
BRIEF = 20e6
ENOUGH = 5  # runs that agree


@frozen
class KernelTime:
    """The median device time, in nanoseconds, of one launch: that of the kernel `name`."""

    name: str
    ns: float


@frozen
class Timing:
    """The device times of `runs` runs of a plan, a run's time being the sum over its kernels: the
    median and two quartiles, the median of each kernel, and the time of prepack. If it `gave_up`,
    runs were slower than was asked for, so that only few were made and the times are rough."""

    median_ns: float
    low_ns: float  # first quartile
    high_ns: float  # third quartile
    runs: int
    kernels: tuple[KernelTime, ...]
    prepack_ns: float  # once, when the constants were set
    gave_up: bool  # slower than was asked for: few runs, so a rough number

    @staticmethod
    def of(
        plan: Plan, samples: Sequence[Sequence[int]], prepack_ns: float, gave_up: bool
    ) -> "Timing":
        """The times of runs of a plan; `samples` has those of the kernels in each run."""
        low, median, high = np.percentile([sum(sample) for sample in samples], (25, 50, 75))
        names = [kernel.name for kernel in plan.kernels if not kernel.prepack]
        each = [float(statistics.median(column)) for column in zip(*samples, strict=True)]
        kernels = tuple(KernelTime(name, ns) for name, ns in zip(names, each, strict=True))
        spread = float(median), float(low), float(high)
        return Timing(*spread, len(samples), kernels, prepack_ns, gave_up)


def hopeless(runs: Sequence[float], ceiling: float) -> bool:
    """True if `runs` show that further runs would be slower than `ceiling` too.

    Three show it if all of them are slower, fewer if they are so slow that the next will not be
    quick.
    """
    if len(runs) >= 3:
        return min(runs) > ceiling
    return min(runs) > max(BRIEF, COLD * ceiling / len(runs))


def agree(totals: list[int], steady: float) -> bool:
    """True if enough runs took equally long: of their times `totals`, the middle half spans less
    than steady · median."""
    if len(totals) < ENOUGH:
        return False
    low, median, high = np.percentile(totals, (25, 50, 75))
    return bool(high - low < steady * median)
