"""Accesses that differ by a constant only, as one: the lanes of a vector kept apart, say.

x + c, x + c + d, …, x + c + (n − 1)·d are the cells x + c + d·k for k = 0 … n − 1, no more and no
less, so what holds of two such series holds of every two accesses in them.
"""

from collections.abc import Iterable
from dataclasses import replace

from codegen.index.index import summed, var
from codegen.proof.accesses import Access

FEWEST = 3
EACH = "eachʺ"  # no name that a kernel can have


def as_series(accesses: Iterable[Access]) -> list[Access]:
    """The same cells by fewer accesses, where constants are evenly spaced."""
    alike: dict[tuple[object, ...], list[Access]] = {}
    for a in accesses:
        alike.setdefault(_but_for_constant(a), []).append(a)
    return [one for group in alike.values() for one in _series(group)]


def _but_for_constant(a: Access) -> tuple[object, ...]:
    half = None if a.half is None else a.half.key
    return a.memory, a.where, a.writes, a.width, half, summed(a.index.terms, 0).key


def _series(group: list[Access]) -> list[Access]:
    if len(group) < FEWEST:
        return group
    first, *rest = sorted(group, key=lambda a: a.index.constant)
    step = rest[0].index.constant - first.index.constant
    even = [first.index.constant + k * step for k in range(len(group))]
    if step == 0 or [a.index.constant for a in (first, *rest)] != even:
        return group
    where = replace(first.where, loops=(*first.where.loops, (EACH, len(group))))
    index = first.index + var(EACH, 0, len(group) - 1) * step
    text = f"{first.text}, and {len(rest)} more, {step} apart"
    return [replace(first, index=index, where=where, text=text)]
