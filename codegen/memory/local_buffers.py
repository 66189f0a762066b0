"""The sharing of local memory: buffers whose lives do not overlap share their storage."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from codegen.tree.kernel_values import loads
from codegen.tree.memories import Memory, Space
from codegen.tree.move_memory import Location, moved
from codegen.tree.statements import Block, Declare, For, If, Kernel, Statement, Store, block
from ir.arena import LOCAL_ALIGNMENT, Life, aligned, packed
from ir.core.types import BYTES


@dataclass(slots=True)
class _Life:
    """The life of a buffer: the loops around its declaration, and the positions in the text of its
    first and its last use."""

    loops: tuple[str, ...]
    first: int
    last: int


def with_shared_locals(kernel: Kernel) -> Kernel:
    """The kernel with local buffers that share storage, all declared at its beginning."""
    lives: dict[Memory, _Life] = {}
    _walk(kernel.body, (), [0], lives)
    if not lives:
        return kernel
    lies = _lying(lives)
    kept = dict.fromkeys(lies[m].within for m in lives)
    body = moved(_undeclared(kernel.body), lies)
    return replace(kernel, body=block([*map(Declare, kept), *body.statements]))


def local_bytes(kernel: Kernel) -> int:
    """The bytes of local memory that a group takes: those of the arrays that its text declares, and
    those between them, as each begins at a multiple of `LOCAL_ALIGNMENT`."""
    found = [s.memory for s in kernel.body.statements if isinstance(s, Declare)]
    return sum(_room(m) for m in found if m.space is Space.LOCAL)


def _room(m: Memory) -> int:
    return aligned(m.bytes, LOCAL_ALIGNMENT)


def _lying(lives: dict[Memory, _Life]) -> dict[Memory, Location]:
    """The location of each buffer of a kernel, given their lives. A buffer of two halves has memory
    of its own. Of the others, those of one scalar type share memory where no two are alive at
    once."""
    found = {m: Location(m, 0) for m in lives if m.halves > 1}
    for scalar in sorted({m.scalar for m in lives}):
        pool = {m: life for m, life in lives.items() if m.scalar == scalar and m.halves == 1}
        starts = _starts(pool) if pool else {}
        for group in _apart(starts):
            first = min(group, key=lambda m: lives[m].first)
            base, end = starts[group[0]], max(starts[m] + m.elements for m in group)
            whole = replace(first, elements=end - base) if len(group) > 1 else first
            found |= {m: Location(whole, starts[m] - base) for m in group}
    return found


def _starts(lives: dict[Memory, _Life]) -> dict[Memory, int]:
    """The cell at which each buffer begins, a multiple of the alignment, so that no two buffers
    that are alive together overlap; all buffers have elements of one scalar type."""
    needed = [Life(life.first, life.last) for life in lives.values()]
    arena = packed(needed, [_room(m) for m in lives], unit=LOCAL_ALIGNMENT)
    return {m: at // BYTES[m.scalar] for m, at in zip(lives, arena.offsets, strict=True)}


def _apart(starts: dict[Memory, int]) -> Iterator[list[Memory]]:
    """The groups of buffers that overlap, directly or through others of the group, those at the
    lowest cells first. `starts` has the cell that each begins at."""
    group: list[Memory] = []
    end = 0
    for m in sorted(starts, key=lambda m: (starts[m], -m.elements)):
        if group and starts[m] >= end:
            yield group
            group = []
        group.append(m)
        end = max(end, starts[m] + m.elements)
    if group:
        yield group


def _walk(
    s: Statement, loops: tuple[tuple[str, int], ...], clock: list[int], lives: dict[Memory, _Life]
) -> None:
    clock[0] += 1
    match s:
        case Block(inner):
            for each in inner:
                _walk(each, loops, clock, lives)
        case If(_, body):
            _walk(body, loops, clock, lives)
        case For(name, _, body, _):
            start = clock[0]
            _walk(body, (*loops, (name, start)), clock, lives)
            clock[0] += 1
            for life in lives.values():
                if name not in life.loops and life.last >= start:
                    life.last = clock[0]
        case Declare(memory) if memory.space is Space.LOCAL:
            names = tuple(name for name, _ in loops)
            lives[memory] = _Life(names, clock[0], clock[0])
        case Store(memory, _, value, _):
            for touched in (memory, *(load.memory for load in loads(value))):
                if touched in lives:
                    lives[touched].last = clock[0]


def _undeclared(body: Block) -> Block:
    def without(s: Statement) -> Statement:
        match s:
            case For(_, _, inner, _) | If(_, inner):
                return replace(s, body=_undeclared(inner))
        return s

    kept = [
        without(s)
        for s in body.statements
        if not (isinstance(s, Declare) and s.memory.space is Space.LOCAL)
    ]
    return Block(tuple(kept))
