"""The table of all instructions that programs can name."""

from ir.instructions import mma
from ir.instructions.entry import Entry

TABLE: dict[str, Entry] = {entry.name: entry for entry in mma.ENTRIES}
