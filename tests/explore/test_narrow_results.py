"""Tests of how large an error of results may be where a program computes in halves or bfloats, and
of its dependence on the device."""

from pathlib import Path

import numpy as np
import pytest

from explore.api import explore
from explore.measure.reference import EPSILON, expected, largest_error
from explore.results.front import front
from explore.results.records import Failed, Measured, Record
from ir.core.nodes import Program
from ir.parse import parse

SUMS = "f(xs : [[{t}]{n}]4) = map(row -> {to}(reduce(0, (acc, x) -> acc + {x}, row)), xs)"
CONVOLUTION = """
conv(const weights : [[[[half]4]3]3]4, image : [[[half]4]6]6) =
  map2d(window -> map(kernel -> dot(flatten(window), flatten(kernel)), weights),
    slide2d(3, 1, pad2d(1, 0, image)))
"""


def sums(t: str, n: int, x: str = "x", to: str = "") -> Program:
    return parse(SUMS.format(t=t, n=n, x=x, to=to))


@pytest.mark.parametrize(
    ("program", "error"),
    [
        (sums("float", 8), 1e-5),
        (sums("half", 8), 100 * 2**-11),
        (sums("bfloat", 8), 100 * 2**-8),
        (sums("half", 8, "float(x)"), 1e-5),  # only stored as halves
        (sums("half", 8, "float(x)", "half"), 100 * 2**-11),
        (sums("char", 8), 1e-5),
    ],
)
def test_the_narrowest_numbers_that_are_computed_say_what_a_result_may_be_off(
    program: Program, error: float
) -> None:
    assert largest_error(program, None) == error
    assert largest_error(program, 1e-6) == 1e-6


def test_sums_of_whole_numbers_that_halves_hold_are_exact_and_longer_ones_are_not() -> None:
    for n, narrow in ((4, False), (4096, True)):
        p, xs = sums("half", n), np.ones((4, n), np.float16)
        found = expected(p, {"xs": xs})
        off = found.output * (1 + 2**-12)
        assert found.agrees(found.output, 0.0)
        assert found.agrees(off, 0.0) == narrow
        assert found.agrees(off, 2**-12 / EPSILON)
        assert not found.agrees(found.output * 1.01, 0.0)
    assert expected(sums("float", 4096), {"xs": np.ones((4, 4096), np.float32)}).rounding == 0


def explored(out: Path, max_error: float | None = None) -> list[Record]:
    run = explore(
        CONVOLUTION,
        families="naive",
        variants=5,
        seed=3,
        device="cpu",
        out=out,
        max_error=max_error,
    )
    return run.records


def test_the_accumulators_are_on_the_front_and_the_largest_error_decides(tmp_path: Path) -> None:
    records = explored(tmp_path / "all")
    errors = {r.variant.form: r.error for r in records if r.error is not None}
    assert {*errors} == {"", "in-float", "in-chunks", "widened"}
    least = errors["in-float"]
    assert least < errors[""]
    kept = front(records, ("time", "memory", "error"))
    assert min(r.error for r in kept if r.error is not None) == min(errors.values())
    limited = explored(tmp_path / "limited", max_error=1.01 * least)
    assert {r.variant.form for r in limited if isinstance(r.outcome, Measured)} >= {"in-float"}
    assert all(isinstance(r.outcome, Failed) for r in limited if r.variant.form == "")
