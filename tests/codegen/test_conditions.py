"""Tests of operations on conditions, such as the part that several have in common, and what is left
of one where another is known to hold: brute force finds the same."""

import itertools
import random

import pytest

from codegen.index.condition import (
    ALWAYS,
    Condition,
    at_least,
    beyond,
    both,
    holds,
    less,
    shared,
    within,
)
from codegen.index.index import Index, var

X, Y = var("x", -3, 4), var("y", 0, 5)
POINTS = [{"x": x, "y": y} for x, y in itertools.product(range(-3, 5), range(6))]


def compared(g: random.Random) -> Condition:
    def index() -> Index:
        return X * g.randint(-2, 2) + Y * g.randint(-1, 2) + g.randint(-3, 3)

    return g.choice((at_least, less))(index(), g.choice((index(), g.randint(-2, 4))))


def drawn(g: random.Random) -> Condition:
    return both(*(compared(g) for _ in range(g.randint(0, 3))))


@pytest.mark.parametrize("seed", range(200))
def test_beyond_what_is_known_is_left_what_makes_the_whole_with_it(seed: int) -> None:
    g = random.Random(seed)
    condition, known = drawn(g), drawn(g)
    left = beyond(condition, known)
    for point in POINTS:
        if holds(known, point):
            assert holds(left, point) == holds(condition, point)
    assert set(left.parts) <= set(condition.parts)
    assert beyond(condition, condition) == ALWAYS


def test_beyond_a_stricter_comparison_nothing_is_left_and_beyond_a_weaker_one_all() -> None:
    assert beyond(less(X, 4), less(X, 2)) == ALWAYS
    assert beyond(less(X, 2), less(X, 4)) == less(X, 2)
    assert beyond(within(X, 0, 3), at_least(X, 0)) == less(X, 3)
    assert beyond(less(X, 2), less(Y, 2)) == less(X, 2)


@pytest.mark.parametrize("seed", range(200))
def test_what_conditions_share_holds_wherever_they_all_do(seed: int) -> None:
    g = random.Random(seed)
    conditions = [both(drawn(g), less(X + Y, g.randint(1, 8))) for _ in range(g.randint(1, 3))]
    together = shared(conditions)
    for point in POINTS:
        if all(holds(c, point) for c in conditions):
            assert holds(together, point)


def test_conditions_share_the_comparisons_of_one_sum_as_strict_as_the_strictest() -> None:
    common = both(less(X, 3), at_least(Y, 1))
    assert shared([common, common]) == common
    assert shared([both(common, less(Y, 3)), both(common, less(X + Y, 5))]) == common
    assert shared([less(X, 3), less(X, 1)]) == less(X, 1)
    assert shared([less(X, 3), less(Y, 3)]) == shared([]) == ALWAYS


def test_a_condition_names_the_variables_that_it_asks_about() -> None:
    assert both(less(X, 3), at_least(Y, 1)).names == {"x", "y"}
    assert less(X, 3).names == {"x"}
    assert ALWAYS.names == frozenset()
