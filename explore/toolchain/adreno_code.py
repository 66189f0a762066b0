"""The accesses to private memory in the code of a kernel for Adreno as Mesa's compiler lists it:
registers that spill, and arrays that it keeps in memory.

Its statistics do not tell of them. A loop stands in the listing as a jump back to a label; which
loop of the tree of loops and branches that is follows from their order.
"""

import re
from bisect import bisect_left

from ir.core.frozen import frozen

CODE = "Native code for "
_ACCESS = re.compile(r"\b(stp|ldp)\.[a-z]\d+ .*, (\d{1,3})$", re.MULTILINE)
_LABEL = re.compile(r"^(?:MESA: info: )?l(\d{1,9}):$", re.MULTILINE)
_JUMP = re.compile(r"#l(\d{1,9})$", re.MULTILINE)


@frozen
class Access:
    """An instruction that stores registers in private memory, or loads them from there: how many,
    and the innermost loop around it, counted from 0 by where loops begin (None: no loop)."""

    stores: bool
    registers: int
    loop: int | None


@frozen
class AdrenoCode:
    """The accesses to private memory in a kernel's code, and how many loops it has."""

    accesses: tuple[Access, ...]
    loops: int

    @property
    def spills(self) -> int:
        """The registers that are moved to memory, each where that stands in the code."""
        return sum(a.registers for a in self.accesses if a.stores)

    @property
    def fills(self) -> int:
        """The registers that are moved back."""
        return sum(a.registers for a in self.accesses if not a.stores)


def adreno_code(printed: str) -> AdrenoCode:
    """The accesses to private memory of the last kernel in what the compiler for Adreno printed."""
    listing = printed[max(printed.rfind(CODE), 0) :]
    loops = _loops(listing)
    found = [
        Access(m[1] == "stp", int(m[2]), _around(m.start(), loops))
        for m in _ACCESS.finditer(listing)
    ]
    return AdrenoCode(tuple(found), len(loops))


def _loops(listing: str) -> list[tuple[int, int]]:
    """Where loops begin and end in a listing, in the order in which they begin: at a label, and at
    the last jump back to it."""
    begins = {m[1]: m.start() for m in _LABEL.finditer(listing)}
    ends: dict[int, int] = {}
    for jump in _JUMP.finditer(listing):
        begin = begins.get(jump[1], jump.end())
        if begin < jump.start():
            ends[begin] = jump.start()
    return sorted(ends.items())


def _around(at: int, loops: list[tuple[int, int]]) -> int | None:
    """The number of the innermost loop around a position: the last to begin before it of those that
    end after it."""
    for n in reversed(range(bisect_left(loops, (at, at)))):
        if at < loops[n][1]:
            return n
    return None
