"""Arithmetic on ints as OpenCL C text, in which ints wrap around and nothing is divided by 0.

Where C leaves a result undefined, the text computes with unsigned numbers, which wrap, and tests
whether a divisor is 0 or -1 before it divides.
"""

# key: e value, w width

from codegen.tree.kernel_values import Broadcast, Convert, Kind, Number, Value, Whole
from codegen.tree.memories import Memory
from ir.core.types import BYTES

WRAPS = frozenset({"+", "-", "*", "neg"})  # undefined in C where an int overflows
ROUNDS = {"/": "floor_div", "%": "floor_mod"}

Division = tuple[str, Kind, bool]
"""An operator, the kind of its operands, and whether the divisor may be 0 or -1."""


def in_memory(memory: Memory) -> str:
    """The scalar type that the text declares a memory with: bfloats, which OpenCL lacks, are kept
    as their bits."""
    return "ushort" if memory.scalar == "bfloat" else memory.scalar


def type_text(kind: Kind) -> str:
    return f"{kind.scalar}{suffix(kind.width)}"


def suffix(w: int) -> str:
    return "" if w == 1 else str(w)


def as_signed(text: str, kind: Kind) -> str:
    """The text of an unsigned number, `text`, as the int or long (`kind`) of the same bits."""
    return f"as_{type_text(kind)}({text})"


def as_unsigned(text: str, kind: Kind) -> str:
    return f"as_u{type_text(kind)}({text})"


def may_trap(divisor: Value) -> bool:
    """True unless a divisor is known to be other than 0 and -1."""
    match divisor:
        case Broadcast(e, _):
            return may_trap(e)
        case Number(n, _):
            return n in (0, -1)
        case Whole(i):
            return not ((i.lo is not None and i.lo > 0) or (i.hi is not None and i.hi < -1))
    return True


def is_amount(e: Value, kind: Kind) -> bool:
    """True if each number in e is known to be in 0 … bits - 1, where bits is how many bits a number
    of `kind` has: C's shift of numbers of `kind` by e is then defined."""
    bits = 8 * BYTES[kind.scalar]
    match e:
        case Broadcast(inner, _) | Convert(inner, _, "", False):
            return is_amount(inner, kind)
        case Number(n, _):
            return 0 <= n < bits
        case Whole(i):
            return i.lo is not None and i.hi is not None and 0 <= i.lo <= i.hi < bits
    return False


def division_name(division: Division) -> str:
    op, kind, traps = division
    long = "long_" if kind.scalar == "long" else ""
    return f"{'safe_' if traps else ''}{long}{ROUNDS[op]}{suffix(kind.width)}"


def division_helpers(divisions: set[Division]) -> list[str]:
    """The texts of the functions that these divisions call."""
    plain = {(op, kind, False) for op, kind, _ in divisions}
    return [_function(*division) for division in sorted(plain | divisions, key=_order)]


def _order(division: Division) -> tuple[bool, str, str, int]:
    op, kind, traps = division
    return traps, op, kind.scalar, kind.width


def _function(op: str, kind: Kind, traps: bool) -> str:
    body, text = _guarded if traps else _rounded, type_text(kind)
    name = division_name((op, kind, traps))
    return f"{text} {name}({text} a, {text} b) {{ {body(op, kind)} }}"


def _rounded(op: str, kind: Kind) -> str:
    """The body of a function for a / b or a % b (`op`) that rounds down, where C rounds towards
    zero.

    Where signs differ and something is left over, the quotient is one less, and the remainder b
    more. A true comparison is 1 in a scalar and -1 in a vector.
    """
    less, more = ("-", "+") if kind.width == 1 else ("+", "-")
    differ = "((a % b != 0) & ((a ^ b) < 0))"
    return f"return a / b {less} {differ};" if op == "/" else f"return a % b {more} b * {differ};"


def _guarded(op: str, kind: Kind) -> str:
    """The body of a function for a / b or a % b (`op`) with any b: if b is 0 or -1, a / b is a * b,
    which wraps, and a % b is 0."""
    text, name = type_text(kind), division_name((op, kind, False))
    product = as_signed(f"{as_unsigned('a', kind)} * {as_unsigned('b', kind)}", kind)
    instead, odd = product if op == "/" else f"({text})(0)", "(b == 0) | (b == -1)"
    if kind == Kind("long"):  # a comparison is an int there, and select asks for its own size
        odd = f"(long)({odd})"
    return f"return select({name}(a, select(b, ({text})(1), {odd})), {instead}, {odd});"
