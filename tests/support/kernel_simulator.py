"""A simulator of statement trees: it runs the work-items of a small kernel one by one, and finds
the faults that `prove` must find.

Of each work-item it notes which cells it reads and writes after how many barriers, which barriers
it passes, and its faults. Values of data are not computed.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from codegen.index.atoms import Assume
from codegen.index.condition import Condition, holds
from codegen.index.index import Index, inner_atoms
from codegen.index.substitute import evaluate
from codegen.tree.kernel_values import Load, Select, Value, Whole, kind_of, operands
from codegen.tree.memories import Memory, Space
from codegen.tree.statements import Barrier, Block, For, If, Kernel, Statement, Store
from ir.core.types import BYTES

Dims = tuple[int, ...]


@dataclass
class Item:
    """The state of one simulated work-item: its group, the values of its variables, its faults, the
    barriers that it has `passed`, and its `clock`, the number of barriers passed for each memory.
    `taken` are the conditions that chose the value now computed, each true or false; `asked` and
    `touched` are the cells that the item asked for, and those that it read or wrote."""

    group: tuple[int, ...]
    values: dict[str, int]
    faults: set[str]
    passed: list[tuple[int, ...]] = field(default_factory=list)  # barriers, by place and iteration
    clock: dict[Space, int] = field(default_factory=lambda: dict.fromkeys(Space, 0))
    taken: tuple[tuple[Condition, bool], ...] = ()  # ways in the selects around a value
    asked: list[tuple[Memory, int, object]] = field(default_factory=list)  # by which place
    touched: list[tuple[Memory, int, int, bool, int]] = field(default_factory=list)


def faults(kernel: Kernel) -> set[str]:
    """The faults of a kernel when it is simulated, a subset of "bounds", "race", "barrier",
    "claim"."""
    found: set[str] = set()
    _compare(list(items(kernel, found)), found)
    return found


def items(kernel: Kernel, found: set[str]) -> Iterator[Item]:
    for group in itertools.product(*map(range, kernel.groups)):
        for local in itertools.product(*map(range, kernel.local_size)):
            item = Item(group, _ids(kernel, group, local), found)
            _run(kernel.body, item, ())
            yield item


def traffic(kernel: Kernel) -> int:
    """The bytes of global memory that a kernel's work-groups ask for. A byte that several
    work-items of a group ask for at one place of the text, in one iteration, counts once."""
    asked = set()
    for item in items(kernel, set()):
        asked |= {(item.group, *one) for one in item.asked}
    return sum(BYTES[memory.scalar] for _, memory, _, _ in asked)


def _ids(kernel: Kernel, group: Dims, local: Dims) -> dict[str, int]:
    values = {}
    for i in kernel.ids:
        d = i.dimension
        whole = group[d] * kernel.local_size[d] + local[d]
        values[i.name] = {"group": group[d], "local": local[d], "global": whole}[i.kind]
    return values


def _run(s: Statement, item: Item, place: tuple[int, ...]) -> None:
    match s:
        case Block(inner):
            for k, each in enumerate(inner):
                _run(each, item, (*place, k))
        case For(name, count, body):
            for turn in range(count):
                item.values[name] = turn
                _run(body, item, (*place, turn))
            del item.values[name]
        case If(condition, body):
            if _true(condition, item):
                _run(body, item, place)
        case Barrier(spaces):
            item.passed.append(place)
            for space in spaces:
                item.clock[space] += 1
        case Store(memory, index, value, half):
            _value(value, place, item)
            _touch(memory, index, kind_of(value).width, half, True, place, item)


def _value(e: Value, place: tuple[int, ...], item: Item) -> None:
    match e:
        case Load(memory, index, width, half):
            _touch(memory, index, width, half, False, place, item)
        case Whole(index):
            _number(index, item)
        case Select(condition, a, b):
            way, outside = _true(condition, item), item.taken
            item.taken = (*outside, (condition, way))
            _value(a if way else b, place, item)
            item.taken = outside
        case _:
            for inner in operands(e):
                _value(inner, place, item)


def _true(condition: Condition, item: Item) -> bool:
    plain = [part for part in condition.parts if "[" not in part.key]
    if not all(evaluate(part, item.values) >= 0 for part in plain):
        return False
    for part in condition.parts:
        _number(part, item)
    return holds(condition, item.values)


def _number(index: Index, item: Item) -> int:
    for atom in inner_atoms(index):
        if isinstance(atom, Assume):
            x = evaluate(atom.index, item.values)
            if (atom.lo is not None and x < atom.lo) or (atom.hi is not None and x > atom.hi):
                item.faults.add("claim")
    return evaluate(index, item.values)


def _touch(
    memory: Memory,
    index: Index,
    width: int,
    half: Index | None,
    writes: bool,
    place: tuple[int, ...],
    item: Item,
) -> None:
    i, h = _number(index, item), 0 if half is None else _number(half, item)
    if i < 0 or i + width > memory.elements or not 0 <= h < memory.halves:
        item.faults.add("bounds")
    if memory.space is not Space.PRIVATE:
        now = item.clock[memory.space]
        item.touched.extend((memory, h, c, writes, now) for c in range(i, i + width))
    if memory.space is Space.GLOBAL:
        words = (place, item.taken, index.key, width, writes)
        item.asked.extend((memory, c, words) for c in range(i, i + width))


def _compare(items: list[Item], found: set[str]) -> None:
    for a, b in itertools.combinations(items, 2):
        if a.group == b.group and a.passed != b.passed:
            found.add("barrier")
    users: dict[object, set[tuple[int, tuple[int, ...], bool, int]]] = {}
    for k, item in enumerate(items):
        for memory, half, cell, writes, now in item.touched:
            where = None if memory.space is Space.GLOBAL else item.group
            users.setdefault((memory, half, cell, where), set()).add((k, item.group, writes, now))
    for uses in users.values():
        for (k, g, write, now), (l, h, other, then) in itertools.combinations(uses, 2):
            if k != l and (write or other) and (g != h or now == then):
                found.add("race")
