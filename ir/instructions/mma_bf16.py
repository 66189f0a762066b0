"""The instruction `mma.sync` of NVIDIA with bfloats as operands and floats as sums."""

from ir.core.types import BFLOAT
from ir.instructions.entry import Entry
from ir.instructions.mma import LANES, NATIVE, fragments, neighbours, product
from ir.instructions.mma_16_bits import text_of

# Products are exact. Of what is added at once, a tensor core keeps about the bits of a float below
# the largest, and cuts off the rest.
LOST = 2.0**3

FLOATS = "(float2)(as_float(x << 16), as_float(x & 0xffff0000u))"

ENTRIES = (
    Entry(
        "mma_bf16",
        product(16, BFLOAT),
        fragments(2, 2),
        neighbours(2, 2),
        LANES,
        rounding=LOST,
        text=text_of("mma_bf16", "bf16", FLOATS),
        native=NATIVE,
    ),
)
