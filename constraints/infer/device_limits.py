"""The limits that a device, and its user, set on the quantities of a program."""

# key: k kernel

from collections.abc import Iterator
from itertools import product

from constraints.devices import Profile
from constraints.quantities.quantities import Amount, Dims, KernelQuantities, Peak, Quantities
from constraints.relations.relations import AtMost, Constraint
from ir.core.size import Size


def limits(q: Quantities, device: Profile, max_memory: int | None) -> Iterator[Constraint]:
    """The constraints that keep each quantity of a program within the limits of the device;
    `max_memory` is the user's own, in bytes."""
    for k in q.kernels:
        yield from _of_kernel(k, device)
    yield from _peak(q.buffers, device.buffer_bytes, "a global buffer of {} B")
    yield from _peak(q.arena, device.buffer_bytes, "a global buffer of {} B for all temporaries")
    yield from _peak(q.memory_bytes, device.memory_bytes, "global memory {} B")
    if max_memory is not None:
        yield from _peak(q.memory_bytes, max_memory, "the allowed global memory {} B")


def _of_kernel(k: KernelQuantities, device: Profile) -> Iterator[Constraint]:
    for dim in range(3):
        axis = f"along dimension {dim}"
        items = min(device.group_dims[dim], device.group_items)
        yield from _peak(k.items[dim], items, f"work-group of {{}} items {axis}")
        yield from _peak(k.groups[dim], device.groups[dim], f"{{}} work-groups {axis}")
    yield from _peak(_products(k.items), device.group_items, "work-group of {} items")
    yield from _peak(k.local_bytes, device.local_bytes, "local memory {} B")
    yield from _peak(k.private_bytes, 4 * device.private_words, "private memory {} B")
    yield from _peak((k.code,), device.code, "code of {} operations")


def _products(dims: Dims) -> Peak:
    """The numbers of work-items in a group for all combinations of the amounts of its dimensions.
    Empty for a group of one dimension, whose limit is checked by itself."""
    present = [peak for peak in dims if peak]
    return tuple(_times(choice) for choice in product(*present)) if len(present) > 1 else ()


def _times(factors: tuple[Amount, ...]) -> Amount:
    size: Size = 1
    for a in factors:
        size = size * a.size
    return Amount(size, " and ".join(dict.fromkeys(a.origin for a in factors)))


def _peak(peak: Peak, limit: int, words: str) -> Iterator[Constraint]:
    for a in peak:
        yield Constraint(AtMost(a.size, limit), words.format(limit), a.origin)
