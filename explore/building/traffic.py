"""The global traffic of a kernel, counted on its accesses: what a work-group loads, stores and
holds.

An element that several work-items of a group ask for in one access of the program, in one iteration
of its loops, is moved once. If a later access or iteration asks for it again, it is moved again,
since only local memory and registers are known to hold it. An access whose guard fails moves
nothing.
"""

# key: n how many values a variable takes

from collections.abc import Sequence
from functools import reduce
from math import prod

import numpy as np
from numpy.typing import NDArray

from codegen.compile import Generated
from codegen.index.index import Index, maximum, var
from codegen.index.substitute import substitute
from codegen.proof.accesses import Access, Footprint, Where
from codegen.proof.footprint import footprint
from codegen.tree.memories import Space
from codegen.tree.statements import Kernel, remembered
from explore.building.index_classes import (
    DENSE,
    Numbers,
    Parts,
    Values,
    classes,
    in_a_row,
    values_of,
)
from ir.core.frozen import frozen
from ir.core.types import BYTES

LANE = "lane"
NONE = np.iinfo(np.int64).max


def traffic_bytes(made: Generated) -> int:
    """Bytes between global memory and the work-groups, in one inference."""
    return sum(kernel_traffic(k) for k in running(made))


def chip_bytes(made: Generated) -> int:
    """The most bytes that a work-group holds: local memory, and the registers of its items."""
    names = {k.name for k in running(made)}
    return max(
        f.local_bytes + 4 * f.private_words * f.work_group for f in made.facts if f.kernel in names
    )


def running(made: Generated) -> list[Kernel]:
    """The kernels that run at each inference, without those that prepare constants, which run
    once."""
    launches = zip(made.kernels, made.plan.kernels, strict=True)
    return [kernel for kernel, launch in launches if not launch.prepack]


@remembered
def kernel_traffic(kernel: Kernel) -> int:
    """The bytes that pass between global memory and all work-groups of a kernel."""
    found = footprint(kernel)
    ids = _ids(kernel, found)
    touched = (a for a in found.accesses if a.memory.space is Space.GLOBAL)
    return sum(_moved(ids, a) * BYTES[a.memory.scalar] for a in touched)


@frozen
class Ids:
    """The ids of groups and those of items in a group, each with the number of its values; and, for
    each global id, the index that spells it by them."""

    groups: dict[str, int]
    items: dict[str, int]
    spelled: dict[str, Index]


def _ids(kernel: Kernel, found: Footprint) -> Ids:
    """The ids of a kernel with the footprint `found`; every global id is spelled by a group's id
    and an item's."""
    ids = Ids(dict(found.groups), dict(found.locals), {})
    for i in kernel.ids:
        if i.kind == "global" and i.name not in found.respelled:
            del ids.groups[i.name]
            size, count = kernel.local_size[i.dimension], kernel.groups[i.dimension]
            group, item = f"group_{i.dimension}", f"item_{i.dimension}"
            ids.groups[group], ids.items[item] = count, size
            ids.spelled[i.name] = var(group, 0, count - 1) * size + var(item, 0, size - 1)
    return ids


def _moved(ids: Ids, a: Access) -> int:
    """The number of elements that an access moves; an element that several items of a group ask for
    counts once."""
    apart = all(k % a.width == 0 for _, k in a.index.terms)  # vectors share all elements or none
    lanes = 1 if apart else a.width
    items = {**ids.items, LANE: lanes}
    parts = Parts(frozenset(items))
    inner, _ = parts.apart(substitute(a.index + var(LANE, 0, lanes - 1), ids.spelled))
    asked = [parts.undecided(substitute(g, ids.spelled)) for g in guards(a.where)]
    choices, times = classes(parts.parameters, {**ids.groups, **dict(a.where.loops)})
    used = sorted(items.keys() & inner.names.union(*(g.names for g in asked)))
    values = {**choices, **in_a_row(used, items)}
    shape = (len(times), prod(items[name] for name in used))
    return int(_different(inner, asked, values, shape) @ times) * a.width // lanes


def guards(where: Where) -> list[Index]:
    """Indices that are all at least 0 exactly where the conditions `where` hold."""
    denied = [reduce(maximum, [-part - 1 for part in c.parts]) for c in where.denied]
    return [*where.given, *denied]


def _different(
    inner: Index, guards: Sequence[Index], values: Values, shape: tuple[int, int]
) -> Numbers:
    """The number of different elements that each row asks for. An entry of a row asks for the
    element whose index is the value of `inner` there, unless a guard is below 0 there. `shape` is
    the number of rows and that of entries, and `values` has the values of the variables at each
    entry."""
    asked, holds = np.broadcast_to(values_of(inner, values), shape), np.ones(shape, dtype=bool)
    for guard in guards:
        holds &= values_of(guard, values) >= 0
    asked = asked - asked.min(axis=1, keepdims=True)
    span = int(asked.max()) + 1
    return _marked(asked, holds, span) if span <= DENSE * shape[1] else _sorted(asked, holds)


def _marked(asked: Numbers, holds: NDArray[np.bool_], span: int) -> Numbers:
    """The number of different values in each row of `asked`, counted where `holds` is true; all are
    below `span`. They are found by marking."""
    seen = np.zeros((len(asked), span), dtype=bool)
    row, _ = np.nonzero(holds)
    seen[row, asked[holds]] = True
    different: Numbers = seen.sum(axis=1, dtype=np.int64)
    return different


def _sorted(asked: Numbers, holds: NDArray[np.bool_]) -> Numbers:
    """The number of different values in each row of `asked`, counted where `holds` is true,
    whatever their range. They are found by sorting."""
    elements = np.sort(np.where(holds, asked, NONE), axis=1)
    fresh = elements != NONE
    fresh[:, 1:] &= elements[:, 1:] != elements[:, :-1]
    different: Numbers = fresh.sum(axis=1, dtype=np.int64)
    return different
