"""The operations of a compiled program, counted on its trees. Guards count as taken."""

# key: s statement, n trip count

from collections.abc import Sequence
from math import prod

from codegen.tree import (
    Apply,
    Block,
    For,
    If,
    Kernel,
    Statement,
    Store,
    Value,
    subvalues,
)

FREE = frozenset({"neg"})


def flops(kernels: Sequence[Kernel]) -> int:
    """Arithmetic on floats, redundant work too; fma counts twice."""
    return sum(_launches(k) * _per_item(k.body) for k in kernels)


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
