"""Tests of what follows from guards (sums that are 0 or more): brute force finds the same bounds of
variables, and a sum that is said to be 0 or more is so at every point where the guards hold."""

# key: k l coefficients

import itertools
import random
from collections.abc import Mapping, Sequence

import pytest

from codegen.index.index import Index, constant, var
from codegen.index.substitute import evaluate
from codegen.proof.guard_facts import Range, folded, follows, narrowed

RANGES: Mapping[str, Range] = {"x": (-4, 5), "y": (0, 6), "z": (-3, -1)}
BOUNDED = {name: var(name, *r) for name, r in RANGES.items()}
U, V = var("u", None, None), var("v", None, None)


def drawn(g: random.Random) -> Index:
    """A random sum of multiples of x, y and z and a constant."""
    terms = (x * g.choice((-3, -2, -1, 0, 1, 2, 3)) for x in BOUNDED.values())
    return sum(terms, constant(g.randint(-12, 12)))


def true_at(guards: Sequence[Index]) -> list[dict[str, int]]:
    """The points (values of x, y and z in `RANGES`) at which all guards are 0 or more."""
    every = itertools.product(*(range(lo, hi + 1) for lo, hi in RANGES.values()))
    points = (dict(zip(RANGES, point, strict=True)) for point in every)
    return [p for p in points if all(evaluate(guard, p) >= 0 for guard in guards)]


def hull(points: Sequence[Mapping[str, int]]) -> dict[str, Range]:
    columns = {name: [p[name] for p in points] for name in RANGES}
    return {name: (min(values), max(values)) for name, values in columns.items()}


@pytest.mark.parametrize("seed", range(150))
def test_the_ranges_under_one_guard_are_those_of_the_points_where_it_holds(seed: int) -> None:
    guard = drawn(random.Random(seed))
    points = true_at([guard])
    assert narrowed([guard], RANGES) == (hull(points) if points else None)


@pytest.mark.parametrize("seed", range(100))
def test_the_ranges_under_several_guards_hold_every_point_where_they_hold(seed: int) -> None:
    g = random.Random(seed)
    guards = [drawn(g) for _ in range(3)]
    points, found = true_at(guards), narrowed(guards, RANGES)
    if found is None:
        assert not points
        return
    for name, (lo, hi) in hull(points).items() if points else ():
        assert found[name][0] <= lo <= hi <= found[name][1]


GIVEN = [U - V, 2 * U - 3 * V - 1, 3 * V - 5 * U + BOUNDED["z"], 4 * U + 2 * V + 7]


@pytest.mark.parametrize("part", GIVEN, ids=str)
@pytest.mark.parametrize("l", [1, 2, 5])
def test_what_is_given_several_times_and_more_than_0_follows(part: Index, l: int) -> None:
    assert follows(part * l, [part])
    assert follows(part * l + BOUNDED["y"], [part])
    assert not follows(part * l + BOUNDED["x"], [part])
    assert not follows(part * l - 1, [part])
    assert not follows(part * l, [])
    assert all(follows(part * l, [part, other]) for other in GIVEN)


@pytest.mark.parametrize("seed", range(100))
def test_an_index_under_guards_keeps_its_values_in_a_range_that_is_no_wider(seed: int) -> None:
    g = random.Random(seed)
    guards = [drawn(g), drawn(g)]
    x = drawn(g) + (drawn(g) // 4) * g.randint(1, 3) + guards[0] * g.randint(-2, 2)
    under = folded(x, guards)
    for point in true_at(guards):
        value = evaluate(x, point)
        assert evaluate(under, point) == value
        assert under.lo is None or under.lo <= value
        assert under.hi is None or value <= under.hi


def test_a_guard_on_a_sum_narrows_what_holds_the_sum() -> None:
    guards = [U + V, 11 - U - V]
    assert (folded(4 * U + 4 * V + 1, guards).lo, folded(4 * U + 4 * V + 1, guards).hi) == (1, 45)
    quotient = folded((U + V + 5) // 8, guards)
    assert (quotient.lo, quotient.hi) == (0, 2)
