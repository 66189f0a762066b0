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
from dataclasses import field, replace
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
class _Reached:
    """The arrays that a search has placed so far, as the next ones meet them: for each moment the
    height that is reached, and how much is still to be placed there (`left`); the arrays still to
    be placed (`open`); the first moment where they may be placed at the lowest height (`after`);
    and the array that was placed last, with its offset (None: the height rose)."""

    height: tuple[int, ...]
    open: tuple[int, ...]
    after: int
    left: tuple[int, ...] = field(compare=False)
    placed: tuple[int, int] | None = field(compare=False, default=None)


@frozen
class _Search:
    """A search for offsets in units of the alignment: for each array its first and last moment, its
    height and the highest offset that it may have; where it begins, and from where it is known to
    have failed."""

    first: Sequence[int]
    last: Sequence[int]
    tall: Sequence[int]
    top: Sequence[int]
    begin: _Reached
    failed: set[_Reached] = field(default_factory=set)

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
        begin = _Reached((0,) * len(moments), tuple(order), 0, tuple(left))
        return _Search(first, last, tall, top, begin)

    def offsets(self, steps: list[int]) -> list[int] | None:
        """The offset of each array; None if there are none within the room."""
        trail = [(self.begin, self._ways(self.begin))]
        while trail:
            here, ways = trail[-1]
            if not here.open:
                offset = dict(reached.placed for reached, _ in trail if reached.placed)
                return [offset[i] for i in range(len(self.tall))]
            for there in ways:
                if not steps[0]:
                    raise TooLong
                steps[0] -= 1
                if there is not None and not self._hopeless(there):
                    trail.append((there, self._ways(there)))
                    break
            else:
                self.failed.add(here)
                trail.pop()
        return None

    def _ways(self, here: _Reached) -> Iterator[_Reached | None]:
        """The states that follow this one: by placing an array that lies wholly where the lowest
        height is reached, of those alike one; then by placing none there."""
        low, seen = min(here.height), set[tuple[int, int, int, int]]()
        for i in here.open:
            f, l = self.first[i], self.last[i]
            alike = f, l, self.tall[i], self.top[i]
            if f >= here.after and alike not in seen and max(here.height[f : l + 1]) == low:
                seen.add(alike)
                yield self._placed(here, i)
        yield self._risen(here)

    def _placed(self, here: _Reached, i: int) -> _Reached:
        """The state that follows this one by placing the array i at the lowest height."""
        f, l, tall = self.first[i], self.last[i], self.tall[i]
        offset = here.height[f]
        left = [n - tall for n in here.left[f : l + 1]]
        over = [offset + tall if n else DONE for n in left]
        height = (*here.height[:f], *over, *here.height[l + 1 :])
        return _Reached(
            height,
            tuple([j for j in here.open if j != i]),
            0 if min(height) > offset else l + 1,
            (*here.left[:f], *left, *here.left[l + 1 :]),
            (i, offset),
        )

    def _risen(self, here: _Reached) -> _Reached | None:
        """The state that follows this one by lifting each run of moments at the lowest height to
        the lower of its neighbours. None if an array that is still to be placed would fit below: of
        all packings, that in which arrays lie lowest in all has it there."""
        height = list(here.height)
        low, ends = min(height), [DONE, *height, DONE]
        runs = [t for t, h in enumerate(height) if h == low]
        breaks = [0, *(k for k, (a, b) in enumerate(pairwise(runs), 1) if b > a + 1), len(runs)]
        for begin, end in pairwise(breaks):
            a, b = runs[begin], runs[end - 1]
            above = min(ends[a], ends[b + 2])
            inside = [i for i in here.open if a <= self.first[i] and self.last[i] <= b]
            if any(low + self.tall[i] <= above for i in inside):
                return None
            height[a : b + 1] = [above] * (b - a + 1)
        return replace(here, height=tuple(height), after=0, placed=None)

    def _hopeless(self, here: _Reached) -> bool:
        """True if an array, or all that is left at a moment, cannot lie above the heights reached,
        or if it is known that nothing comes from here. At a moment, arrays lie one above the other,
        each not below the height that is reached where it lives."""
        lows = {i: max(here.height[self.first[i] : self.last[i] + 1]) for i in here.open}
        if any(lows[i] > self.top[i] for i in here.open):
            return True
        ends, reach = list(here.height), [0] * len(here.height)
        for i in sorted(here.open, key=lows.__getitem__):
            end = self.top[i] + self.tall[i]
            for t in range(self.first[i], self.last[i] + 1):
                ends[t] = max(ends[t], lows[i]) + self.tall[i]
                reach[t] = max(reach[t], end)
        over = any(end > most for end, most in zip(ends, reach, strict=True) if most)
        return over or here in self.failed


def _fullest(lives: Sequence[Life]) -> list[int]:
    """The moments at which arrays live that do not all live at another moment, too."""
    begins, found = sorted({life.first for life in lives}), list[int]()
    ends = sorted({life.last for life in lives})
    for begin, after in pairwise([*begins, DONE]):
        if any(begin <= end < after for end in ends):
            found.append(begin)
    return found
