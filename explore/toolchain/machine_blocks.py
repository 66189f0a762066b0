"""The instructions of a kernel for Mali as Mesa's compiler prints them, counted block by block."""

import re
from collections import Counter
from collections.abc import Iterator

BLOCK = re.compile(r"^block(\d+) \{$(.*?)^\}", re.MULTILINE | re.DOTALL)
_BIFROST = re.compile(r"^\t([*+])\s+(?:\S+ = )?([A-Z][A-Z0-9_]*)(\.v2f16)?", re.MULTILINE)
_VALHALL = re.compile(r"^   (?:[^=\n]* = )?([A-Z][A-Z0-9_]*)(\.v2f16)?", re.MULTILINE)
MESSAGES = ("LOAD", "STORE", "LD_", "ST_", "ATOM", "BARRIER")
SHIFTS = ("LSHIFT", "RSHIFT", "ARSHIFT", "LROT", "MUX", "POPCOUNT", "CLZ")
# What Valhall's other two units carry out, as the compiler's own line of statistics divides them.
FMA = ("FMA", "FADD", "FCMP", "FMIN", "FMAX")


def machine_blocks(printed: str) -> dict[int, Counter[str]]:
    """For each block of the last kernel in what was printed: its tuples, instructions,
    multiply-adds, messages, and of Valhall's units."""
    start = printed.rfind("\nblock0 {")
    found = BLOCK.finditer(printed, max(start, 0)) if start >= 0 else iter(())
    return {int(m[1]): _counted(m[2]) for m in found}


def _counted(body: str) -> Counter[str]:
    counts = Counter[str]()
    bifrost = _BIFROST.findall(body)
    for slot, name, pair in bifrost:
        counts["tuples"] += slot == "*"
        counts.update(_of(name, bool(pair)))
    if not bifrost:
        for name, pair in _VALHALL.findall(body):
            counts.update(_of(name, bool(pair)))
            counts[_unit(name)] += 1
    return counts


def _of(name: str, pair: bool) -> Iterator[str]:
    """What an instruction counts as."""
    if name == "NOP":
        return
    yield "instructions"
    if name.startswith("FMA"):
        yield from ["multiply_adds"] * (1 + pair)
    if name.startswith(MESSAGES):
        yield "messages"


def _unit(name: str) -> str:
    """The unit of a Valhall that carries an instruction out."""
    if name.startswith(MESSAGES):
        return "ls"
    if name.startswith(SHIFTS):
        return "sfu"
    return "fma" if name.startswith(FMA) else "cvt"
