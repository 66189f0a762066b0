"""Tests that narrowing a search to a domain keeps exactly the points that the domain is defined
by."""

from typing import Any

import pytest

from constraints.devices import H200
from explore.options.options import Options
from explore.space.derive_form import Derived, Inapplicable, derive, points
from explore.space.forms_to_derive import Derive
from explore.space.lowering import lowering
from explore.space.search_domain import Narrowed, narrowed, narrowing, shares
from ir.core.size import bind
from ir.errors import UserError
from ir.meaning.inputs import known
from ir.parse import parse
from rewrites.families.all_families import form_named, forms

CONV = """
conv(const weights : [[[[float]C]K]K]M, image : [[[float]C]W]W) =
  map2d(window -> map(kernel -> dot(flatten(window), flatten(kernel)), weights),
    slide2d(K, 1, pad2d(1, 0.0, image)))
where W = 28, K = 3, C = 16, M = 64
"""
SIDES = {
    "blocked": (("ly", "tc"), ("lx", "tr", "v")),
    "registers": (("tx",), ("tr", "v")),
    "io-optimal": (("tx", "ty"), ("lx", "tr", "v")),
}


def amount(point: dict[str, int], names: tuple[str, ...]) -> int:
    total = 1
    for name in names:
        total *= point[name]
    return total


@pytest.mark.parametrize("family", SIDES)
def test_the_io_optimal_domain_keeps_blocks_with_pixels_near_r_times_channels(family: str) -> None:
    p = parse(CONV)
    low = lowering(p, family)
    near = narrowed(low, p, "io-optimal")
    every, kept = points(low, H200, 1, 0)[0].count, points(near, H200, 40, 0)
    assert kept[0].count == every if family == "io-optimal" else 0 < kept[0].count < every
    for point in kept[1]:
        xy, z = (amount(point, side) for side in SIDES[family])
        assert 1 / 4 <= xy / (9 * z) <= 4
        assert xy * z <= H200.local_bytes // 8


def test_the_domain_is_asked_of_forms_of_one_output_channel() -> None:
    p = parse(CONV.replace("W = 28", "W = 9").replace("C = 16", "C = 4").replace("M = 64", "M = 1"))
    for form in forms(p, "lift")[::3]:
        task = Derive(p, form, H200, 2, 0, domain="io-optimal")
        assert isinstance(derive(task), Derived | Inapplicable)


def test_flipped_blocks_have_their_pixels_where_others_have_channels() -> None:
    p = parse(CONV)
    low = lowering(p, "blocked", "flipped")
    straight = lowering(p, "blocked")
    assert low.block is not None
    assert straight.block == (low.block[1], low.block[0])


def test_products_of_transforms_have_no_windows() -> None:
    """The domain io-optimal keeps blocks of Winograd's products that have about as many pixels as
    channels, since these products have no windows."""
    p = parse(CONV)
    near = narrowed(lowering(p, "winograd"), p, "io-optimal")
    pixels, channels = near.block or (1, 1)
    for point in points(near, H200, 20, 0)[1]:
        assert 1 / 4 <= known(bind(pixels, point)) / known(bind(channels, point)) <= 4


def test_a_run_says_what_the_domain_leaves_of_each_family() -> None:
    p = parse(CONV)
    tasks = [
        Derive(p, form_named(p, f, ""), H200, 4, 0, domain="io-optimal")
        for f in ("naive", "blocked")
    ]
    found = [d for d in map(derive, tasks) if isinstance(d, Derived)]
    left = shares((d.family, d.count, d.outside) for d in found)
    naive, blocked = left
    assert naive == Narrowed("naive", 1, None)
    assert 0 < blocked.left < (blocked.whole or 0)
    share = f"{blocked.left / (blocked.whole or 1):.0%}"
    assert narrowing("io-optimal", left) == (
        f"the domain io-optimal leaves of all points {share} of blocked; "
        "naive: no blocks, left whole"
    )


def test_a_domain_that_is_not_known_is_refused() -> None:
    fast: Any = "fast"
    with pytest.raises(UserError, match="no domain `fast`; expected io-optimal"):
        Options(domain=fast)


def test_no_domain_asks_nothing_and_none_asks_of_what_makes_no_blocks() -> None:
    p = parse(CONV)
    low = lowering(p, "blocked")
    assert narrowed(low, p, None) == low
    naive = lowering(p, "naive")
    assert narrowed(naive, p, "io-optimal") == naive
