"""The choice of loops to spell out, and whether private memory then is registers or an array.

Only loops whose variables index registers, or constant tables, are spelled out. Any other loop
marked unrolled stays a loop under `#pragma unroll`: the text is shorter, and a compiler that
unrolls by itself keeps far fewer registers alive than one that is given the copies (104 instead of
254 on an H200 for the tiled matrix product).
"""

from collections.abc import Iterator, Mapping

from codegen.index.index import Index
from codegen.tree.kernel_values import Build, Load, kind_of, loads
from codegen.tree.memories import Memory, Space
from codegen.tree.statements import (
    Block,
    For,
    If,
    Kernel,
    Statement,
    Store,
    Unroll,
    remembered,
    statements,
)
from ir.core.frozen import frozen

MOST_TRIPS = 64  # of a loop that nobody asked to unroll, so that what it indexes become registers
MOST_COPIES = 2048  # of statements, in a nest of such loops


@frozen
class Registers:
    """The layout of private memory as variables of `width` scalars: each index is a number once
    loops unroll."""

    width: int


@frozen
class InMemory:
    """The layout of private memory as an array of vectors of `width` scalars."""

    width: int


Layout = Registers | InMemory


def unrolled_loops(kernel: Kernel) -> frozenset[str]:
    """The loops without a counter at run time: those marked unrolled, and those to spell out."""
    return _marked(kernel.body) | spelled_loops(kernel)


@remembered
def spelled_loops(kernel: Kernel) -> frozenset[str]:
    """The loops to spell out: those that turn private memory into registers, or table entries into
    numbers.

    A loop over registers is spelled out if it is marked unrolled or short; a loop over entries of
    tables, only if it is marked.
    """
    body = kernel.body
    asked = _marked(body)
    short: set[str] = set()
    _short(body, short)
    names: dict[Memory, set[str]] = {}
    for memory, index, _ in _private(body):
        names.setdefault(memory, set()).update(index.names)
    could_be = [found for found in names.values() if found <= asked | short]
    entries = [found for found in _entries(body) if found <= asked]
    return (asked | short) & frozenset[str]().union(*could_be, *entries)


def _entries(body: Block) -> Iterator[frozenset[str]]:
    """The variables in the index of each read of a constant table."""
    for s in statements(body):
        if isinstance(s, Store):
            for load in loads(s.value):
                if load.memory.space is Space.CONSTANT:
                    yield load.index.names


def _marked(body: Block) -> frozenset[str]:
    loops = (s for s in statements(body) if isinstance(s, For))
    return frozenset(loop.var for loop in loops if loop.unroll is Unroll.YES)


def _short(s: Statement, found: set[str]) -> int:
    """The number of statements of s once spelled out; loops to spell out without a mark are added
    to `found`."""
    match s:
        case Block(inner):
            return sum([_short(each, found) for each in inner])
        case If(_, body):
            return _short(body, found)
        case For(var, count, body, how):
            inside = _short(body, found)
            free = how is Unroll.FREE and count <= MOST_TRIPS and count * inside <= MOST_COPIES
            if free:
                found.add(var)
            return count * inside if free or how is Unroll.YES else inside
    return 1


def layouts(body: Block, spelled: frozenset[str]) -> dict[Memory, Layout]:
    """The layout of each private memory, registers or an array, where the loops `spelled` are
    spelled out."""
    touched: dict[Memory, list[tuple[Index, int]]] = {}
    for memory, index, width in _private(body):
        touched.setdefault(memory, []).append((index, width))
    return {memory: _layout(found, spelled) for memory, found in touched.items()}


def _layout(touched: list[tuple[Index, int]], spelled: frozenset[str]) -> Layout:
    width = max(w for _, w in touched)
    neat = all(width % w == 0 and is_aligned(index, w) for index, w in touched)
    if all(index.names <= spelled for index, _ in touched):
        if neat:
            return Registers(width)
        if width == 1:
            return Registers(1)
    same = neat and all(w == width for _, w in touched)
    return InMemory(width if same and width != 3 else 1)


def lanes_of_registers(e: Build, layouts: Mapping[Memory, Layout]) -> tuple[Load, ...] | None:
    """The loads of the lanes of the vector e, if each is a lane of a vector in registers; else
    None."""
    found = tuple([part for part in e.parts if isinstance(part, Load) and _is_lane(part, layouts)])
    return found if len(found) == len(e.parts) else None


def _is_lane(e: Load, layouts: Mapping[Memory, Layout]) -> bool:
    layout = layouts.get(e.memory)
    return isinstance(layout, Registers) and e.width == 1 < layout.width


def is_aligned(index: Index, width: int) -> bool:
    """True if an index is sure to be a multiple of `width`."""
    return index.constant % width == 0 and all(k % width == 0 for _, k in index.terms)


def _private(body: Block) -> Iterator[tuple[Memory, Index, int]]:
    for s in statements(body):
        if isinstance(s, Store):
            if s.memory.space is Space.PRIVATE:
                yield s.memory, s.index, kind_of(s.value).width
            for load in loads(s.value):
                if load.memory.space is Space.PRIVATE:
                    yield load.memory, load.index, load.width
