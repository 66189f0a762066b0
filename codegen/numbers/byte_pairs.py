"""Sums of two products of bytes, or of bytes and shorts, in vectors: CPUs have an instruction that
multiplies pairs of 16-bit numbers and adds both products, which compilers find where the pairs lie
beside each other.
"""

# key: e value, w width

from codegen.numbers.byte_columns import BYTES
from codegen.tree.kernel_values import Apply, Broadcast, Convert, Kind, Value, kind_of
from ir.core.frozen import frozen

WIDTHS = frozenset({2, 4, 8, 16})
_NARROW = (*sorted(BYTES), "short")
PAIRED = frozenset((s, t) for s in _NARROW for t in _NARROW if {s, t} != {"short"})
"""The pairs of types whose products are added in pairs: not both are shorts, as the sum of two
products of shorts may be 2^31, which is no int."""


@frozen
class BytePair:
    """The sum of products a * b + c * d of bytes, or of shorts and bytes, as the name of a function
    and its arguments a, b, c, d."""

    function: str
    arguments: tuple[Value, ...]


def byte_pair(e: Apply) -> BytePair | None:
    """The vector e of ints as a sum of two products of bytes, or of shorts and bytes; None if it is
    no such sum, or if the second product is of other types than the first."""
    if e.op != "+" or e.kind.scalar != "int" or e.kind.width not in WIDTHS:
        return None
    factors = [factor for product in e.arguments for factor in narrow_factors(product)]
    a, b, c, d = factors if len(factors) == 4 else (None,) * 4
    if a is None or b is None or c is None or d is None:
        return None
    types = [kind_of(factor).scalar for factor in (a, b, c, d)]
    if types[:2] != types[2:] or tuple(types[:2]) not in PAIRED:
        return None
    return BytePair(f"pairs_of_{types[0]}_{types[1]}", (a, b, c, d))


def narrow_factors(e: Value) -> tuple[Value | None, ...]:
    """The vectors of bytes or shorts that are multiplied in the product e, with None for a factor
    that is not converted from these; an empty tuple if e is no product."""
    if isinstance(e, Apply) and e.op == "*":
        return tuple(_narrow(factor) for factor in e.arguments)
    return ()


def _narrow(e: Value) -> Value | None:
    """The vector of bytes or shorts that e, a vector of ints, is converted from; None if it is not
    converted from these."""
    match e:
        case Broadcast(Convert(inner, _, "", False), kind) if kind_of(inner).scalar in _NARROW:
            return Broadcast(inner, Kind(kind_of(inner).scalar, kind.width))
        case Convert(inner, _, "", False) if kind_of(inner).scalar in _NARROW:
            return inner
    return None
