"""The number of a kernel's work-groups that a compute unit keeps at once."""

from collections.abc import Mapping
from math import prod

from constraints.devices import Profile
from constraints.quantities.quantities import Dims, KernelQuantities, local_at, peak_at
from constraints.quantities.work import GLOBAL_ITEMS
from constraints.relations.relations import value_at
from ir.core.frozen import frozen

WORD = 4  # bytes of a register
OWN_WORDS = 16  # registers of an item beside its arrays: addresses, what it counts
# Where instructions of a sub-group multiply, compilers load their operands well ahead. Fitted on an
# H200, where such kernels have 80 to 100 registers beside their arrays.
WORDS_OF_OPERANDS = 88


@frozen
class Use:
    """The use of a device by a kernel: the work-items of a group, the number of groups, the bytes
    of local memory of a group and of private memory of an item, and the groups that a compute unit
    keeps at once."""

    items: int  # of a group
    groups: int
    local_bytes: int  # of a group
    private_bytes: int  # of an item
    resident: int  # groups that a compute unit keeps at once


def use_at(k: KernelQuantities, point: Mapping[str, int], device: Profile) -> Use:
    """The use that a kernel makes of a device at a point."""
    items, groups, free = (_volume(dims, point) for dims in (k.items, k.groups, k.global_items))
    if free > 1:
        items, groups = min(GLOBAL_ITEMS, free), -(-free // GLOBAL_ITEMS)
    local, private = local_at(k, point), peak_at(k.private_bytes, point)
    if device.pairs_halves:  # where loops carry sums of halves, each takes a register
        private += max((value_at(size, point) for size in k.work.carried), default=0)
    own = OWN_WORDS + (WORDS_OF_OPERANDS if k.work.multiplied else 0)
    return Use(items, groups, local, private, _resident(items, local, own, private, device))


def _resident(items: int, local: int, own: int, private: int, device: Profile) -> int:
    """The number of work-groups that a compute unit keeps at once, at least 1. A group has `items`
    work-items and `local` bytes of local memory; an item has `private` bytes of arrays, and `own`
    registers beside them. Registers beyond the device's are spilled, and take no room."""
    words = items * min(device.private_words, own + private // WORD)
    room = [device.resident_items // items, device.resident_words // words]
    if local:
        room.append(device.resident_bytes // local)
    return max(1, min(room))


def _volume(dims: Dims, point: Mapping[str, int]) -> int:
    return prod(max(1, peak_at(peak, point)) for peak in dims)
