"""Tests of the engine that counts and samples points: it counts all legal points and no others, its
samples are uniform, and it is quick."""

from collections import Counter
from itertools import pairwise, product
from math import prod
from random import Random

import pytest

from constraints.count.points import count_bound, space, stratified
from constraints.relations.divisors import divisors
from constraints.relations.relations import (
    AnyOf,
    AtMost,
    Constraint,
    Divides,
    Equal,
    OneOf,
    Relation,
    System,
    divides,
    holds,
)
from ir.core.size import Size, exact, floor_div, named, remainder
from ir.errors import Unsupported, UserError

PARAMETERS = ("a", "b", "c", "d")
A, B, C, D = map(named, PARAMETERS)


def system(parameters: tuple[str, ...], *relations: Relation) -> System:
    """A system of these parameters and relations; its constraints state no reasons."""
    return System(parameters, tuple(Constraint(r, "", "") for r in relations))


def within(low: int, high: int, parameters: tuple[str, ...] = PARAMETERS) -> list[Relation]:
    """The relations low <= p <= high for each parameter p."""
    return [r for p in parameters for r in (AtMost(low, named(p)), AtMost(named(p), high))]


def random_size(r: Random, depth: int = 0) -> Size:
    choice = r.random() * (1 if depth < 2 else 0.55)
    if choice < 0.35:
        return named(r.choice(PARAMETERS))
    if choice < 0.55:
        return r.randint(1, 24)
    a, b = random_size(r, depth + 1), random_size(r, depth + 1)
    match r.randrange(5):
        case 0:
            return a + b
        case 1:
            return a * b
        case 2:
            return a - b
        case 3:
            return floor_div(a, b + 1 if isinstance(b, int) else b)
        case _:
            return remainder(a, b + 1 if isinstance(b, int) else b)


def random_relation(r: Random) -> Relation:
    match r.randrange(6):
        case 0 | 1:
            return divides(random_size(r), random_size(r))
        case 2:
            return OneOf(random_size(r), tuple(r.sample(range(1, 12), 4)))
        case 3:
            return AnyOf((AtMost(random_size(r), random_size(r)), Divides(A, random_size(r))))
        case 4 if r.random() < 0.3:
            return Equal(random_size(r), random_size(r))
        case _:
            return AtMost(random_size(r), random_size(r))


def positive_divisors(r: Relation) -> list[Relation]:
    """The relations that inference adds for the floors in r: the divisor of each is at least 1."""
    from constraints.infer.size_obligations import of_size
    from constraints.relations.relations import sizes

    return [c.relation for a in sizes(r) for c in of_size(a, "")]


@pytest.mark.parametrize("seed", range(120))
def test_points_are_those_of_brute_force(seed: int) -> None:
    r = Random(seed)
    relations = [random_relation(r) for _ in range(3)]
    relations += [extra for relation in relations for extra in positive_divisors(relation)]
    relations += within(0, 6)
    found = space(system(PARAMETERS, *relations))
    expected = [
        point
        for values in product(range(7), repeat=4)
        if all(holds(x, point := dict(zip(PARAMETERS, values, strict=True))) for x in relations)
    ]
    listed = list(found.all())
    assert found.count == len(expected)
    assert sorted(map(_values, listed)) == sorted(map(_values, expected))
    for p in PARAMETERS:
        assert found.domain(p) == tuple(sorted({point[p] for point in expected}))


def _values(point: dict[str, int]) -> tuple[int, ...]:
    return tuple(point.values())


def test_divisors_of_64_are_the_tile_sizes() -> None:
    found = space(system(("a",), Divides(A, 64)))
    assert found.domain("a") == (1, 2, 4, 8, 16, 32, 64)


def test_divisors_by_factoring() -> None:
    for n in range(1, 400):
        assert divisors(n) == tuple(d for d in range(1, n + 1) if n % d == 0)
    assert len(divisors(2**20 * 3**4 * 10_007)) == 21 * 5 * 2


def test_a_tile_with_an_overlap_divides_what_padding_leaves() -> None:
    """All pairs (a, b) where b - 2 divides 224 + a are counted: for each a, as many as 224 + a has
    divisors."""
    found = space(system(("a", "b"), AtMost(A, 224), divides(B - 2, A + 224)))
    expected = sum(len(divisors(224 + rho)) for rho in range(225))
    assert found.count == expected


def test_counts_beyond_64_bits() -> None:
    names = tuple(f"p{i}" for i in range(24))
    found = space(system(names, *(r for p in names for r in within(1, 1000, (p,)))))
    assert found.count == 1000**24
    points = found.sample(100, seed=3)
    assert len({_values(p) for p in points}) == 100
    assert all(1 <= v <= 1000 for p in points for v in p.values())
    assert max(v for p in points for v in p.values()) > 900


