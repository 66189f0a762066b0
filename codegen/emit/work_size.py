"""The numbers of work-items and work-groups of a kernel."""

from math import prod

from codegen.emit.scope import Worker, Workers
from codegen.tree.statements import Id
from ir.core.frozen import frozen
from ir.core.instruction import Instruct
from ir.core.nodes import Expr, Level, MapPar
from ir.core.terms import subterms
from ir.core.type_rules import size_of
from ir.errors import Unsupported

ITEMS_OF_A_GLOBAL_GROUP = 64  # a warp or wave, or two, on every GPU; on a CPU one work-item's loop


Sizes = tuple[int, int, int]


@frozen
class Work:
    """The parallel dimensions of a kernel, and the shape of its launch: the numbers of groups, and
    of work-items in a group (`local_size`), along each dimension."""

    workers: Workers
    groups: Sizes
    local_size: Sizes


def work_of(e: Expr, max_work_group: int) -> Work:
    """The parallel dimensions and the shape of the launch that the parallel maps in a kernel's term
    e ask for; a group gets at most `max_work_group` work-items."""
    counts = _lengths(e)
    levels = {level for level, _ in counts}
    if Level.GLOBAL in levels and len(levels) > 1:
        found = " and ".join(sorted(level.value for level in levels))
        raise Unsupported(
            "expected mapGlobal alone, or mapWorkgroup and mapLocal, as the parallel maps of a "
            f"kernel, found {found}"
        )
    _limit(counts, max_work_group)
    groups, local = [1, 1, 1], [1, 1, 1]
    for key, items in zip(_globals(counts), _group_shape(counts, max_work_group), strict=True):
        local[key[1]] = items
        groups[key[1]] = -(-counts[key] // items)
        counts[key] = groups[key[1]] * items
    for (level, dim), count in counts.items():
        if level is not Level.GLOBAL:
            (groups if level is Level.GROUP else local)[dim] = count
    workers = {key: Worker(*key, counts[key]) for key in sorted(counts, key=_order)}
    return Work(workers, (groups[0], groups[1], groups[2]), (local[0], local[1], local[2]))


def _lengths(e: Expr) -> dict[tuple[Level, int], int]:
    """For each parallel dimension, the length of the longest map over it in the term e."""
    lengths: dict[tuple[Level, int], int] = {}
    for inner in subterms(e):
        if isinstance(inner, Instruct) and inner.together:
            key = Level.LOCAL, 0
            lengths[key] = max(inner.instruction.lanes, lengths.get(key, 1))
        if isinstance(inner, MapPar):
            n = size_of(inner.xs)
            assert isinstance(n, int)
            if inner.dim not in (0, 1, 2):
                raise Unsupported(f"{inner.level.value}({inner.dim}): expected dimension 0, 1 or 2")
            key = inner.level, inner.dim
            lengths[key] = max(n, lengths.get(key, 1))
    return lengths


def _order(key: tuple[Level, int]) -> tuple[str, int]:
    return key[0].value, key[1]


def _globals(counts: dict[tuple[Level, int], int]) -> list[tuple[Level, int]]:
    return sorted((k for k in counts if k[0] is Level.GLOBAL), key=_order)


def _limit(counts: dict[tuple[Level, int], int], most: int) -> None:
    """Shrink the longest local dimension in `counts` until a group has at most `most` work-items;
    maps over that dimension then become loops."""
    local = sorted((key for key in counts if key[0] is Level.LOCAL), key=_order)
    while (items := prod(counts[key] for key in local)) > most:
        longest = max(local, key=lambda key: counts[key])
        n = counts[longest]
        counts[longest] = _shorter(n, most * n // items)


def _shorter(n: int, room: int) -> int:
    """The number of work-items that go over n elements in turns, 2 or 3 of them. It is at most
    `room` if one of the two allows that; if both do, turns that divide n are preferred, then 2. If
    neither does, it is the number for 2 turns."""
    fitting = [k for k in (2, 3) if -(-n // k) <= room]
    even = [k for k in fitting if n % k == 0]
    turns = min(even or fitting, default=2)
    return -(-n // turns)


def _group_shape(counts: dict[tuple[Level, int], int], most: int) -> list[int]:
    """The numbers of work-items along the dimensions of a group, dimension 0 first, for a kernel of
    mapGlobals whose lengths are `counts`; a group has at most `most` work-items."""
    room, shape = min(ITEMS_OF_A_GLOBAL_GROUP, most), list[int]()
    for key in _globals(counts):
        n = counts[key]
        best = max(d for d in range(1, min(n, room) + 1) if n % d == 0)
        if 4 * best < min(n, room):
            best = 1 << (min(n, room).bit_length() - 1)
        shape.append(best)
        room //= best
    return shape


def ids(workers: Workers) -> tuple[Id, ...]:
    """The ids that a kernel asks for: those with more than one value."""
    kinds = {Level.GLOBAL: "global", Level.GROUP: "group", Level.LOCAL: "local"}
    return tuple(
        Id(w.name, kinds[w.level], w.dim, w.count) for w in workers.values() if w.count > 1
    )
