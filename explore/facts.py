"""The operations of a compiled program, counted on its trees. Guards count as taken."""

# key: s statement, n trip count

from collections.abc import Sequence
from math import frexp, prod

from codegen.tree import (
    Apply,
    Block,
    Broadcast,
    For,
    If,
    Kernel,
    Number,
    Statement,
    Store,
    Value,
    kind_of,
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


def multiplications(kernels: Sequence[Kernel]) -> int:
    """Products of floats, redundant ones too; by 0, ±1 and ±2^k none is counted."""
    return sum(_launches(k) * _products(k.body) for k in kernels)


def _products(s: Statement) -> int:
    match s:
        case Block(inner):
            return sum(map(_products, inner))
        case For(_, n, body, _):
            return n * _products(body)
        case If(_, body):
            return _products(body)
        case Store(_, _, value, _):
            return sum(kind_of(e).width for e in subvalues(value) if _multiplies(e))
        case _:
            return 0


def _multiplies(e: Value) -> bool:
    if not isinstance(e, Apply) or e.op not in ("*", "fma") or e.kind.scalar == "int":
        return False
    return not any(_only_shifts(a) for a in e.arguments[:2])


def _only_shifts(e: Value) -> bool:
    """Whether multiplying by a value changes no more than a sign and an exponent."""
    if isinstance(e, Broadcast):
        return _only_shifts(e.e)
    return isinstance(e, Number) and abs(frexp(e.value)[0]) in (0.0, 0.5)
