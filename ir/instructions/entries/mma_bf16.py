"""The instruction `mma.sync` of NVIDIA with bfloats as operands and floats as sums."""

from ir.core.types import BFLOAT
from ir.instructions.entry import Entry
from ir.instructions.mma_text import Mma
from ir.instructions.products import product

# Products are exact. Of what is added at once, a tensor core keeps about the bits of a float below
# the largest, and cuts off the rest.
LOST = 2.0**3

# The two bfloats of a register are the upper halves of floats.
DOT = (
    "as_float(a << 16) * as_float(b << 16) + as_float(a & 0xffff0000u) * as_float(b & 0xffff0000u)"
)


def _entry(name: str, halves: int) -> Entry:
    text = Mma(name, "ushort", "ushort", ("bf16", "bf16"), 2, halves, DOT)
    return text.entry(product(8 * halves, BFLOAT), LOST, kept=24)


ENTRIES = (_entry("mma_bf16", 2), _entry("mma_bf16_8", 1))
