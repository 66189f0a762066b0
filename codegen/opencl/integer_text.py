"""Arithmetic on ints as OpenCL C text, in which ints wrap around and nothing is divided by 0.

Where C leaves that undefined, numbers are unsigned for the while, and a divisor that may be 0 or -1
is asked for.
"""

# key: e value, w width

from codegen.tree.statements import Broadcast, Kind, Memory, Number, Value, Whole

WRAPS = frozenset({"+", "-", "*", "neg"})  # undefined in C where an int overflows
ROUNDS = {"/": "floor_div", "%": "floor_mod"}

Division = tuple[str, int, bool]
"""An operator, a width, and whether the divisor may be 0 or -1."""


def in_memory(memory: Memory) -> str:
    """The scalar type that a memory's text says: OpenCL has no bfloats, but room for their bits."""
    return "ushort" if memory.scalar == "bfloat" else memory.scalar


def type_text(kind: Kind) -> str:
    return f"{kind.scalar}{suffix(kind.width)}"


def suffix(w: int) -> str:
    return "" if w == 1 else str(w)


def as_int(text: str, w: int) -> str:
    """The text of an unsigned number converted to the int of the same bits."""
    return f"as_int{suffix(w)}({text})"


def as_unsigned(text: str, w: int) -> str:
    return f"as_uint{suffix(w)}({text})"


def may_trap(divisor: Value) -> bool:
    """True unless a divisor is known to be neither 0 nor -1."""
    match divisor:
        case Broadcast(e, _):
            return may_trap(e)
        case Number(n, _):
            return n in (0, -1)
        case Whole(i):
            return not ((i.lo is not None and i.lo > 0) or (i.hi is not None and i.hi < -1))
    return True


def division_name(division: Division) -> str:
    op, w, traps = division
    return f"{'safe_' if traps else ''}{ROUNDS[op]}{suffix(w)}"


def division_helpers(divisions: set[Division]) -> list[str]:
    """The texts of the functions that these divisions call."""
    plain = {(op, w, False) for op, w, _ in divisions}
    return [_function(*division) for division in sorted(plain | divisions, key=_order)]


def _order(division: Division) -> tuple[bool, str, int]:
    op, w, traps = division
    return traps, op, w


def _function(op: str, w: int, traps: bool) -> str:
    kind, body = type_text(Kind("int", w)), _guarded if traps else _rounded
    name = division_name((op, w, traps))
    return f"{kind} {name}({kind} a, {kind} b) {{ {body(op, w)} }}"


def _rounded(op: str, w: int) -> str:
    """The body of a division that rounds down, where C rounds towards zero; true is 1 in a scalar,
    -1 in a vector."""
    less, more = ("-", "+") if w == 1 else ("+", "-")
    differ = "((a % b != 0) & ((a ^ b) < 0))"
    return f"return a / b {less} {differ};" if op == "/" else f"return a % b {more} b * {differ};"


def _guarded(op: str, w: int) -> str:
    """The body of a division by any b: if b is 0 or -1, a / b is a * b, which wraps, and a % b is
    0."""
    kind, name = type_text(Kind("int", w)), division_name((op, w, False))
    product = as_int(f"{as_unsigned('a', w)} * {as_unsigned('b', w)}", w)
    instead, odd = product if op == "/" else f"({kind})(0)", "(b == 0) | (b == -1)"
    return f"return select({name}(a, select(b, ({kind})(1), {odd})), {instead}, {odd});"
