"""Vectors of bytes that are made of sums of ints: the lowest byte of a sum depends on the lowest
bytes of its terms alone."""

# key: e value, n a number

from codegen.numbers.byte_columns import BYTES
from codegen.tree.kernel_values import Apply, Broadcast, Convert, Number, Value, Whole, kind_of
from ir.core.frozen import frozen


@frozen
class ByteSum:
    """The sum of a vector of bytes and a number below 256, in bytes, which wraps around."""

    e: Value
    n: int


def byte_sum(e: Convert) -> ByteSum | None:
    """The vector of bytes e as a sum in bytes, where it is converted, and not saturated, from a sum
    in ints of bytes and a number; None for other values."""
    if e.saturates or e.kind.scalar not in BYTES or e.kind.width == 1:
        return None
    match e.e:
        case Apply("+", (Convert(x, _, "", False), n), kind):
            number = _number(n.e if isinstance(n, Broadcast) else n)
            narrow = kind.scalar == "int" and kind_of(x).scalar in BYTES
            return ByteSum(x, number % 256) if narrow and number is not None else None
    return None


def _number(e: Value) -> int | None:
    match e:
        case Number(n, "int"):
            return int(n)
        case Whole(i) if i.is_constant:
            return i.constant
    return None
