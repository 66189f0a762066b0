"""Vectors of four bytes, one byte from each of four other vectors; where all come from the same
lane, a column of the matrix whose rows these four are.

Compilers spend an instruction or two on each byte if the vector is built lane by lane; NVIDIA's
devices have an instruction that takes any four bytes of two registers.
"""

# key: e value

from collections.abc import Mapping

from codegen.memory.unrolled_registers import Layout, lanes_of_registers
from codegen.tree.kernel_values import Build, Load
from codegen.tree.memories import Memory

BYTES = frozenset({"char", "uchar"})
ROWS = 4


def column_of(e: Build, layouts: Mapping[Memory, Layout]) -> tuple[Load, ...] | None:
    """The loads of the four bytes of e, if each is loaded from a vector of four bytes in registers;
    None if one is not, or if e is no vector of four bytes. `layouts` tell which memories are
    registers."""
    if e.kind.scalar not in BYTES or e.kind.width != ROWS:
        return None
    found = lanes_of_registers(e, layouts)
    whole = found is not None and all(layouts[load.memory].width == ROWS for load in found)
    return found if whole else None
