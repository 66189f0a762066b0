"""The table of all instructions that programs can name."""

from ir.instructions import mma_bf16, mma_f16, mma_tf32
from ir.instructions.entry import Entry

TABLE: dict[str, Entry] = {
    entry.name: entry for room in (mma_tf32, mma_bf16, mma_f16) for entry in room.ENTRIES
}
