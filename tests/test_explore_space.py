"""Which points are worth trying, beyond what is legal."""

from math import prod
from pathlib import Path

import pytest

from constraints.devices import CPU, H200, Profile
from explore.lowering import lowering
from explore.space import points
from ir.parse import parse_file

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
COUNT = 60


def blocks(profile: Profile, form: str, **sizes: int) -> list[tuple[int, int]]:
    """(results a work-item keeps, the width of a vector) of sampled points of `registers`."""
    low = lowering(parse_file(EXAMPLES / "vgg.lift", sizes), "registers", form)
    _, found = points(low, profile, COUNT, seed=0)
    kept = [prod(v for p, v in point.items() if p in ("tr", "tx", "ty", "v")) for point in found]
    return [(block, point["v"]) for block, point in zip(kept, found, strict=True)]


@pytest.mark.parametrize("form", ["relaid", "relaid tall"])
def test_on_a_cpu_a_work_item_keeps_results_enough_and_no_more_than_fit(form: str) -> None:
    found = blocks(CPU, form)
    assert len(found) == COUNT
    assert all(8 * 16 <= results <= 28 * 16 for results, _ in found)
    assert all(v >= 8 for _, v in found)


def test_on_a_gpu_other_work_items_hide_latencies() -> None:
    assert min(blocks(H200, "relaid"))[0] < 8


def test_a_layer_too_small_to_keep_a_cpu_busy_still_has_points() -> None:
    found = blocks(CPU, "relaid", C=3, W=4, H=4, M=4)
    assert found
    assert all(results < 8 * 16 for results, _ in found)
