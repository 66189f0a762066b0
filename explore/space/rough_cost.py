"""A rough estimate of a kernel's time from its features: good for an order of variants, not as a
number.

A search first tries variants with low estimates, and its model then learns how far estimates are
off; for a device that is not here, the estimates alone rank the variants.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

from constraints.devices import Profile
from explore.results.records import Predicted, Variant

ESTIMATE = "estimate"  # the feature that holds it, in nanoseconds
SPILL = 4.0  # what an overfull register file costs


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs in nanoseconds of one core: of an operation, of loading a register, of a byte of
    global memory, of beginning a work-item or a group, of waiting for a group, and of a launch. A
    core is busy with `busy` items at once."""

    arithmetic: float  # an operation on a register
    load: float  # of a register, from the nearest cache or from local memory
    byte: float  # to or from global memory
    item: float  # beginning one
    group: float
    wait: float  # of an item for the others of its group
    launch: float  # of a kernel, for all cores
    busy: int  # items that a core needs at once


# Fitted to 600 random variants of a small layer on a CPU, and found to order those of VGG's layers
# 2 and 7 too (rank correlation 0.88 to 0.92). The others follow from clocks, lanes and bandwidths;
# no variant was measured for them.
CPU = Costs(0.2, 0.08, 0.004, 0.7, 40.0, 2.0, 3e3, 1)
GPU = Costs(0.002, 0.018, 0.027, 0.05, 20.0, 2.0, 4e3, 256)
MOBILE = Costs(0.06, 0.3, 0.6, 1.0, 200.0, 4.0, 3e4, 64)


def costs_of(device: Profile) -> Costs:
    """The costs of the kind of device: a CPU, a GPU with local memory of its own, or a mobile
    GPU."""
    if device.resident_items == 1:
        return CPU
    return GPU if device.dedicated_local else MOBILE


def estimate(features: Mapping[str, float], device: Profile) -> float:
    """The estimated nanoseconds of a kernel: its work over the number of cores that are busy."""
    costs = costs_of(device)
    together = min(features["resident groups"], ceil(features["groups"] / device.cores))
    busy = min(1.0, together * features["group items"] / costs.busy)
    spill = SPILL if features["private bytes"] > 4 * device.private_words else 1.0
    work = spill * _work(features, device, costs)
    return work / (device.cores * features["tail"] * busy) + costs.launch


def _work(features: Mapping[str, float], device: Profile, costs: Costs) -> float:
    """The estimated nanoseconds of a kernel's work on one core: GPU items compute on scalars, CPU
    items on vectors."""
    lanes = device.vector if device.resident_items == 1 else 1
    waits = features["staged"] * features["group items"] / features["resident groups"]
    return (
        costs.arithmetic * max(features["instructions"], features["operations"] / lanes)
        + costs.load * max(features["loads"], features["words"] / lanes)
        + costs.byte * features["bytes moved"]
        + costs.item * features["threads"]
        + costs.group * features["groups"]
        + costs.wait * waits
    )


def predicted(variant: Variant) -> Predicted:
    """The time that is predicted for a variant from rough estimates, in place of a measurement."""
    return Predicted(sum(dict(kernel)[ESTIMATE] for kernel in variant.features))
