"""The last form of a kernel that Mesa's compilers print before they choose a device's instructions,
read as a tree of loops and branches. It looks alike for all devices.

It is a compiler's output: what is not understood is left out, and makes a value unknown.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ir.core.frozen import frozen

ENTRY = re.compile(r"^(?:MESA: info: )?impl \S+ \{$", re.MULTILINE)
_BLOCK = re.compile(r"(?:(?:con|div) )?block b(\d+):")
_IF = re.compile(r"if %(\d+)(?:\.([xyzw]))? \{")
_MADE = re.compile(r"(?:(?:con|div)\s+)?\d+(?:x(\d+))?\s+%(\d+) = (@?[\w.]+) ?(.*)")
_COMES_FROM = re.compile(r"b(\d+): %(\d+)")
_OPERAND = re.compile(r"%(\d+)(?:\.([a-p]+|[xyzw]+))?")
_NUMBER = re.compile(r"0x[0-9a-f]{1,16}|\btrue\b|\bfalse\b")
_TRUTHS = {"true": (1 << 32) - 1, "false": 0}  # as comparisons give them: all bits, or none
_BASE = re.compile(r"decl_var .* base_(?:global_invocation|workgroup)_id \(\d+, (\d{1,6}), 0\)")
BASE_BYTES = 32  # of an offset: four longs
MOST_LINES = 1 << 20
_LOAD = re.compile(r"@load_(?:global(?!_invocation)|shared|scratch|constant)")
MERGE = "merge"  # a value after a branch: of the condition and of what each side makes


@frozen
class Operand:
    """An operand: the number of a definition, and which of its lanes are taken, if not all."""

    number: int
    lanes: str = ""


@frozen
class Made:
    """A definition: its operation, its operands, the numbers of a constant, and the lanes that it
    has."""

    operation: str
    operands: tuple[Operand, ...]
    numbers: tuple[int, ...] = ()
    lanes: int = 1


@frozen
class Block:
    """A block: its number, how often each operation stands in it, where one on a vector counts once
    for each lane, and the numbers of its definitions."""

    number: int
    operations: Counter[str]
    defines: list[int] = field(default_factory=list)


@frozen
class Leave:
    """A `break`, or a `continue`, of the loop around: `word` says which."""

    word: str


@frozen
class Branch:
    """A branch: the nodes `then` run where the condition holds, the nodes `otherwise` elsewhere."""

    condition: Operand
    then: "Sequence"
    otherwise: "Sequence"


@frozen
class Loop:
    """A loop, which a `break` inside ends."""

    body: "Sequence"


Node = Block | Leave | Branch | Loop
Sequence = tuple[Node, ...]


@frozen
class Shader:
    """A kernel: its tree, all definitions by number, and the positions (`bases`), in bytes, at
    which its arguments hold the offsets of ids."""

    body: Sequence
    made: Mapping[int, Made]
    bases: frozenset[int] = frozenset()  # where the arguments hold offsets of ids, in bytes


@dataclass(slots=True)
class _Reader:
    lines: Iterator[str]
    made: dict[int, Made] = field(default_factory=dict)

    def sequence(self) -> tuple[Sequence, str]:
        """The nodes up to the closing brace of the block that is being read, and the line with that
        brace."""
        found: list[Node] = []
        for line in self.lines:
            if line.startswith("}"):
                return tuple(found), line
            if line.endswith("loop {"):
                found.append(Loop(self.sequence()[0]))
            elif m := _IF.match(line):
                then, end = self.sequence()
                otherwise = self.sequence()[0] if "else" in end else ()
                found.append(Branch(Operand(int(m[1]), m[2] or ""), then, otherwise))
            elif m := _BLOCK.match(line):
                found.append(Block(int(m[1]), Counter()))
            elif line in ("break", "continue"):
                found.append(Leave(line))
            elif found:
                self.instruction(line, found[-1], found[-2] if len(found) > 1 else None)
        return tuple(found), ""

    def instruction(self, line: str, inside: Node, before: Node | None) -> None:
        """Take in a line, which is a definition or a store, of the block `inside`; `before` is the
        node before that block."""
        m = _MADE.match(line)
        operation = m[3].split(".")[0] if m else line.split(" ", 1)[0]
        if m:
            operands = tuple(Operand(int(n), lanes) for n, lanes in _OPERAND.findall(m[4]))
            numbers = tuple(
                _TRUTHS[n] if n in _TRUTHS else int(n, 16) for n in _NUMBER.findall(m[4])
            )
            is_number = operation == "load_const"
            self.made[int(m[2])] = (
                _merge(before, m[4])
                if operation == "phi" and isinstance(before, Branch)
                else Made(operation, operands, numbers if is_number else (), int(m[1] or 1))
            )
            if isinstance(inside, Block):
                inside.defines.append(int(m[2]))
        if isinstance(inside, Block) and operation:
            lanes = 1 if m is None or operation.startswith("@") else int(m[1] or 1)
            inside.operations[operation] += lanes


def _merge(branch: Branch, operands: str) -> Made:
    """The definition of a value that a branch decides, as the text `operands` of a phi tells. Its
    operands are the branch's condition, the value from the side where the condition holds, and the
    value from the other side. If the values do not come from these two sides, it is left a phi,
    whose value is unknown."""
    by_block = {int(block): Operand(int(n)) for block, n in _COMES_FROM.findall(operands)}
    sides = [side for side in (branch.then, branch.otherwise) if side]
    last = [side[-1].number if isinstance(side[-1], Block) else -1 for side in sides]
    if len(last) < 2 or {*last} != {*by_block}:
        return Made("phi", tuple(by_block.values()))
    return Made(MERGE, (branch.condition, by_block[last[0]], by_block[last[1]]))


def shader(printed: str) -> Shader | None:
    """The last kernel in what a compiler printed; None if there is none."""
    entries = list(ENTRY.finditer(printed))
    if not entries:
        return None
    lines = printed[entries[-1].end() :].split("\n", MOST_LINES)
    reader = _Reader(iter([_plain(line) for line in lines]))
    body, _ = reader.sequence()
    head = printed[entries[-2].end() if len(entries) > 1 else 0 : entries[-1].start()]
    begins = [int(m[1]) for m in _BASE.finditer(head)]
    bases = frozenset(at for begin in begins for at in range(begin, begin + BASE_BYTES))
    return Shader(body, reader.made, bases)


def from_memory(made: Mapping[int, Made]) -> frozenset[int]:
    """The numbers of those definitions (`made`, by number) that depend on what is loaded from
    memory, arguments apart: neither ids, counters nor addresses do."""
    users = defaultdict[int, list[int]](list)
    for number, each in made.items():
        for operand in each.operands:
            users[operand.number].append(number)
    left = [number for number, each in made.items() if _LOAD.match(each.operation)]
    found = set(left)
    while left:
        fresh = [number for number in users[left.pop()] if number not in found]
        found.update(fresh)
        left += fresh
    return frozenset(found)


def _plain(line: str) -> str:
    """A line without the words that Mesa prints before it, its comment, and spaces at its ends."""
    return line.removeprefix("MESA: info: ").split("//")[0].strip()
