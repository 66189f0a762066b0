"""What a compiled program does when it runs, counted on its trees: operations and traffic.

Guards count as taken. Traffic is modelled: within a work-group, an access costs one transfer for
each address that the variables in its index can make, and repeated reads of one address are free.
"""

# key: s statement, n trip count

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from codegen.index import Index
from codegen.tree import (
    Apply,
    Block,
    For,
    If,
    Kernel,
    Memory,
    Space,
    Statement,
    Store,
    Value,
    loads,
    subvalues,
)
from ir.types import BYTES

FREE = frozenset({"neg"})


def flops(kernels: Sequence[Kernel]) -> int:
    """Arithmetic on floats, redundant work too; fma counts twice."""
    return sum(_launches(k) * _per_item(k.body) for k in kernels)


def traffic_bytes(kernels: Sequence[Kernel]) -> int:
    """Bytes that go between global memory and the work-groups."""
    return sum(_traffic(k) for k in kernels)


def _launches(k: Kernel) -> int:
    return prod(k.local_size) * prod(k.groups)


def _per_item(s: Statement) -> int:
    match s:
        case Block(inner):
            return sum(map(_per_item, inner))
        case For(_, n, body, _):
            return n * _per_item(body)
        case If(_, body):
            return _per_item(body)
        case Store(_, _, value, _):
            return sum(map(_cost, subvalues(value)))
        case _:
            return 0


def _cost(e: Value) -> int:
    match e:
        case Apply(op, _, kind) if kind.scalar != "int" and op not in FREE:
            return kind.width * (2 if op == "fma" else 1)
        case _:
            return 0


def _traffic(k: Kernel) -> int:
    groups = prod(k.groups)
    extents = {i.name: k.local_size[i.dimension] for i in k.ids if i.kind != "group"}
    total = 0
    for memory, index, width, around in _accesses(k.body, extents):
        size = width * BYTES[memory.scalar]
        distinct = prod(around[name] for name in index.names if name in around)
        whole = memory.elements * BYTES[memory.scalar]
        total += min(distinct * size, whole) * groups
    return total


def _accesses(
    s: Statement, around: Mapping[str, int]
) -> Iterator[tuple[Memory, Index, int, Mapping[str, int]]]:
    match s:
        case Block(inner):
            for each in inner:
                yield from _accesses(each, around)
        case For(var, n, body, _):
            yield from _accesses(body, {**around, var: n})
        case If(_, body):
            yield from _accesses(body, around)
        case Store(memory, index, value, _):
            for load in loads(value):
                if load.memory.space is Space.GLOBAL:
                    yield load.memory, load.index, load.width, around
            if memory.space is Space.GLOBAL:
                yield memory, index, 1, around
        case _:
            pass
