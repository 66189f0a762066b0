"""The statistics that Mesa's compilers print of a kernel, read as numbers: a line for Mali, several
for Adreno.

A kernel that asks for global ids is compiled twice, with an offset and without; the last is what is
launched here.
"""

import re
from collections.abc import Iterator

from explore.toolchain.adreno_code import adreno_code
from ir.core.frozen import frozen

Counts = tuple[tuple[str, float], ...]

MALI = "SHADER-DB: "
_COUNT = re.compile(r"(?<![\w.])(\d{1,12}(?:\.\d{1,9})?) ([a-z][a-z0-9-]{0,20})")
_SPILLS = re.compile(r"(\d{1,9}):(\d{1,9}) spills:fills")
_ADRENO = re.compile(r"; CL prog (\d+)/\d+: (.*)")
_MALI_NAMES = {
    "inst": "instructions",
    "tuples": "tuples",
    "clauses": "clauses",
    "quadwords": "quadwords",
    "threads": "threads",
    "loops": "loops",
    "ldst": "messages",
    "ls": "messages",
    "fma": "fma",
    "cvt": "cvt",
    "sfu": "sfu",
}
_ADRENO_NAMES = {
    "instr": "instructions",
    "nops": "nops",
    "mov": "mov",
    "cov": "cov",
    "dwords": "dwords",
    "half": "half",
    "full": "full",
    "systall": "systall",
    "sstall": "sstall",
    "loops": "loops",
    "cat6": "messages",
    **{f"cat{n}": f"cat{n}" for n in (0, 1, 2, 3, 4, 5)},
}


@frozen
class Statistics:
    """The statistics of a kernel: numbers by name, spilled registers, and the text that was printed
    before them, which holds its code."""

    counts: Counts
    spills: int
    fills: int
    before: str

    def count(self, name: str) -> float:
        """The number printed under this name; 0 if it was not printed."""
        return dict(self.counts).get(name, 0.0)


def of_mali(printed: str) -> Statistics | None:
    """The statistics of the last kernel in what the compiler for Mali printed; None if it printed
    none."""
    *parts, _ = printed.split(MALI)
    if not parts:
        return None
    line = printed.rsplit(MALI, 1)[1].partition("\n")[0]
    spilled = _SPILLS.search(line)
    return Statistics(
        tuple(_named(line, _MALI_NAMES)),
        int(spilled[1]) if spilled else 0,
        int(spilled[2]) if spilled else 0,
        parts[-1],
    )


def of_adreno(printed: str) -> Statistics | None:
    """The statistics of the last kernel in what the compiler for Adreno printed; None if it printed
    none."""
    found = list(_ADRENO.finditer(printed))
    if not found:
        return None
    last = [m for m in found if m[1] == found[-1][1]]
    counts = tuple(_named(", ".join(m[2] for m in last), _ADRENO_NAMES))
    earlier = [m.end() for m in found if m[1] != found[-1][1]]
    before = printed[max(earlier, default=0) : last[0].start()]
    code = adreno_code(before)
    return Statistics(counts, code.spills, code.fills, before)


def _named(line: str, names: dict[str, str]) -> Iterator[tuple[str, float]]:
    """Pairs (name, number) for the numbers in a line of statistics, each name once; `names` has our
    names by the compiler's, and numbers without one are left out."""
    seen = set[str]()
    for m in _COUNT.finditer(line):
        name = names.get(m[2])
        if name is not None and name not in seen:
            seen.add(name)
            yield name, float(m[1])
