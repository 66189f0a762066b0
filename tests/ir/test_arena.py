"""Tests of the arena: buffers that are needed at once do not overlap, and no more bytes are taken
than must be."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from ir.arena import ALIGNMENT, Life, aligned, lives, packed, stacked_sizes, stacks
from ir.core.size import bind, named

Arrays = list[tuple[Life, int]]


@st.composite
def arrays(draw: st.DrawFn, most: int, unit: int = 1) -> Arrays:
    """A strategy for the arrays of a random program of up to `most` kernels: each array's life, and
    its bytes, a multiple of `unit`."""
    n = draw(st.integers(0, most))
    reads = [draw(st.sets(st.integers(0, k - 1), max_size=3)) if k else set() for k in range(n + 1)]
    found = lives([(f"t{k}", {f"t{i}" for i in each}) for k, each in enumerate(reads)])
    sizes = st.sampled_from((1, 2, 3, 7, 300, 511, 512, 513, 40_000))
    return [(life, unit * draw(sizes)) for life in found.values()]


def apart(found: Arrays) -> tuple[list[Life], list[int]]:
    return [life for life, _ in found], [size for _, size in found]


def most_at_once(found: Arrays) -> int:
    ends = [life.last for life, _ in found]
    return max(
        (sum(n for life, n in found if life.first <= t <= life.last) for t in ends), default=0
    )


def largest_stack(arrays: Sequence[Life], sizes: Sequence[int]) -> int:
    heights = (stacked_sizes([sizes[i] for i in stack]) for stack in stacks(arrays))
    return max(sum(n for n in height if isinstance(n, int)) for height in heights)


@given(arrays(most=12))
def test_arrays_that_are_needed_at_once_share_no_byte(found: Arrays) -> None:
    needed, sizes = apart(found)
    arena = packed(needed, sizes)
    places = [(o, o + n) for o, n in zip(arena.offsets, sizes, strict=True)]
    assert arena.bytes == max((end for _, end in places), default=0)
    assert all(start % ALIGNMENT == 0 for start, _ in places)
    for j, (start, end) in enumerate(places):
        for i in range(j):
            if needed[i].meets(needed[j]):
                assert end <= places[i][0] or places[i][1] <= start


@given(arrays(most=6, unit=ALIGNMENT))
def test_up_to_six_arrays_take_no_more_than_what_lives_at_once(found: Arrays) -> None:
    assert packed(*apart(found)).bytes == most_at_once(found)


@given(arrays(most=6))
def test_the_arena_of_up_to_six_arrays_is_the_largest_stack(found: Arrays) -> None:
    assert packed(*apart(found)).bytes == largest_stack(*apart(found))


@given(arrays(most=12))
def test_no_arena_is_more_than_the_largest_stack(found: Arrays) -> None:
    assert most_at_once(found) <= packed(*apart(found)).bytes <= largest_stack(*apart(found))


@given(st.integers(1, 3000), st.integers(1, 3000))
def test_sizes_may_be_parameters(n: int, m: int) -> None:
    values = {"n": n, "m": m}
    sizes = [12 * named("n"), 512 * named("m"), 4 * named("n") * named("m")]
    symbolic = stacked_sizes(sizes)
    known = [bind(size, values) for size in sizes]
    assert [bind(size, values) for size in symbolic] == [aligned(12 * n), 512 * m, 4 * n * m]
    assert tuple(bind(size, values) for size in symbolic) == stacked_sizes(known)


def test_a_result_that_is_read_at_once_meets_the_next_but_not_the_one_after() -> None:
    chain = lives([("a", ()), ("b", "a"), ("c", "b"), ("d", "c"), ("out", "d")])
    assert chain == {"a": Life(0, 1), "b": Life(1, 2), "c": Life(2, 3), "d": Life(3, 4)}
    arena = packed(list(chain.values()), [1024, 512, 2048, 4096])
    assert arena.bytes == 2048 + 4096
    assert arena.offsets[0] == arena.offsets[2]


def test_what_nobody_reads_is_needed_while_it_is_made() -> None:
    assert lives([("a", ()), ("b", ()), ("out", "b")]) == {"a": Life(0, 0), "b": Life(1, 2)}


def test_hundreds_of_arrays_that_are_needed_at_once_are_one_stack() -> None:
    wide = [Life(k, 400) for k in range(400)]
    assert packed(wide, [512] * 400).bytes == 512 * 400 == largest_stack(wide, [512] * 400)


def test_two_arrays_one_after_the_other_share_their_bytes() -> None:
    assert packed([Life(0, 1), Life(2, 3)], [100, 700]).offsets == (0, 0)
