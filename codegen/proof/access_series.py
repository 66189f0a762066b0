"""Accesses that differ by constants only, joined into few: lanes of a vector, rows and columns of a
spelled-out block.

x + c, x + c + d, …, x + c + (n − 1)·d are the cells x + c + d·k for k = 0 … n − 1, no more and no
less, so what holds of two such series holds of every two accesses in them. Series of one length
that lie evenly apart form a series of series.
"""

# key: c constant, d distance, k n counts

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from codegen.index.index import summed, var
from codegen.proof.accesses import Access
from ir.core.frozen import frozen

FEWEST = 3  # accesses that are worth a series
EACH = "eachʺ"  # no name that a kernel can have


@frozen
class Lattice:
    """The numbers c + Σ d·k with k = 0 … n − 1 for each step (n, d)."""

    c: int
    steps: tuple[tuple[int, int], ...] = ()


def as_series(accesses: Iterable[Access]) -> list[Access]:
    """Accesses, fewer than `accesses`, that touch the same cells: those whose indices differ by
    evenly spaced constants become one."""
    alike: dict[tuple[object, ...], dict[int, Access]] = {}
    for a in accesses:
        alike.setdefault(_but_for_constant(a), {}).setdefault(a.index.constant, a)
    return [one for group in alike.values() for one in _series(group)]


def _but_for_constant(a: Access) -> tuple[object, ...]:
    half = None if a.half is None else a.half.key
    return a.memory, a.where, a.writes, a.width, half, summed(a.index.terms, 0).key


def _series(group: dict[int, Access]) -> Iterator[Access]:
    if len(group) < FEWEST:
        yield from group.values()
        return
    for lattice in lattices(sorted(group)):
        yield _spread(group[lattice.c], lattice)


def lattices(constants: Sequence[int]) -> list[Lattice]:
    """Lattices, few in all, that hold each of these ordered numbers once."""
    found = [Lattice(c) for c in constants]
    while True:
        joined = list(_joined(found))
        if len(joined) == len(found):
            return found
        found = joined


def _joined(parts: Sequence[Lattice]) -> Iterator[Lattice]:
    """Lattices that hold the same numbers as `parts`: neighbours in `parts` that are alike but for
    their first numbers, and whose first numbers are evenly spaced, become one lattice."""
    at = 0
    while at < len(parts):
        n, d = _run(parts, at)
        first = parts[at]
        yield Lattice(first.c, (*first.steps, (n, d))) if n > 1 else first
        at += n


def _run(parts: Sequence[Lattice], at: int) -> tuple[int, int]:
    """The number of parts, from index `at` on, that have one shape and are evenly spaced, and the
    distance between two of them."""
    first, n = parts[at], 1
    d = parts[at + 1].c - first.c if at + 1 < len(parts) else 0
    while at + n < len(parts) and parts[at + n] == Lattice(first.c + n * d, first.steps):
        n += 1
    return n, d


def _spread(a: Access, lattice: Lattice) -> Access:
    """The access that touches the cells of all copies of the access a; the copies differ in the
    constants of their indices, which are the numbers of `lattice`. a is the copy whose constant is
    `lattice.c`."""
    index, loops, more = a.index, [], 1
    for level, (n, d) in enumerate(lattice.steps):
        name = f"{EACH}{level or ''}"
        index = index + var(name, 0, n - 1) * d
        loops.append((name, n))
        more *= n
    if not loops:
        return a
    where = replace(a.where, loops=(*a.where.loops, *loops))
    return replace(a, index=index, where=where, text=f"{a.text}, and {more - 1} more")
