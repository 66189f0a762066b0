"""Tests that no variant of a program of random layers moves fewer bytes than the bound of its
algorithm."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from random import Random

import pytest

from codegen.compile import generate
from constraints.devices import H200
from explore.bounds.least_bytes import moved_bytes
from explore.bounds.products_of_program import products
from explore.bounds.program_work import least_bytes, operations, whole_operations
from explore.building.traffic import chip_bytes, traffic_bytes
from explore.report.table import front_lines
from explore.report.traffic_against_bounds import least_traffic
from explore.results.records import Bounds, Variant
from explore.space.derive_form import points
from explore.space.lowering import bound
from ir.errors import Unsupported
from ir.parse import parse
from rewrites.engine.refused import Refused
from rewrites.families.all_families import FAMILIES, forms
from rewrites.tuning.lower import lower
from tests.support.networks import network

NETWORKS = range(80)
FORMS = 2


@dataclass(frozen=True, slots=True)
class Moved:
    """The bytes of global traffic of a variant (`moved`) and the bound on them (`least`); `what`
    names the variant in messages."""

    what: str
    least: int
    moved: int


def variants(seed: int, family: str) -> Iterator[Moved]:
    """The traffic of some variants of the random network drawn with `seed`, each with its bound;
    the variants have random forms of a family, at one point each."""
    p, r = network(seed), Random(f"{seed} {family}")
    known = Bounds(operations(p), moved_bytes(p), products=products(p))
    every = forms(p, family)
    for form in r.sample(every, min(FORMS, len(every))):
        with suppress(Refused, Unsupported):
            lowering = lower(p, form)
            for point in points(lowering, H200, 1, r.randrange(1 << 30))[1]:
                made = generate(bound(lowering.program, point))
                what = Variant("v", family, (), form=form.name)
                least = least_traffic(replace(what, chip_bytes=chip_bytes(made)), known)
                said = f"network {seed}: {family} {form.name} {point}"
                yield Moved(said, least or 0, traffic_bytes(made))


@pytest.mark.parametrize("family", FAMILIES)
def test_of_a_family(family: str) -> None:
    """No variant of the family moves fewer bytes than its bound, for random networks with padding,
    steps, windows larger than images, pooling, biases and skip connections."""
    seeds = Random(family).sample(NETWORKS, 2)
    found = [moved for seed in seeds for moved in variants(seed, family)]
    assert not [moved for moved in found if moved.moved < moved.least]


@pytest.mark.parametrize("seed", [27, 58])
def test_the_bound_is_attained_where_not_all_is_read(seed: int) -> None:
    (found,) = variants(seed, "naive")
    assert found.least == found.moved < least_bytes(network(seed))


def test_operations_on_whole_numbers_are_counted_apart_from_those_on_floats() -> None:
    p = parse("f(xs : [[char]6]4) = map(r -> float(reduce(0, (a, x) -> a + x * 3, r)) * 2.0, xs)")
    assert operations(p) == 4
    assert whole_operations(p) == 4 * 6 * 2
    lines = front_lines([], Bounds(flops=operations(p), whole_operations=whole_operations(p)))
    assert "GFLOP/s  int GOP/s" in lines[0]
    lines = front_lines([], Bounds(flops=0, whole_operations=9))
    assert "GFLOP/s" not in lines[0]
    assert "int GOP/s" in lines[0]
