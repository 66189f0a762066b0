"""Tests of the inequalities that a relation implies: they contain no floors, and hold wherever the
relation holds."""

from itertools import product
from random import Random

import pytest

from constraints.relations.inequality import at_least_one, inequalities
from constraints.relations.relations import AtMost, holds
from ir.core.size import ONE, Name, Poly, Size, bind, floor_div, named, quotient

PARAMETERS = ("a", "b", "c")


def floored(r: Random, depth: int) -> Size:
    """A random sum of a parameter, a number and a floor. The floor may be multiplied by its
    divisor; it is of a sum like this one again, at most `depth` deep."""
    total = named(r.choice(PARAMETERS)) * r.randint(1, 3) + r.randint(-2, 9)
    if not depth:
        return total
    divisor = r.randint(2, 4)
    return total + floor_div(floored(r, depth - 1), divisor) * r.choice((1, divisor, 2 * divisor))


@pytest.mark.parametrize("seed", range(60))
def test_inequalities_follow_from_their_relation_and_have_no_floors(seed: int) -> None:
    r = Random(seed)
    relation = AtMost(floored(r, 3), floored(r, r.randrange(3)) + r.randint(0, 40))
    positive = [AtMost(1, named(p)) for p in PARAMETERS]
    found = inequalities([relation], at_least_one(positive))
    for i in found:
        assert all(isinstance(atom, Name) for p in (i.left, i.right) for m, _ in p for atom, _ in m)
    for values in product(range(1, 9), repeat=len(PARAMETERS)):
        point = dict(zip(PARAMETERS, values, strict=True))
        if holds(relation, point):
            assert all(value(i.left, point) <= value(i.right, point) for i in found)


def value(p: Poly, point: dict[str, int]) -> int:
    found = bind(quotient(p, ONE), point)
    assert isinstance(found, int)
    return found
