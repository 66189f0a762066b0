"""The instructions of a kernel for Mali as Mesa's compiler prints them, counted block by block."""

import re
from collections import Counter

BLOCK = re.compile(r"^block(\d+) \{$(.*?)^\}", re.MULTILINE | re.DOTALL)
_NAME = r"([A-Z][A-Z0-9_]*)(?:\.(v2f16|i\d{1,3}))?"
_BIFROST = re.compile(rf"^\t([*+])\s+(?:\S+ = )?{_NAME}(.*)", re.MULTILINE)
_VALHALL = re.compile(rf"^   (?:[^=\n]* = )?{_NAME}(.*)", re.MULTILINE)
# An operand of which both halves are taken: one half for both lanes has `.h00` or `.h11` behind it.
_BOTH = re.compile(r"(?:r\d+|t[01])(?!\w|\.h00|\.h11)")
PAIR, WORD = "v2f16", 32  # bits of a word
MESSAGES = ("LOAD", "STORE", "LD_", "ST_", "ATOM", "BARRIER")
SHIFTS = ("LSHIFT", "RSHIFT", "ARSHIFT", "LROT", "MUX", "POPCOUNT", "CLZ")
# What Valhall's other two units carry out, as the compiler's own line of statistics divides them.
FMA = ("FMA", "FADD", "FCMP", "FMIN", "FMAX")


def machine_blocks(printed: str) -> dict[int, Counter[str]]:
    """Counts for each block, by its number, of the last kernel in `printed`: its tuples,
    instructions, multiply-adds, messages, the words that these move, and the instructions of each
    of Valhall's units."""
    start = printed.rfind("\nblock0 {")
    found = BLOCK.finditer(printed, max(start, 0)) if start >= 0 else iter(())
    return {int(m[1]): _counted(m[2]) for m in found}


def _counted(body: str) -> Counter[str]:
    counts = Counter[str]()
    bifrost = _BIFROST.findall(body)
    for slot, name, kind, operands in bifrost:
        counts["tuples"] += slot == "*"
        counts.update(_of(name, kind, operands))
    if not bifrost:
        for name, kind, operands in _VALHALL.findall(body):
            counts.update(_of(name, kind, operands))
            counts[_unit(name)] += 1
    return counts


def _of(name: str, kind: str, operands: str) -> dict[str, int]:
    """The amounts by which an instruction of this name, on numbers of this kind, raises the counts,
    by their names. An instruction on a pair of halves that takes one half of each operand for both
    lanes makes one result twice."""
    if name == "NOP":
        return {}
    found = {"instructions": 1}
    if name.startswith("FMA"):
        found["multiply_adds"] = 2 if kind == PAIR and _BOTH.search(operands) else 1
    if name.startswith(MESSAGES):
        bits = int(kind[1:]) if kind.startswith("i") else WORD
        found |= {"messages": 1, "words": max(1, bits // WORD)}
    return found


def _unit(name: str) -> str:
    """The unit of a Valhall GPU that carries out an instruction."""
    if name.startswith(MESSAGES):
        return "ls"
    if name.startswith(SHIFTS):
        return "sfu"
    return "fma" if name.startswith(FMA) else "cvt"