def test_sizes_beyond_64_bits() -> None:
    """Relations with numbers near (4096² · 10⁵)² are counted right: nothing overflows."""
    pixels, channels = 4096 * 4096, 10**5
    relations: list[Relation] = [
        Divides(A, pixels),
        Divides(B, channels),
        AtMost(A * A * B * B * pixels * channels, (pixels * channels) ** 2),
    ]
    expected = sum(
        a * a * b * b <= pixels * channels for a in divisors(pixels) for b in divisors(channels)
    )
    assert space(system(("a", "b"), *relations)).count == expected


@pytest.mark.no_cover
def test_samples_are_uniform() -> None:
    divisions = Divides(A, 360), Divides(B, 360), Divides(A * B, 720)
    bounds = AtMost(C, A), AtMost(1, C), AtMost(A, 20)
    found = space(system(("a", "b", "c"), *divisions, *bounds))
    assert 200 < found.count < 2000
    rank = {_values(p): i for i, p in enumerate(found.all())}
    tally = [0] * found.count
    draws = 40 * found.count
    for seed in range(draws // 100):
        for p in found.sample(100, seed):
            tally[rank[_values(p)]] += 1
    from scipy.stats import chisquare  # takes long to import

    assert chisquare(tally).pvalue > 0.001


def test_a_sample_is_distinct_and_reproducible() -> None:
    found = space(system(PARAMETERS, *within(1, 9)))
    points = found.sample(1000, seed=1)
    assert len({_values(p) for p in points}) == 1000
    assert points == found.sample(1000, seed=1)
    assert points != found.sample(1000, seed=2)
    assert len(found.sample(10**6)) == 9**4


def test_strata_share_a_sample() -> None:
    """Each of 16 pairs (a, b) gets 3 of 48 sampled points, though one pair holds nearly all
    points."""
    relations = [*within(1, 4, ("a", "b")), *within(1, 10**6, ("c",))]
    crowded = AnyOf((AtMost(C, 3), AtMost(A * B, 1)))
    points = stratified(system(("a", "b", "c"), *relations, crowded), ("a", "b"), 48, seed=5)
    tally = Counter((p["a"], p["b"]) for p in points)
    assert tally == dict.fromkeys(product((1, 2, 3, 4), (1, 2, 3, 4)), 3)
    assert len({_values(p) for p in points}) == 48


def test_an_empty_set_is_empty() -> None:
    found = space(
        system(("a", "b"), Divides(A, 7), AtMost(2, A), AtMost(A, 6), *within(1, 3, ("b",)))
    )
    assert found.count == 0
    assert list(found.all()) == found.sample(5) == []
    assert found.domain("a") == ()


def test_no_parameters_is_one_point_or_none() -> None:
    assert list(space(system(())).all()) == [{}]
    assert space(system((), AtMost(2, 1))).count == 0


def test_an_unbounded_parameter_is_refused_by_name() -> None:
    with pytest.raises(Unsupported, match="parameter b"):
        space(system(("a", "b"), *within(1, 5, ("a",)), AtMost(1, B)))


def test_too_many_points_to_count_have_a_bound() -> None:
    names = tuple(f"p{i}" for i in range(6))
    total: Size = 0
    for p in names:
        total = total + named(p) * named(p)
    wide = system(names, *within(1, 400, names), AtMost(total, 10**5))
    with pytest.raises(Unsupported, match="too many"):
        space(wide, most_edges=10**5)
    bound = count_bound(wide)
    assert bound is not None
    assert bound <= 400**6


def test_an_unknown_stratum_names_the_parameters() -> None:
    with pytest.raises(UserError, match="no parameter `z`; expected one of a, b"):
        stratified(system(("a", "b"), *within(1, 5, ("a", "b"))), ("z",), 3)


def test_a_hundred_constraints_on_twenty_parameters() -> None:
    """A system of chained divisors and bounded products has over 10⁹ points; sampled ones satisfy
    all relations."""
    r = Random(7)
    names = tuple(f"p{i:02}" for i in range(20))
    relations: list[Relation] = [Divides(named(p), 2**6 * 3**3) for p in names]
    for a, b in pairwise(names):
        relations.append(Divides(named(a) * named(b), 2**8 * 3**4))
        relations.append(AtMost(named(a) * named(b), 600))
        relations.append(AtMost(2, named(a) + named(b)))
    while len(relations) < 100:
        i = r.randrange(18)
        x, y, z = (named(names[i + k]) for k in range(3))
        relations.append(AtMost(x * y * z, r.randrange(500, 4000)))
    found = space(system(names, *relations))
    assert found.count > 10**9
    for point in found.sample(200, seed=1):
        assert all(holds(relation, point) for relation in relations)


def test_quotients_are_whole_where_they_are_used() -> None:
    """If one relation contains 96 / a and another says that a divides 96, points are counted
    exactly, and can be sampled."""
    relations = [Divides(A, 96), AtMost(exact(96, A) * B, 40), *within(1, 20, ("b",))]
    found = space(system(("a", "b"), *relations))
    assert found.count == sum(min(20, 40 * a // 96) for a in divisors(96))
    assert prod(found.sample(1)[0].values()) > 0
