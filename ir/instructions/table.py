"""The table of all instructions that programs can name."""

from ir.instructions import dot_products, mma_bf16, mma_bytes, mma_f16, mma_tf32
from ir.instructions.entry import Alone, Entry

MATRIX: dict[str, Entry] = {
    entry.name: entry for room in (mma_tf32, mma_bf16, mma_f16, mma_bytes) for entry in room.ENTRIES
}
DOTS: dict[str, Alone] = {entry.name: entry for entry in dot_products.ENTRIES}
TABLE: dict[str, Entry | Alone] = {**MATRIX, **DOTS}
