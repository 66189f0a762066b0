"""The tasks of the worker that checks and times variants, and their results: all that the one who
asks knows of measuring."""

from collections.abc import Sequence
from dataclasses import replace

from codegen.plan import Plan
from explore.results.pace import Level, Reading
from explore.results.records import Measured
from ir.core.frozen import frozen

ROTATED = 64 << 20  # bytes of inputs to go through before one comes again: more than most caches
COPIES = 8
RUN_LIMIT = 60.0  # seconds a variant, checks included
PASSES = 5  # of measuring the front again


@frozen
class Measure:
    """A task to check the plan of candidate `number` and time it. A plan is hopeless if it is
    slower than `ceiling_ns` (None: no limit) on a machine whose yardstick takes `usual_ns`.
    `build_ns` is the time that building took, and `rounding` the error, in machine epsilons, that
    the derivation may cause in results for whole numbers. If `in_part`, a plan that takes long is
    only timed, by some of its groups, and not checked."""

    number: int
    plan: Plan
    ceiling_ns: float | None = None
    usual_ns: float | None = None
    build_ns: float = 0.0
    rounding: float = 0.0  # machine epsilons that its derivation may lose on whole numbers
    in_part: bool = False  # if it takes long: only timed, by some groups


@frozen
class Again:
    """A task to time plans whose results were checked earlier and were right, in turns, `passes`
    times. After `limit_s` seconds (None: no limit), no pass begins but the first two."""

    plans: tuple[Plan, ...]
    passes: int = PASSES
    limit_s: float | None = None


@frozen
class Passes:
    """The result of `Again`: for each plan, its readings, one a pass, and its kernels' device
    times; and the yardstick's middle time."""

    readings: tuple[tuple[Reading, ...], ...]  # of each plan
    kernels_ns: tuple[tuple[float, ...], ...]
    yardstick_ns: float

    @property
    def medians_ns(self) -> list[float]:
        """The median time of each plan, all at the same pace."""
        return [Level.of(taken).median_ns for taken in self.readings]


def turns_of(size: int) -> int:
    """The number of copies of inputs of `size` bytes that are used in turns, so that no cache holds
    an input."""
    return min(COPIES, max(1, ROTATED // max(1, size)))


def remeasured(
    before: Measured, taken: Sequence[Reading], kernels_ns: tuple[float, ...]
) -> Measured:
    """The outcome `before` with new times: an inference takes the median of the readings `taken`,
    and its kernels take `kernels_ns`."""
    level = Level.of(taken)
    return replace(
        before,
        time_ns=level.median_ns,
        spread=level.spread,
        runs_ns=level.times_ns,
        kernels_ns=kernels_ns,
        stopped_early=False,
        clock="end to end",
        yardstick_ns=level.yardstick_ns,
        slowdown=1.0,
    )
