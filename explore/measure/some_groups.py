"""The time of a plan foretold from some of its work-groups.

Where one inference takes long, a few groups of each kernel tell that a plan is hopeless in a small
part of the time, and its results need not be checked: nothing is proposed that was not. The groups
are the first ones, so that kernels find their inputs as they would: what lies side by side is read
side by side. They run on memory that the caches may hold from the last time, so that a plan looks
quicker by them than it is, seldom slower.
"""

# key: d dimension of a launch

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any, Protocol

from codegen.plan import Kernel, Plan
from codegen.runtime.devices import Device
from codegen.runtime.timings import KernelTime, Timing
from ir.core.frozen import frozen
from ir.meaning.inputs import Data

SHARE = 16  # one group in so many
FEWEST, FEWEST_ON_GPU = 4, 64  # groups for each core, at least
RUNS, WARMUP = 3, 1


class Timed(Protocol):
    """The built plan whose runs are timed; a caller implements its methods."""

    def time(
        self,
        inputs: Mapping[str, Data],
        runs: int,
        warmup: int,
        turns: Sequence[Mapping[str, Any]],
    ) -> Timing:
        """The device times of some runs."""


@frozen
class SomeGroups:
    """A plan with some of the groups of each kernel that runs at an inference, and for each of
    these kernels, in their order, how many times as many groups it has in truth."""

    plan: Plan
    times: tuple[float, ...]

    @property
    def few(self) -> bool:
        """True if these are so few of all groups that running them is worth it."""
        return min(self.times) >= 2

    def foretold(
        self, built: Timed, inputs: Mapping[str, Data], turns: Sequence[Mapping[str, Any]]
    ) -> Timing:
        """The device times of an inference with all groups, foretold from runs of this plan, which
        is `built`, on these inputs; `turns` are buffers with copies of them."""
        taken = built.time(inputs, RUNS, WARMUP, turns)
        each = zip(taken.kernels, self.times, strict=True)
        kernels = tuple(KernelTime(kernel.name, kernel.ns * n) for kernel, n in each)
        once = sum(kernel.ns for kernel in kernels)
        return replace(
            taken, median_ns=once, low_ns=once, high_ns=once, kernels=kernels, gave_up=True
        )


def some_groups(plan: Plan, device: Device) -> SomeGroups:
    """A plan's kernels with some of their groups, enough to fill a device. Kernels that pack
    constants are left whole, as others read what they make."""
    each = FEWEST_ON_GPU if device.kind == "gpu" else FEWEST
    least = each * max(1, device.compute_units)
    cut = tuple(k if k.prepack else first_groups(k, least) for k in plan.kernels)
    times = tuple(
        _groups(whole) / _groups(part)
        for whole, part in zip(plan.kernels, cut, strict=True)
        if not whole.prepack
    )
    return SomeGroups(replace(plan, kernels=cut), times)


def first_groups(kernel: Kernel, least: int) -> Kernel:
    """The launch of the first groups of a kernel in the order in which a device runs them: one in
    `SHARE` of them, and at least `least`, if there are as many."""
    groups = [g // n for g, n in zip(kernel.global_size, kernel.local_size, strict=True)]
    wanted = max(least, -(-prod(groups) // SHARE))
    for d in reversed(range(len(groups))):
        groups[d] = min(groups[d], -(-wanted // prod(groups[:d])))
    x, y, z = (g * n for g, n in zip(groups, kernel.local_size, strict=True))
    return replace(kernel, global_size=(x, y, z))


def _groups(kernel: Kernel) -> int:
    return prod(kernel.global_size) // prod(kernel.local_size)
