"""A rough estimate of a kernel's time from its features: good for an order of variants, not as a
number.

A search first tries variants with low estimates, and its model then learns how far estimates are
off; for a device that is not here, the estimates alone rank the variants.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from constraints.devices import Profile
from explore.results.records import Predicted, Variant

ESTIMATE = "estimate"  # the feature that holds it, in nanoseconds
IN_PAIRS = "in pairs"  # the feature that counts operations of which an instruction makes two
SPILL = 4.0  # what an overfull register file costs


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """The costs in nanoseconds of one core: of an operation, of a product that a sub-group makes by
    an instruction, of loading a register (of one load of as many as a vector has, if `wide`), of a
    byte of global memory, of beginning a work-item or a group, of waiting for a group, and of a
    launch. A core is busy with `busy` items at once; with a share of them it does that share of its
    work, raised to the power `gain`. Of the arrays of a kernel, bytes beyond the first `near` ones
    come from memory, at `far` each for all cores."""

    arithmetic: float  # an operation on a register
    product: float = 0.0  # a byte of a factor, by an instruction of a sub-group
    load: float  # of a register, from the nearest cache or from local memory
    byte: float  # to or from global memory
    item: float  # beginning one
    group: float
    wait: float  # of an item for the others of its group
    launch: float  # of a kernel, for all cores
    busy: int  # items that a core needs at once
    gain: float = 1.0
    far: float = 0.0
    near: int = 0
    wide: bool = False  # a vector is loaded at the cost of one number


# Fitted to 600 random variants of a small layer on a CPU, and found to order those of VGG's layers
# 2 and 7 too (rank correlation 0.88 to 0.92); `far` is that of a memory with 20 GB/s, and `near`
# what caches hold: on a GPU every byte that groups move is dear. Those of GPUs follow from clocks,
# lanes and bandwidths, those of mobile ones too.
CPU = Costs(
    arithmetic=0.2,
    load=0.08,
    byte=0.004,
    item=0.7,
    group=40.0,
    wait=2.0,
    launch=3e3,
    busy=1,
    far=0.05,
    near=64 << 20,
    wide=True,
)
GPU = Costs(
    arithmetic=0.002, load=0.018, byte=0.027, item=0.05, group=20.0, wait=2.0, launch=4e3, busy=256
)
# A load is a message of up to four words, for whose address four instructions are needed.
MOBILE = Costs(
    arithmetic=0.06,
    load=0.3,
    byte=0.6,
    item=1.0,
    group=200.0,
    wait=4.0,
    launch=3e4,
    busy=64,
    wide=True,
)
# Kernels that multiply by instructions of a sub-group, on a GPU: loads go on beside products.
# Fitted to 2,815 variants of eight of VGG's layers on an H200 (rank correlation 0.66 to 0.82 within
# a layer), and scaled so that they are underestimated by as much as others are.
PRODUCTS = Costs(
    arithmetic=0.002,
    product=0.0001,
    load=0.001,
    byte=0.0033,
    item=0.0001,
    group=190.0,
    wait=0.7,
    launch=4e3,
    busy=320,
    gain=0.66,
)


def costs_of(device: Profile, features: Mapping[str, float]) -> Costs:
    """The costs of a kernel with these features on devices of this one's kind: CPUs, GPUs with
    local memory of their own, or mobile GPUs."""
    if not device.is_gpu:
        return CPU
    if not device.dedicated_local:
        return MOBILE
    return PRODUCTS if features["multiplied"] else GPU


def estimate(features: Mapping[str, float], device: Profile) -> float:
    """The estimated nanoseconds of a kernel with these features: its work over the number of cores
    that are busy."""
    costs = costs_of(device, features)
    together = min(features["resident groups"], math.ceil(features["groups"] / device.cores))
    busy = math.pow(min(1.0, together * features["group items"] / costs.busy), costs.gain)
    work = _spill(features, device) * _work(features, device, costs)
    from_memory = costs.far * max(0.0, features["bytes of arrays"] - costs.near)
    return work / (device.cores * features["tail"] * busy) + from_memory + costs.launch


def _spill(features: Mapping[str, float], device: Profile) -> float:
    """The factor by which a kernel is slower because its work-items keep more words than they have
    registers."""
    tested, others = device.array_words
    busy = features["padded sides"] or features["local bytes"]
    words = float(min(device.private_words, tested if busy else others))
    if device.is_gpu:  # the items of a group are there at once, and share registers
        words = min(words, max(1.0, device.resident_words / features["group items"]))
    return SPILL if features["private bytes"] > 4 * words else 1.0


def _work(features: Mapping[str, float], device: Profile, costs: Costs) -> float:
    """The estimated nanoseconds of a kernel's work on one core: GPU items compute on scalars, CPU
    items on vectors."""
    lanes = 1 if device.is_gpu else device.vector
    wide = device.vector if costs.wide else 1
    waits = features["staged"] * features["group items"] / features["resident groups"]
    computed = max(features["instructions"], features["operations"] / lanes)
    return (
        costs.arithmetic * (computed - features.get(IN_PAIRS, 0.0) / 2)
        + costs.product * features["multiplied"]
        + costs.load * max(features["loads"], features["words"] / wide)
        + costs.byte * features["bytes moved"]
        + costs.item * features["threads"]
        + costs.group * features["groups"]
        + costs.wait * waits
    )


def predicted(variant: Variant) -> Predicted:
    """The time that is predicted for a variant from rough estimates, in place of a measurement."""
    return Predicted(sum(dict(kernel)[ESTIMATE] for kernel in variant.features))
