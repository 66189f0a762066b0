"""The bytes of local memory of a kernel: buffers in one pool share storage if their lives do not
overlap.

Code generation packs each pool by the same function from the same lives (`ir.arena.packed`), so
that the bytes at a point are those that the text declares. While sizes are parameters, the bytes of
a pool are bounded by its stacks: exactly for up to six buffers, and from above for more.
"""

# key: b buffer

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from constraints.quantities.held_buffers import Buffer, Live, Space
from ir.arena import LOCAL_ALIGNMENT, Life, packed, stacks

Pool = tuple[tuple[Life, Buffer], ...]
"""Buffers of one scalar in the order in which they are made, and when each lives."""


def pools(sets: Iterable[Live]) -> tuple[Pool, ...]:
    """The pools of the local buffers in `sets`, sets of buffers that live together; a buffer marked
    `alone` is a pool by itself."""
    found = [frozenset(b for b in live if b.space is Space.LOCAL) for live in sets]
    every = sorted(frozenset[Buffer]().union(*found), key=_number)
    alone = [((Life(0, 0), b),) for b in every if b.alone]
    names = dict.fromkeys(b.pool for b in every if not b.alone)
    return (*alone, *(_pool(found, name) for name in names))


def _number(b: Buffer) -> int:
    return b.number


def _pool(sets: Iterable[Live], name: str) -> Pool:
    """The pool called `name`: its buffers, each with its life. The moments of a life are the sets
    of buffers that live together, in the order in which the newest buffer of each is made."""
    own = {frozenset(b for b in live if b.pool == name and not b.alone) for live in sets}
    newest_first = (sorted(live, key=_number, reverse=True) for live in own)
    in_time = sorted(filter(None, newest_first), key=_numbers)
    lives: dict[Buffer, Life] = {}
    for turn, live in enumerate(in_time):
        for b in live:
            lives[b] = Life(lives[b].first if b in lives else turn, turn)
    return tuple((lives[b], b) for b in sorted(lives, key=_number))


def _numbers(live: Sequence[Buffer]) -> list[int]:
    return [b.number for b in live]


def largest_sets(found: Sequence[Pool]) -> Iterator[Live]:
    """The sets of buffers that may be the largest: each takes one stack of every pool. The largest
    of them has at least the bytes that all pools take together."""
    chosen = [
        [frozenset(pool[i][1] for i in stack) for stack in stacks([life for life, _ in pool])]
        for pool in found
    ]
    return (frozenset[Buffer]().union(*each) for each in product(*chosen))


def packed_bytes(lives: Sequence[Life], sizes: Sequence[int]) -> int:
    """The bytes of a pool whose buffers have these lives and sizes."""
    return packed(lives, sizes, unit=LOCAL_ALIGNMENT).bytes
