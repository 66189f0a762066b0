"""An arena is one allocation for arrays that are not all needed at once; this module computes the
offset of each array in it, and its size.

The limits that constraints check and the memory that generated code allocates are both computed
here, from the same lives of arrays. If possible, the lives alone decide which array lies below
which. The arena then has the least size that any sizes of the arrays allow: the most bytes that
live at once (each array but the topmost rounded up to `ALIGNMENT`). That size is known while sizes
are still parameters. It is possible for any six arrays. `a b c d`, each made from the one before,
lie in turn at the bottom and above:

    launch  0  1  2  3  4            b  b  d  d     above the larger of a and c
            a  a                  a  a  c  c        at 0
"""

# key: n number of arrays, i j k arrays by number

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice

from ir.core.frozen import frozen
from ir.core.size import Size, denominator, exact, round_up

ALIGNMENT = 512  # bytes: where a part of a buffer may begin, on every device that we know
LOCAL_ALIGNMENT = 64  # bytes: where an array in local memory begins, for vectors of any width
MOST_STACKS = 256  # more are not told apart: all arrays are one stack
MOST_FORCED = 64  # arrays of which such an order is looked for


@frozen
class Life:
    """The life of an array: the numbers of the launch that makes it and of the last one that reads
    it."""

    first: int
    last: int

    def meets(self, other: "Life") -> bool:
        """True if this life and the other have a launch in common."""
        return self.first <= other.last and other.first <= self.last


@frozen
class Arena:
    """The offset of each array in one arena, and the bytes of the arena."""

    offsets: tuple[int, ...]
    bytes: int


Stack = tuple[int, ...]
"""Arrays that lie one above the other, the lowest first."""

Below = tuple[frozenset[int], ...]
"""For each array those that must lie below it."""


def lives(launches: Sequence[tuple[str, Collection[str]]]) -> dict[str, Life]:
    """The lives of the arrays that launches make, by name; the last launch's result is left out.

    A launch is a pair: the name of the array that it makes, and the names of those that it
    reads.
    """
    last = {name: i for i, (_, reads) in enumerate(launches) for name in reads}
    return {name: Life(i, max(i, last.get(name, i))) for i, (name, _) in enumerate(launches[:-1])}


def stacks(arrays: Sequence[Life]) -> tuple[Stack, ...]:
    """The stacks of arrays that lie above each other in an arena, each as the arrays' numbers,
    lowest first; `arrays` are the arrays' lives. The largest stack takes as many bytes as the
    arena, or more where no order of least size is found. Without arrays there is one stack, which
    is empty."""
    below = _transitive(arrays) or _by_level(arrays)
    found = tuple(islice(_maximal(below), MOST_STACKS + 1))
    return found if len(found) <= MOST_STACKS else (_in_levels(arrays),)


def stacked_sizes(sizes: Sequence[Size]) -> tuple[Size, ...]:
    """The bytes that each array of a stack (lowest first) adds to it: its size, rounded up to
    `ALIGNMENT` for all but the topmost."""
    return (*map(rounded, sizes[:-1]), *sizes[-1:])


def rounded(n: Size, unit: int = ALIGNMENT) -> Size:
    """The number of bytes n rounded up to a multiple of `unit`."""
    return n if denominator(exact(n, unit)) == 1 else round_up(n, unit)


def packed(arrays: Sequence[Life], sizes: Sequence[int], unit: int = ALIGNMENT) -> Arena:
    """The arena in which arrays with these lives and bytes lie, so that none overlaps one that is
    live with it.

    Offsets are multiples of `unit`.
    """
    rooms = [aligned(size, unit) for size in sizes]
    below = _transitive(arrays)
    if below is not None:
        return _arena(_resting(below, rooms), sizes)
    by_size = sorted(range(len(sizes)), key=lambda i: (-sizes[i], arrays[i].first, i))
    orders = (_in_levels(arrays), tuple(by_size), tuple(range(len(sizes))))
    tried = (_arena(first_fit(order, arrays, rooms), sizes) for order in orders)
    return min(tried, key=lambda arena: arena.bytes)


def _arena(offsets: Mapping[int, int], sizes: Sequence[int]) -> Arena:
    top = max((offset + sizes[i] for i, offset in offsets.items()), default=0)
    return Arena(tuple(offsets[i] for i in range(len(sizes))), top)


def _resting(below: Below, rooms: Sequence[int]) -> dict[int, int]:
    """The offset of each array, by its number: the top of the highest array below it. `below` has
    the numbers of the arrays below each, `rooms` the rounded bytes of each."""
    offsets: dict[int, int] = {}
    for i in sorted(range(len(rooms)), key=lambda i: len(below[i])):
        offsets[i] = max((offsets[j] + rooms[j] for j in below[i]), default=0)
    return offsets


