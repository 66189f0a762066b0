"""The instruction `mma.sync` of NVIDIA with operands of type tf32: floats of which ten bits after
the point are read."""

from ir.instructions.entry import Entry
from ir.instructions.mma_text import Mma
from ir.instructions.products import product

LOST = 2.0**13  # machine epsilons of a float that an operand may lose: 10 bits are kept of 23

DOT = "as_float(a & 0xffffe000u) * as_float(b & 0xffffe000u)"


def _entry(name: str, halves: int) -> Entry:
    text = Mma(name, "float", "float", ("tf32", "tf32"), 1, halves, DOT)
    return text.entry(product(4 * halves), LOST, read=11, kept=24)


ENTRIES = (_entry("mma_tf32", 2), _entry("mma_tf32_4", 1))
