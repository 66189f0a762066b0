"""The packing of arrays into an arena that is as small as any can be, by a search that also proves
that no smaller one holds them.

The search looks for offsets in an arena of a given number of bytes. It fills the arena from below:
at the lowest height that is reached at any moment, an array is placed there, or nothing more is,
and the height rises to that of a neighbouring moment. Any packing can be pressed down until each
array rests on the bottom or on another array, so this misses none. Where what is still to be
placed at a moment does not fit above the height reached, it goes back."""

# key: i number of an array, t number of a moment, tall its height and top its highest offset, both
# in units of the alignment

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, pairwise

from ir.arena import ALIGNMENT, Arena, Life, aligned, first_fit, lowest_place, packed
from ir.core.frozen import frozen

STEPS = 6000  # of all searches for one packing
PROMOTED = 40  # times that arrays which end too high are placed earlier
DONE = 1 << 60  # the height of a moment at which nothing more is to be placed


@frozen
class Packing:
    """An arena, and the bytes that any arena of the same arrays is proved to have at least."""

    arena: Arena
    least: int


def tight_packing(
    arrays: Sequence[Life], sizes: Sequence[int], steps: int | None = None
) -> Packing:
    """The smallest arena that is found for arrays with these lives and bytes, with the least that
    is proved; both are equal unless the search ends after so many `steps` (None: `STEPS`)."""
    low, found = peak(arrays, sizes), packed(arrays, sizes)
    if found.bytes > low:
        found = min(found, _promoted(arrays, sizes, low), key=lambda arena: arena.bytes)
    ends = {n % ALIGNMENT for n in sizes}  # an arena ends with an array
    steps_left, asked = [STEPS if steps is None else steps], low
    try:
        while low < found.bytes:
            offsets = placed_within(arrays, sizes, asked, steps_left)
            if offsets is None:
                low = next(n for n in count(asked + 1) if n % ALIGNMENT in ends)
            else:
                found = _arena(offsets, sizes)
            middle = (low + found.bytes - 1) // 2
            asked = next((n for n in range(middle, low, -1) if n % ALIGNMENT in ends), low)
    except TooLong:
        pass
    return Packing(found, low)


def peak(lives: Sequence[Life], sizes: Sequence[int]) -> int:
    """The most bytes that live at once, of arrays with these lives and sizes: no arena is smaller.
    All but one of those that live together begin at a multiple of the alignment."""
    most = 0
    for life in lives:
        at = [
            n
            for other, n in zip(lives, sizes, strict=True)
            if other.first <= life.first <= other.last
        ]
        slack = max(aligned(n) - n for n in at)
        most = max(most, sum(map(aligned, at)) - slack)
    return most


class TooLong(Exception):
    """The search took as many steps as it may: it is not known whether the arrays fit."""


def placed_within(
    arrays: Sequence[Life], sizes: Sequence[int], room: int, steps: list[int]
) -> list[int] | None:
    """Offsets of arrays with these lives and bytes in an arena of `room` bytes; None if it is
    proved that they do not fit. Raises `TooLong` once the steps that are left, the only number in
    `steps`, are used up; each step is taken from it."""
    if peak(arrays, sizes) > room:
        return None
    hard, easy = _easy_last(arrays, sizes, room)
    offsets: dict[int, int] = {}
    for together in _apart(hard, arrays):
        lives, bytes_ = [arrays[i] for i in together], [sizes[i] for i in together]
        found = _Search.of(lives, bytes_, room).offsets(steps)
        if found is None:
            return None
        offsets |= {i: n * ALIGNMENT for i, n in zip(together, found, strict=True)}
    for i in easy:
        offsets[i] = lowest_place(i, offsets, arrays, [aligned(n) for n in sizes])
    return [offsets[i] for i in range(len(sizes))]


