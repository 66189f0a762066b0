"""The texts of copies that a work-item begins, and of the place where it awaits them."""

import re

from codegen.tree.statements import Kind
from ir.core.types import BYTES

AWAIT = "AWAIT_COPIES();"
ZERO = re.compile(r"0(\.0f)?|\(\w+\)\(0(\.0f)?\)")


def begun_text(text: str, kind: Kind) -> str:
    """The text of an assignment as that of a copy which is begun there, of a value of a kind; the
    text itself where it stores or loads vectors by functions, which are given no addresses."""
    to, _, given = text.removesuffix(";").partition(" = ")
    if not given or "vload" in given or "vstore" in to:
        return text
    copy = f"COPY_{BYTES[kind.scalar] * kind.width}"
    if " ? " not in given:
        return f"{copy}({to}, {given});"
    test, _, rest = given.removeprefix("(").removesuffix(")").partition(" ? ")
    value, _, zero = rest.rpartition(" : ")
    if not given.startswith("(") or " ? " in value or not ZERO.fullmatch(zero):
        return text
    return f"{copy}_OR_ZERO({to}, {test}, {value});"
