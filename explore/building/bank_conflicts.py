"""Bank conflicts, counted on the index terms of a kernel's accesses to local memory.

An access's index term gives the word that each lane of a sub-group accesses. A turn serves one word
of each bank. Counted are the turns that an access takes beyond those it would take if neighbouring
lanes asked for neighbouring words, for every iteration and every group.
"""

from math import prod

import numpy as np

from codegen.compile import Generated
from codegen.index.substitute import substitute
from codegen.proof.accesses import Access
from codegen.proof.footprint import footprint
from codegen.tree.memories import Space
from codegen.tree.statements import Kernel, remembered
from explore.building.index_classes import Parts, Values, classes, values_of
from explore.building.traffic import guards, running
from ir.core.types import BYTES
from ir.instructions.banks import NOBODY, WORD, Words, conflicts

LANES = 32


def bank_conflicts(made: Generated) -> int | None:
    """The turns of local memory in one inference that a variant's kernels wait for, because lanes
    access different words of one bank; None if no kernel uses local memory."""
    local = {f.kernel for f in made.facts if f.local_bytes}
    found = [kernel_conflicts(k) for k in running(made) if k.name in local]
    return sum(found) if found else None


@remembered
def kernel_conflicts(kernel: Kernel) -> int:
    """The turns of local memory that all sub-groups of a kernel wait for because of bank
    conflicts."""
    touched = (a for a in footprint(kernel).accesses if a.memory.space is Space.LOCAL)
    return sum(_waited(kernel, a) for a in touched)


def _waited(kernel: Kernel, a: Access) -> int:
    """The turns of local memory that all sub-groups wait for at the access a, in all iterations."""
    items, found = _items(kernel), footprint(kernel)
    parts = Parts(frozenset(items))
    inner, _ = parts.apart(substitute(a.index, found.respelled))
    asked = [parts.undecided(substitute(g, found.respelled)) for g in guards(a.where)]
    choices, times = classes(parts.parameters, {**found.groups, **dict(a.where.loops)})
    values = {**choices, **items}
    shape = (len(times), prod(kernel.local_size))
    index, holds = np.broadcast_to(values_of(inner, values), shape), np.ones(shape, dtype=bool)
    for guard in asked:
        holds &= values_of(guard, values) >= 0
    return int(_of_lanes(index, holds, a) @ times)


def _items(kernel: Kernel) -> Values:
    """The local ids of all items of a group, in the order in which they are lanes."""
    place, found = np.arange(prod(kernel.local_size)), {}
    for i in kernel.ids:
        if i.kind == "local":
            before = prod(kernel.local_size[: i.dimension])
            found[i.name] = (place // before % i.extent).reshape(1, -1)
    return found


def _of_lanes(index: Words, holds: Words, a: Access) -> Words:
    """The turns of local memory that the sub-groups of a group wait for at the access a, for each
    row of `index`.

    A row has the element that each work-item accesses, in one iteration of one group; `holds` tells
    which of them make the access.
    """
    rows, items = index.shape
    elements = WORD // BYTES[a.memory.scalar] or 1
    cells = index[:, :, None] + np.arange(0, a.width, elements)
    words = np.where(holds[:, :, None], cells // elements, NOBODY)
    missing = -items % LANES
    whole = np.pad(words, ((0, 0), (0, missing), (0, 0)), constant_values=NOBODY)
    lanes = whole.reshape(-1, LANES, whole.shape[2])
    waited: Words = conflicts(lanes).reshape(rows, -1).sum(axis=1, dtype=np.int64)
    return waited
