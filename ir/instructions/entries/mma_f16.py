"""The instruction `mma.sync` of NVIDIA with halves as operands and floats as sums."""

from ir.core.types import HALF
from ir.instructions.entry import Entry
from ir.instructions.mma_text import Mma
from ir.instructions.products import product

LOST = 2.0**3  # as for bfloats: products are exact, and sums are cut off

DOT = "dot(vload_half2(0, (__private half *)&a), vload_half2(0, (__private half *)&b))"


def _entry(name: str, halves: int) -> Entry:
    text = Mma(name, "ushort", "ushort", ("f16", "f16"), 2, halves, DOT)
    return text.entry(product(8 * halves, HALF), LOST, kept=24)


ENTRIES = (_entry("mma_f16", 2), _entry("mma_f16_8", 1))
