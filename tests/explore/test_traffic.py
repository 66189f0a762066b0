"""Tests that the traffic counted for a kernel is what the work-items of each group ask for, found
by simulating them one by one."""

from contextlib import suppress
from math import prod
from random import Random

import pytest

import explore.building.traffic
from codegen.compile import Generated, generate
from codegen.index.index import var
from constraints.devices import H200
from explore.building import index_classes as alike
from explore.building.traffic import kernel_traffic
from explore.space.derive_form import points
from explore.space.lowering import bound
from ir.errors import Unsupported
from ir.parse import parse
from rewrites.engine.refused import Refused
from rewrites.families.all_families import forms
from rewrites.tuning.lower import lower
from tests.support.families import ALONE
from tests.support.kernel_simulator import traffic
from tests.support.random_programs import program

CONV = """
conv(const weights : [[[[float]C]R]R]M, images : [[[[float]C]W]H]N) =
  map(image -> map2d(window -> map(kernel -> dot(flatten(window), flatten(kernel)), weights),
    slide2d(R, S, pad2d(P, 0.0, image))), images)
where N = {n}, H = {h}, W = {w}, P = {p}, R = {r}, S = {s}, C = {c}, M = {m}
"""
SHAPES = (  # images, their sides, padding, kernel's side, step, channels in and out
    (1, 5, 7, 1, 3, 1, 2, 3),
    (2, 5, 4, 0, 2, 1, 2, 3),
    (1, 7, 6, 2, 5, 2, 1, 4),
    (2, 3, 5, 0, 1, 1, 5, 4),
)
MOST = 1500  # work-items that are followed


def counted(made: Generated) -> list[tuple[int, int]]:
    """The pairs (traffic that is counted, traffic that a simulation of all work-items finds), one
    for each small kernel of the code."""
    small = [k for k in made.kernels if prod(k.groups) * prod(k.local_size) <= MOST]
    return [(kernel_traffic(kernel), traffic(kernel)) for kernel in small]


def test_of_random_programs() -> None:
    found = []
    for seed in range(80):
        with suppress(Unsupported):
            found += [(seed, *both) for both in counted(generate(program(seed)))]
    assert len(found) >= 60
    assert not [both for both in found if both[1] != both[2]]


def test_where_what_is_asked_for_lies_far_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the elements that are asked for lie far apart, they are sorted instead of being marked
    one by one; the traffic counted in that way is right, too."""
    monkeypatch.setattr(alike, "DENSE", 0)
    monkeypatch.setattr(explore.building.traffic, "DENSE", 0)
    found = []
    for seed in range(80, 110):
        with suppress(Unsupported):
            found += [(seed, *both) for both in counted(generate(program(seed)))]
    assert len(found) >= 20
    assert not [both for both in found if both[1] != both[2]]


@pytest.mark.parametrize("family", [f for f in ALONE if f != "matrix"])  # has tests of its own
def test_of_every_family(family: str) -> None:
    random, found = Random(family), []
    for shape in SHAPES:
        p = parse(CONV.format(**dict(zip("nhwprscm", shape, strict=True))))
        form = random.choice(forms(p, family))
        with suppress(Refused, Unsupported):
            low = lower(p, form)
            for point in points(low, H200, 1, 0)[1]:
                made = generate(bound(low.program, point))
                found += [(shape, form.name, point, *both) for both in counted(made)]
    assert found
    assert not [one for one in found if one[-1] != one[-2]]


def test_groups_that_share_a_quotient_with_their_items_are_not_alike() -> None:
    """Work-groups of 4 items that read rows of 6 are counted one by one: the first group reads row
    0 alone, the second rows 0 and 1."""
    rows = """
    p(ys : [[float]6]4, xs : [float]4) = join(mapWorkgroup(0)(part ->
        mapLocal(0)((y, x) -> y + x, part), split(4, join(map((row, x) ->
          map(y -> (y, x), row), zip(ys, xs))))))
    """
    made = generate(parse(rows))
    assert kernel_traffic(made.kernels[0]) == 4 * (24 + 24 + 1 + 2 + 1 + 1 + 2 + 1)


def test_work_items_of_a_group_are_together_whatever_their_ids_are_called() -> None:
    """In a kernel with global ids alone, one number that all work-items read is counted once for
    each group."""
    one = "p(xs : [float]1, ys : [float]64) = mapGlobal(0)(y -> y + at(0, xs), ys)"
    (kernel,) = generate(parse(one)).kernels
    assert kernel.local_size[0] > 1
    assert kernel_traffic(kernel) == 4 * (64 + 64 + kernel.groups[0])


def test_vectors_that_overlap_move_what_they_share_once() -> None:
    windows = """
    p(xs : [float]19) = join(mapWorkgroup(0)(ws ->
        mapLocal(0)(w -> asScalar(mapSeq(vectorized(x -> x + x), asVector(4, w))), ws),
      split(16, slide(4, 1, xs))))
    """
    (kernel,) = generate(parse(windows)).kernels
    assert kernel_traffic(kernel) == 4 * (19 + 16 * 4)


def test_groups_that_read_rows_alike_are_one_class() -> None:
    parts = alike.Parts(frozenset({"l"}))
    parts.apart((6 * var("g", 0, 99) + var("l", 0, 5)) // 8)
    values, groups = alike.classes(parts.parameters, {"g": 100})
    assert [x.reshape(-1).tolist() for x in values.values()] == [[0, 2, 4, 6]]
    assert groups.tolist() == [25, 25, 25, 25]
