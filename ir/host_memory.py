"""The memory of this computer, and the check that a program's inputs and result fit into it."""

from pathlib import Path

from ir.core.nodes import Program
from ir.core.type_rules import type_of
from ir.errors import UserError
from ir.meaning.inputs import cells_of

CELL = 16  # bytes of a number, as it is given and as it is computed with
MEMINFO = Path("/proc/meminfo")


def demand_memory(program: Program) -> None:
    """Raise a UserError for a program whose inputs and result do not fit into the memory that is
    free."""
    types = [p.var.type for p in program.params] + [type_of(program.body)]
    needed, free = CELL * sum(map(cells_of, types)), free_bytes()
    if free is not None and needed > free:
        raise UserError(
            f"the inputs and the result of {program.name} take {needed:,} bytes; "
            f"this machine has {free:,} bytes of free memory: try smaller sizes with --set"
        )


def free_bytes() -> int | None:
    """The number of bytes that the system says are free; None where it does not say."""
    try:
        lines = MEMINFO.read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return None
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(found[0]) * 1024 if found and found[0].isdigit() else None
