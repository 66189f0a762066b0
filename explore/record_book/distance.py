"""The distance between programs, which says how much variants of one tell about another."""

import math
from collections.abc import Mapping

from explore.record_book.program_identity import Identity

OTHER_SHAPE = 4.0  # what programs of two shapes are apart, at least: as sizes that differ 16 times
LEAST_SHARED = 0.5  # of their nodes: below that, a program says nothing about the other


def distance(a: Identity, b: Identity) -> float:
    """The distance between two programs. If they have the same shape, it is the mean number of
    doublings between their sizes; if not, it is larger, by the nodes that only one has, and
    infinite if these are too many."""
    if a.shape == b.shape and len(a.sizes) == len(b.sizes):
        return doublings(a.sizes, b.sizes)
    common = shared(a.kinds, b.kinds)
    if common < LEAST_SHARED:
        return math.inf
    sizes = abs(_logs(a.sizes) - _logs(b.sizes))
    return OTHER_SHAPE * (2 - common) + sizes


def doublings(a: tuple[int, ...], b: tuple[int, ...]) -> float:
    """The mean number of doublings between the numbers at the same places of two equally long
    lists."""
    if not a:
        return 0.0
    return sum(abs(_log(x) - _log(y)) for x, y in zip(a, b, strict=True)) / len(a)


def shared(a: Mapping[str, int], b: Mapping[str, int]) -> float:
    """The share of nodes that two programs have in common, from 0 to 1, by how often each node
    occurs."""
    names = a.keys() | b.keys()
    most = sum(max(a.get(n, 0), b.get(n, 0)) for n in names)
    return sum(min(a.get(n, 0), b.get(n, 0)) for n in names) / most if most else 1.0


def _logs(sizes: tuple[int, ...]) -> float:
    return sum(map(_log, sizes)) / max(1, len(sizes))


def _log(n: int) -> float:
    """The logarithm of a size, log2(1 + |n|), with the sign of n: also defined for zero and
    negative sizes."""
    return math.copysign(math.log2(1 + abs(n)), n)
