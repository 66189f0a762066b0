"""Vectors of four bytes, one byte from each of four other vectors; where all come from the same
lane, a column of the matrix whose rows these four are.

Compilers spend an instruction or two on each byte if the vector is built lane by lane; NVIDIA's
devices have an instruction that takes any four bytes of two registers.
"""

# key: e value

from collections.abc import Mapping

from codegen.memory.unrolled_registers import Layout, Registers
from codegen.tree.statements import Build, Load, Memory

BYTES = frozenset({"char", "uchar"})
ROWS = 4


def column_of(e: Build, layouts: Mapping[Memory, Layout]) -> tuple[Load, ...] | None:
    """The loads of the four bytes of e, if each is loaded from a vector of four bytes in registers;
    None if one is not, or if e is no vector of four bytes. `layouts` tell which memories are
    registers."""
    if e.kind.scalar not in BYTES or e.kind.width != ROWS:
        return None
    found = tuple(part for part in e.parts if isinstance(part, Load) and _is_lane(part, layouts))
    return found if len(found) == ROWS else None


def _is_lane(e: Load, layouts: Mapping[Memory, Layout]) -> bool:
    layout = layouts.get(e.memory)
    return isinstance(layout, Registers) and layout.width == ROWS and e.width == 1
