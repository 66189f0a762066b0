"""Operators as OpenCL C, with the parentheses that they need."""

# key: e value

from collections.abc import Callable

from codegen.numbers.integer_text import type_text
from codegen.tree.kernel_values import Apply, Broadcast, Kind, Value
from ir.core.type_rules import COMPARISONS

CHOICE, SUM, PRODUCT, UNARY, PRIMARY = range(5)  # how tightly a text holds together


def infix(e: Apply, operand: Callable[[Value, int], str]) -> tuple[str, int]:
    """The text of a op b, and how tightly it binds. `operand` gives the text of an operand, in
    parentheses unless that binds at least as tightly as a given number. A scalar beside a vector is
    written as a scalar: OpenCL fills the vector itself."""
    a, b = e.arguments
    if isinstance(a, Broadcast) != isinstance(b, Broadcast):
        a = a.e if isinstance(a, Broadcast) else a
        b = b.e if isinstance(b, Broadcast) else b
    if e.op in COMPARISONS:
        return f"{operand(a, SUM)} {e.op} {operand(b, SUM)}", CHOICE
    holds = SUM if e.op in "+-" else PRODUCT
    return f"{operand(a, holds)} {e.op} {operand(b, holds + (e.op in '-/'))}", holds


def cast_text(kind: Kind, text: str, holds: int) -> tuple[str, int]:
    """The text of a conversion of `text` to a kind, lane by lane, and how tightly it binds; `holds`
    is how tightly `text` binds."""
    to = type_text(kind)
    if kind.width > 1:
        return f"convert_{to}({text})", PRIMARY
    return f"({to}){text if holds >= UNARY else f'({text})'}", UNARY