def _easy_last(
    arrays: Sequence[Life], sizes: Sequence[int], room: int
) -> tuple[list[int], list[int]]:
    """The numbers of the arrays in two parts: those for which places must be looked for, and those
    that find one after them, in this order, wherever the others lie: what the arrays that they meet
    leave free has a part that is large enough."""
    tall = [aligned(n) // ALIGNMENT for n in sizes]
    near = [
        {j for j, b in enumerate(arrays) if j != i and a.meets(b)} for i, a in enumerate(arrays)
    ]
    left, easy = set(range(len(sizes))), list[int]()

    def finds_place(i: int) -> bool:
        end = (room - sizes[i]) // ALIGNMENT + tall[i]
        met = [tall[j] for j in near[i] & left if tall[j]]
        return end - sum(met) > (len(met) + 1) * (tall[i] - 1)

    while found := [i for i in sorted(left) if finds_place(i)]:
        for i in found:
            if finds_place(i):
                left.remove(i)
                easy.append(i)
    return sorted(left), easy[::-1]


def _apart(numbers: Sequence[int], arrays: Sequence[Life]) -> Iterator[list[int]]:
    """The numbers of arrays in groups: arrays of different groups never live at once."""
    group, last = list[int](), -1
    for i in sorted(numbers, key=lambda i: (arrays[i].first, i)):
        if group and arrays[i].first > last:
            yield group
            group = []
        group.append(i)
        last = max(last, arrays[i].last)
    if group:
        yield group


def _promoted(arrays: Sequence[Life], sizes: Sequence[int], wanted: int) -> Arena:
    """The smallest arena of some that are made one after the other: arrays that end above `wanted`
    bytes in one are placed first in the next."""
    rooms = [aligned(n) for n in sizes]
    order = sorted(range(len(sizes)), key=lambda i: (-sizes[i] * _length(arrays[i]), i))
    best: Arena | None = None
    for _ in range(PROMOTED):
        placed = first_fit(order, arrays, rooms)
        arena = _arena([placed[i] for i in range(len(sizes))], sizes)
        if best is None or arena.bytes < best.bytes:
            best = arena
        if arena.bytes <= wanted:
            break
        over = {i for i in order if placed[i] + sizes[i] > wanted}
        order = [*(i for i in order if i in over), *(i for i in order if i not in over)]
    assert best is not None
    return best


def _length(life: Life) -> int:
    return life.last - life.first + 1


def _arena(offsets: Sequence[int], sizes: Sequence[int]) -> Arena:
    top = max((o + n for o, n in zip(offsets, sizes, strict=True)), default=0)
    return Arena(tuple(offsets), top)


@frozen
class _Move:
    """A step of the search: an array to place at the lowest height, or None if nothing more is
    placed there."""

    array: int | None


@dataclass(slots=True)
class _Search:
    """A search for offsets in units of the alignment: for each array its first and last moment, its
    height and the highest offset that it may have; for each moment the height that is reached, and
    how much is still to be placed there. `after` is the first moment where arrays may still be
    placed at the lowest height."""

    first: list[int]
    last: list[int]
    tall: list[int]
    top: list[int]
    height: list[int]
    left: list[int]
    open: list[int]
    after: int = 0
    chosen: dict[int, int] = field(default_factory=dict)
    failed: set[tuple[int, int, tuple[int, ...]]] = field(default_factory=set)

    @staticmethod
    def of(lives: Sequence[Life], sizes: Sequence[int], room: int) -> "_Search":
        """The search for offsets of arrays with these lives and bytes in `room` bytes."""
        moments = _fullest(lives)
        first = [next(k for k, t in enumerate(moments) if t >= x.first) for x in lives]
        last = [max(k for k, t in enumerate(moments) if t <= x.last) for x in lives]
        tall = [aligned(n) // ALIGNMENT for n in sizes]
        left = [
            sum(n for f, l, n in zip(first, last, tall, strict=True) if f <= k <= l)
            for k in range(len(moments))
        ]
        order = sorted(range(len(sizes)), key=lambda i: (first[i], -tall[i], -last[i], i))
        top = [(room - n) // ALIGNMENT for n in sizes]
        return _Search(first, last, tall, top, [0] * len(moments), left, order)

    def offsets(self, steps: list[int]) -> list[int] | None:
        """The offset of each array; None if there are none within the room."""
        trail: list[tuple[Iterator[_Move], tuple[object, ...]]] = []
        moves = self._moves()
        while self.open:
            move = next(moves, None)
            if move is None:
                self.failed.add(self._state())
                if not trail:
                    return None
                moves, before = trail.pop()
                self._back(before)
                continue
            if not steps[0]:
                raise TooLong
            steps[0] -= 1
            before = (self.height[:], self.left[:], self.open[:], self.after, self.chosen)
            if self._make(move):
                trail.append((moves, before))
                moves = self._moves()
            else:
                self._back(before)
        return [self.chosen[i] for i in range(len(self.tall))]

    def _back(self, before: tuple[object, ...]) -> None:
        self.height, self.left, self.open, self.after, self.chosen = before  # type: ignore[assignment]

    def _state(self) -> tuple[int, int, tuple[int, ...]]:
        return sum(1 << i for i in self.open), self.after, tuple(self.height)

    def _moves(self) -> Iterator[_Move]:
        """The moves from here: arrays that lie wholly where the lowest height is reached, of those
        alike one; then to place none."""
        low, seen = min(self.height), set[tuple[int, int, int, int]]()
        for i in self.open:
            f, l = self.first[i], self.last[i]
            alike = f, l, self.tall[i], self.top[i]
            if f >= self.after and alike not in seen and max(self.height[f : l + 1]) == low:
                seen.add(alike)
                yield _Move(i)
        yield _Move(None)

    def _make(self, move: _Move) -> bool:
        """Make a move; false if nothing comes from it."""
        if move.array is None:
            return self._rise() and not self._hopeless()
        self._place(move.array)
        return not self._hopeless()

    def _place(self, i: int) -> None:
        f, l = self.first[i], self.last[i]
        offset = self.height[f]
        self.chosen = {**self.chosen, i: offset}
        self.open = [j for j in self.open if j != i]
        self.after = l + 1
        for t in range(f, l + 1):
            self.left[t] -= self.tall[i]
            self.height[t] = offset + self.tall[i] if self.left[t] else DONE
        if min(self.height) > offset:
            self.after = 0

    def _rise(self) -> bool:
        """Lift each run of moments at the lowest height to the lower of its neighbours. False if an
        array that is still to be placed would fit below: of all packings, that in which arrays lie
        lowest in all has it there."""
        low, ends = min(self.height), [DONE, *self.height, DONE]
        runs = [t for t, h in enumerate(self.height) if h == low]
        breaks = [0, *(k for k, (a, b) in enumerate(pairwise(runs), 1) if b > a + 1), len(runs)]
        for begin, end in pairwise(breaks):
            a, b = runs[begin], runs[end - 1]
            above = min(ends[a], ends[b + 2])
            inside = [i for i in self.open if a <= self.first[i] and self.last[i] <= b]
            if any(low + self.tall[i] <= above for i in inside):
                return False
            self.height[a : b + 1] = [above] * (b - a + 1)
        self.after = 0
        return True

    def _hopeless(self) -> bool:
        """True if an array, or all that is left at a moment, cannot lie above the heights reached,
        or if it is known that nothing comes from here. At a moment, arrays lie one above the other,
        each not below the height that is reached where it lives."""
        lows = {i: max(self.height[self.first[i] : self.last[i] + 1]) for i in self.open}
        if any(lows[i] > self.top[i] for i in self.open):
            return True
        ends, reach = self.height[:], [0] * len(self.height)
        for i in sorted(self.open, key=lows.__getitem__):
            end = self.top[i] + self.tall[i]
            for t in range(self.first[i], self.last[i] + 1):
                ends[t] = max(ends[t], lows[i]) + self.tall[i]
                reach[t] = max(reach[t], end)
        over = any(end > most for end, most in zip(ends, reach, strict=True) if most)
        return over or self._state() in self.failed


def _fullest(lives: Sequence[Life]) -> list[int]:
    """The moments at which arrays live that do not all live at another moment, too."""
    begins, found = sorted({life.first for life in lives}), list[int]()
    ends = sorted({life.last for life in lives})
    for begin, after in pairwise([*begins, DONE]):
        if any(begin <= end < after for end in ends):
            found.append(begin)
    return found
