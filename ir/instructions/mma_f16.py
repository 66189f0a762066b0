"""The instruction `mma.sync` of NVIDIA with halves as operands and floats as sums."""

from ir.core.types import HALF
from ir.instructions.entry import Entry
from ir.instructions.mma import LANES, NATIVE, fragments, neighbours, product
from ir.instructions.mma_16_bits import text_of

LOST = 2.0**3  # as for bfloats: products are exact, and sums are cut off

FLOATS = "vload_half2(0, (__private half *)&x)"

ENTRIES = (
    Entry(
        "mma_f16",
        product(16, HALF),
        fragments(2, 2),
        neighbours(2, 2),
        LANES,
        rounding=LOST,
        text=text_of("mma_f16", "f16", FLOATS),
        native=NATIVE,
    ),
)
