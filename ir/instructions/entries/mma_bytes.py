"""The instruction `mma.sync` of NVIDIA with bytes as operands, four in a register of 32 bits, and
ints as sums, which wrap around.

The letters of a name tell which operands are signed (s) and which are not (u), the number how many
steps of a sum it makes.
"""

from itertools import product as pairs

from ir.core.types import CHAR, INT, UCHAR
from ir.instructions.entry import Entry
from ir.instructions.mma_text import Mma
from ir.instructions.products import product

SIGNED = {"s": CHAR, "u": UCHAR}


def _entry(signs: str, halves: int) -> Entry:
    name = f"mma_{signs}_{16 * halves}"
    left, right = (SIGNED[sign] for sign in signs)
    dot = " + ".join(f"as_{left.name}4(a).s{i} * as_{right.name}4(b).s{i}" for i in range(4))
    kinds = (f"{signs[0]}8", f"{signs[1]}8")
    text = Mma(name, left.name, right.name, kinds, 4, halves, dot, whole=True)
    return text.entry(product(16 * halves, left, right, INT), 0.0)


ENTRIES = tuple(_entry(f"{a}{b}", halves) for halves, a, b in pairs((2, 1), SIGNED, SIGNED))
