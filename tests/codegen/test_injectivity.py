"""Tests of injectivity: where work-items are said to write different cells, brute force finds that
they do; and work-items are always said to be told apart by an index made of all digits of an id."""

# key: r radices

import itertools
import random
from collections.abc import Sequence
from math import prod

import pytest

from codegen.index.index import Index, constant, var
from codegen.index.injectivity import impossible

RADICES = [(4, 3), (2, 5), (8, 2), (3, 3), (2, 3, 4), (4, 2, 2)]


def digit(x: Index, r: Sequence[int], k: int) -> Index:
    """The k-th digit of x in mixed radices r, counted from the last (least significant) one."""
    return x // prod(r[:k]) % r[k]


def ids(r: Sequence[int]) -> tuple[Index, Index]:
    return var("i", 0, prod(r) - 1), var("j", 0, prod(r) - 1)


def address(x: Index, r: Sequence[int], units: Sequence[int]) -> Index:
    """A constant plus the sum of the digits of x in mixed radices r, each digit multiplied by its
    own unit."""
    parts = (digit(x, r, k) * unit for k, unit in enumerate(units))
    return sum(parts, constant(3))


def number(x: int, r: Sequence[int], units: Sequence[int]) -> int:
    return sum(x // prod(r[:k]) % r[k] * unit for k, unit in enumerate(units))


@pytest.mark.parametrize("r", RADICES, ids=str)
def test_numbers_whose_digits_change_places_are_apart(r: tuple[int, ...]) -> None:
    i, j = ids(r)
    for order in itertools.permutations(range(len(r))):
        units = [prod(r[m] for m in order[: order.index(k)]) for k in range(len(r))]
        assert impossible([address(i, r, units) - address(j, r, units)], [i - j]), units
        padded = [unit * (1 if unit < 2 else 5) for unit in units]
        assert impossible([address(i, r, padded) - address(j, r, padded)], [i - j]), padded


@pytest.mark.parametrize("seed", range(150))
def test_what_is_apart_has_no_two_numbers_that_meet(seed: int) -> None:
    g = random.Random(seed)
    r = g.choice(RADICES)
    units = [g.choice((1, 2, 3, 4, 6, 8, 12)) for _ in r]
    i, j = ids(r)
    met = len({number(x, r, units) for x in range(prod(r))}) < prod(r)
    assert not (met and impossible([address(i, r, units) - address(j, r, units)], [i - j]))


def test_digits_that_are_all_equal_are_of_one_number_and_some_of_them_are_not() -> None:
    r = (4, 3, 2)
    i, j = ids(r)
    equal = [digit(i, r, k) - digit(j, r, k) for k in range(3)]
    assert impossible(equal, [i - j])
    assert not any(impossible(some, [i - j]) for some in itertools.combinations(equal, 2))
    assert impossible(equal[:1], [equal[0], 3 * equal[0]])
