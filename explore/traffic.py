"""Global traffic, counted on a kernel's accesses: what a work-group loads and stores, and holds.

What all work-items of a group ask for together, in one place of the program and one iteration of
its loops, is moved once an address; what is asked for again later is moved again, since only local
memory and registers are known to hold it. Guards are looked into where that takes few steps, else
taken.
"""

# key: x index, c condition, n how many values a variable takes

from collections.abc import Iterable, Mapping
from math import prod

import numpy as np
from numpy.typing import NDArray

from codegen.accesses import Access, Footprint
from codegen.atoms import Assume, Atom, Max, Min, Product, Quot, Rem, Var
from codegen.compile import Generated
from codegen.footprint import footprint
from codegen.index import Index
from codegen.tree import Kernel, Space, remembered
from ir.types import BYTES

MOST = 1 << 16  # values of variables that are looked at one by one
Values = Mapping[str, NDArray[np.int64]]


def traffic_bytes(made: Generated) -> int:
    """Bytes between global memory and the work-groups, in one inference."""
    return sum(kernel_traffic(k) for k in _running(made))


def chip_bytes(made: Generated) -> int:
    """The most that a work-group keeps: local memory, and the registers of its items."""
    running = {k.name for k in _running(made)}
    return max(
        f.local_bytes + 4 * f.private_words * f.work_group
        for f in made.facts
        if f.kernel in running
    )


def _running(made: Generated) -> list[Kernel]:
    """Its kernels but those that prepare constants, once."""
    launches = zip(made.kernels, made.plan.kernels, strict=True)
    return [kernel for kernel, launch in launches if not launch.prepack]


@remembered
def kernel_traffic(kernel: Kernel) -> int:
    """Of all work-groups of a kernel."""
    found = footprint(kernel)
    touched = (a for a in found.accesses if a.memory.space is Space.GLOBAL)
    return sum(_moved(found, a) * a.width * BYTES[a.memory.scalar] for a in touched)


def _moved(found: Footprint, a: Access) -> int:
    """How often an access happens, work-items that ask for one address counted once."""
    counts = {**found.groups, **dict(a.where.loops)}
    within, guards = _looked_at(a, counts, found.locals)
    outer = {name: n for name, n in counts.items() if name in within}
    inner = {name: n for name, n in found.locals.items() if name in within}
    times = prod(n for name, n in counts.items() if name not in within)
    values = _grid(outer, inner)
    shape = (prod(outer.values()), prod(inner.values()))
    index = np.broadcast_to(_values(a.index, values), shape)
    holds = np.ones(shape, dtype=bool)
    for guard in guards:
        holds = holds & (np.broadcast_to(_values(guard, values), shape) >= 0)
    return times * _distinct(index, holds)


def _looked_at(
    a: Access, counts: Mapping[str, int], items: Mapping[str, int]
) -> tuple[frozenset[str], list[Index]]:
    """The variables that are given values, and the guards that this decides."""
    within = frozenset(name for name in a.index.names if name in items)
    guards: list[Index] = []
    known = {**counts, **items}
    for guard in sorted(a.where.given, key=lambda g: prod(known[name] for name in g.names)):
        more = within | guard.names
        if prod(known[name] for name in more) <= MOST:
            within, guards = more, [*guards, guard]
    return within, guards


def _grid(outer: Mapping[str, int], inner: Mapping[str, int]) -> Values:
    """Every choice of the outer variables in a row, every choice of the inner in a column."""
    rows, columns = tuple(outer.values()), tuple(inner.values())
    taken = [i.reshape(-1, 1) for i in np.indices(rows, np.int64)]
    taken += [i.reshape(1, -1) for i in np.indices(columns, np.int64)]
    return dict(zip([*outer, *inner], taken, strict=True))


def _distinct(index: NDArray[np.int64], holds: NDArray[np.bool_]) -> int:
    """How many addresses there are in each row, where the guards hold."""
    addresses = np.sort(np.where(holds, index, np.iinfo(np.int64).max), axis=1)
    fresh = np.ones(addresses.shape, dtype=bool)
    fresh[:, 1:] = addresses[:, 1:] != addresses[:, :-1]
    return int(np.count_nonzero(fresh & (addresses != np.iinfo(np.int64).max)))


def _values(x: Index, values: Values) -> NDArray[np.int64]:
    """An index at every choice of its variables; those not looked at are 0."""
    total = np.full((1, 1), x.constant, np.int64)
    for atom, k in x.terms:
        total = total + k * _atom(atom, values)
    return total


def _atom(atom: Atom, values: Values) -> NDArray[np.int64]:
    match atom:
        case Var(name):
            return values.get(name, np.zeros((1, 1), np.int64))
        case Quot(index=x, divisor=d):
            return _values(x, values) // d
        case Rem(index=x, divisor=d):
            return _values(x, values) % d
        case Assume(index=x):
            return _values(x, values)
        case Min(left=x, right=y):
            return np.minimum(_values(x, values), _values(y, values))
        case Max(left=x, right=y):
            return np.maximum(_values(x, values), _values(y, values))
        case Product(factors=factors):
            return _product(_atom(f, values) for f in factors)


def _product(factors: Iterable[NDArray[np.int64]]) -> NDArray[np.int64]:
    total = np.ones((1, 1), np.int64)
    for factor in factors:
        total = total * factor
    return total
