"""Tests of the packing of arrays into the smallest arena: it is that of all orders of the arrays,
and what is told as proved is true when the search ends early, too."""

from collections.abc import Sequence
from itertools import combinations, permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explore.network_choice.tight_packing import (
    STEPS,
    Packing,
    TooLong,
    peak,
    placed_within,
    tight_packing,
)
from ir.arena import ALIGNMENT, Life, aligned, packed
from tests.support.drawn_networks import LOOSE

Arrays = list[tuple[Life, int]]
LIFE = st.tuples(st.integers(0, 5), st.integers(0, 3)).map(lambda x: Life(x[0], x[0] + x[1]))
SIZE = st.sampled_from((0, 1, 2, 300, 511, 512, 513, 700, 1024, 1025, 1536, 2048, 2560))


def arrays(most: int) -> st.SearchStrategy[Arrays]:
    return st.lists(st.tuples(LIFE, SIZE), max_size=most)


def apart(found: Arrays) -> tuple[list[Life], list[int]]:
    return [life for life, _ in found], [size for _, size in found]


def loose(which: int, less: int = 0) -> tuple[list[Life], list[int]]:
    """Arrays that no arena as small as what lives at once holds, each but the first `less` bytes
    smaller than units of the alignment."""
    last, units = LOOSE[which]
    lives = [Life(n, end) for n, end in enumerate(last)]
    return lives, [512 * n - (less if i else 0) for i, n in enumerate(units)]


def least_of_all_orders(lives: Sequence[Life], sizes: Sequence[int]) -> int:
    """The bytes of the smallest arena in which arrays are placed in any order, each on those that
    it meets; the smallest of all arenas is among these."""
    best = sum(map(aligned, sizes))
    for order in permutations(range(len(lives))):
        offsets: dict[int, int] = {}
        for i in order:
            met = [j for j in offsets if lives[i].meets(lives[j])]
            offsets[i] = max((offsets[j] + aligned(sizes[j]) for j in met), default=0)
        best = min(best, max((offsets[i] + sizes[i] for i in order), default=0))
    return best


def demand_sound(found: Packing, lives: Sequence[Life], sizes: Sequence[int]) -> None:
    """Raises AssertionError unless the arena holds the arrays and what is told of it is true of
    it."""
    arena = found.arena
    ends = [o + n for o, n in zip(arena.offsets, sizes, strict=True)]
    assert arena.bytes == max(ends, default=0)
    assert all(o % ALIGNMENT == 0 for o in arena.offsets)
    assert peak(lives, sizes) <= found.least <= arena.bytes <= packed(lives, sizes).bytes
    for i, j in combinations([i for i, n in enumerate(sizes) if n], 2):
        if lives[i].meets(lives[j]):
            assert ends[i] <= arena.offsets[j] or ends[j] <= arena.offsets[i]


@given(arrays(most=6))
@settings(max_examples=300, deadline=None)
def test_the_arena_is_the_smallest_of_all_orders(found: Arrays) -> None:
    packing = tight_packing(*apart(found))
    demand_sound(packing, *apart(found))
    assert packing.least == packing.arena.bytes == least_of_all_orders(*apart(found))


@given(arrays(most=14), st.sampled_from((0, 1, 5, 40)))
@settings(deadline=None)
def test_what_is_proved_of_an_arena_is_true_with_few_steps(found: Arrays, steps: int) -> None:
    few, many = tight_packing(*apart(found), steps), tight_packing(*apart(found), 10**6)
    demand_sound(few, *apart(found))
    demand_sound(many, *apart(found))
    assert few.least <= many.least == many.arena.bytes <= few.arena.bytes


@pytest.mark.parametrize("which", range(len(LOOSE)))
@pytest.mark.parametrize("less", [0, 4, 100])
def test_an_arena_larger_than_what_lives_at_once_is_proved(which: int, less: int) -> None:
    lives, sizes = loose(which, less)
    found = tight_packing(lives, sizes)
    demand_sound(found, lives, sizes)
    assert found.least == found.arena.bytes > peak(lives, sizes)
    for room in (peak(lives, sizes), found.least - 1):
        assert placed_within(lives, sizes, room, [STEPS]) is None


def test_a_search_with_few_steps_does_not_say_that_arrays_do_not_fit() -> None:
    lives, sizes = loose(0)
    with pytest.raises(TooLong):
        placed_within(lives, sizes, peak(lives, sizes), [3])


def test_arrays_in_one_arena_end_with_a_part_of_the_alignment_unused() -> None:
    lives, sizes = [Life(0, 1), Life(1, 1)], [1000, 1024]
    assert tight_packing(lives, sizes).arena.bytes == 1024 + 1000
    assert packed(lives, sizes).bytes >= 1024 + 1000


def test_no_arrays_need_no_bytes() -> None:
    assert tight_packing([], []).arena.bytes == 0
    assert tight_packing([Life(0, 3)], [0]).arena.bytes == 0
