"""Local memory: buffers whose lives do not overlap share their storage."""

from dataclasses import dataclass, replace

from codegen.inplace import retargeted
from codegen.tree import (
    Block,
    Declare,
    For,
    If,
    Kernel,
    Memory,
    Space,
    Statement,
    Store,
    block,
    loads,
)
from ir.types import BYTES


@dataclass(slots=True)
class _Life:
    """The loops around a declaration, and the positions in the text between which it is used."""

    loops: tuple[str, ...]
    first: int
    last: int


def with_shared_locals(kernel: Kernel) -> Kernel:
    """The kernel with its local buffers shared, all declared at its beginning."""
    lives: dict[Memory, _Life] = {}
    _walk(kernel.body, (), [0], lives)
    if not lives:
        return kernel
    instead = _shared(lives)
    kept = dict.fromkeys(instead.get(m, m) for m in lives)
    body = retargeted(_undeclared(kernel.body), instead)
    return replace(kernel, body=block([*map(Declare, kept), *body.statements]))


def local_bytes(kernel: Kernel) -> int:
    """Bytes of local memory that a group needs."""
    found = [s.memory for s in kernel.body.statements if isinstance(s, Declare)]
    return sum(m.elements * m.halves * BYTES[m.scalar] for m in found if m.space is Space.LOCAL)


def _shared(lives: dict[Memory, _Life]) -> dict[Memory, Memory]:
    """Which memory stands in for which, larger ones for smaller ones."""
    hosts: dict[Memory, list[Memory]] = {}
    instead: dict[Memory, Memory] = {}
    for m in sorted(lives, key=lambda m: (-m.elements, lives[m].first)):
        fits = [h for h, guests in hosts.items() if _may_share(m, h, guests, lives)]
        if fits:
            host = min(fits, key=lambda h: h.elements)
            hosts[host].append(m)
            instead[m] = host
        else:
            hosts[m] = [m]
    return instead


def _may_share(m: Memory, host: Memory, guests: list[Memory], lives: dict[Memory, _Life]) -> bool:
    if m.scalar != host.scalar or m.halves != 1 or host.halves != 1:
        return False
    return all(lives[m].last < lives[g].first or lives[g].last < lives[m].first for g in guests)


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