def first_fit(order: Sequence[int], arrays: Sequence[Life], rooms: Sequence[int]) -> dict[int, int]:
    """The offset of each array, by its number, given the lives of the `arrays` and their rounded
    bytes (`rooms`). Arrays are placed in the order `order`, each as low as it can lie without
    overlapping an array that was placed before and lives at the same time."""
    offsets: dict[int, int] = {}
    for i in order:
        offsets[i] = lowest_place(i, offsets, arrays, rooms)
    return offsets


def lowest_place(
    i: int, offsets: Mapping[int, int], arrays: Sequence[Life], rooms: Sequence[int]
) -> int:
    """The lowest offset at which array i overlaps none that has one of these `offsets` and lives at
    the same time; of all arrays, the lives and the rounded bytes (`rooms`) are given."""
    start = 0
    for j in sorted(offsets, key=lambda j: offsets[j]):
        if arrays[i].meets(arrays[j]) and offsets[j] < start + rooms[i]:
            start = max(start, offsets[j] + rooms[j])
    return start


def aligned(place: int, unit: int = ALIGNMENT) -> int:
    """The least multiple of `unit` that is at least `place`."""
    return -(-place // unit) * unit


# ---- what lies below what, by lives alone

Edges = set[tuple[int, int]]


def _transitive(arrays: Sequence[Life]) -> Below | None:
    """The numbers of the arrays below each array, by an order in which all arrays of a stack live
    together; None if no such order is found.

    In such an order no stack is larger than what lives at once. The order is found by forcing
    (Golumbic 1977) on the graph of the arrays, with an edge between any two that live at the same
    time. To say which end of an edge lies below decides other edges, too: those that share an end
    with it and whose other ends do not live at the same time.
    """
    left, found = _meeting(arrays), Edges()
    if len(arrays) > MOST_FORCED:
        return None
    while left:
        forced = _forced(min(left), left, len(arrays))
        turned = {(j, i) for i, j in forced}
        if forced & turned:
            return None
        found |= forced
        left -= forced | turned
    return _below(len(arrays), found)


def _meeting(arrays: Sequence[Life]) -> Edges:
    n = range(len(arrays))
    return {(i, j) for i in n for j in n if i != j and arrays[i].meets(arrays[j])}


def _forced(first: tuple[int, int], left: Edges, n: int) -> Edges:
    """The pairs (lower, higher) of arrays that follow from the pair `first`, itself included;
    `left` are the pairs not ordered yet, n the number of arrays."""
    found, new = {first}, [first]
    while new:
        i, j = new.pop()
        for k in range(n):
            for pair, closing in (((i, k), (j, k)), ((k, j), (k, i))):
                if pair in left and closing not in left and pair not in found:
                    found.add(pair)
                    new.append(pair)
    return found


def _below(n: int, pairs: Edges) -> Below:
    found: list[set[int]] = [set() for _ in range(n)]
    for lower, higher in pairs:
        found[higher].add(lower)
    return tuple(map(frozenset, found))


def _by_level(arrays: Sequence[Life]) -> Below:
    level = _levels(arrays)
    return _below(len(arrays), {(i, j) for i, j in _meeting(arrays) if level[i] < level[j]})


def _in_levels(arrays: Sequence[Life]) -> Stack:
    level = _levels(arrays)
    return tuple(sorted(range(len(arrays)), key=lambda i: (level[i], i)))


def _levels(arrays: Sequence[Life]) -> list[int]:
    """The level of each array, assigned in order of time: the lowest level that no array with an
    overlapping life has."""
    found: list[int] = []
    for i, life in enumerate(arrays):
        taken = {found[j] for j in range(i) if life.meets(arrays[j])}
        found.append(next(level for level in range(i + 1) if level not in taken))
    return found


def _maximal(below: Below) -> Iterator[Stack]:
    """The stacks to which no array can be added; one empty stack if there are no arrays. `below`
    has the numbers of the arrays below each array."""
    nearest = [_nearest(i, below) for i in range(len(below))]
    under = frozenset[int]().union(*below)
    left: list[Stack] = [(top,) for top in range(len(below)) if top not in under] or [()]
    while left:
        stack = left.pop()
        lower = nearest[stack[0]] if stack else []
        left.extend((i, *stack) for i in lower)
        if not lower:
            yield stack


def _nearest(i: int, below: Below) -> list[int]:
    """The numbers of the arrays that lie directly below array i, with no other between."""
    between = frozenset[int]().union(*(below[j] for j in below[i]))
    return sorted(below[i] - between)
