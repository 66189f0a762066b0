"""Tests of the words about the roofline: a variant over 100 % of it is told why that may be."""

from explore.report.summary import summary
from explore.results.records import Measured, Record
from tests.support.sample_runs import BOUNDS, variant


def told(time_ns: float) -> str:
    record = Record(variant(k=4), Measured(time_ns, 0.01, 1e-7), 1.0)
    (line,) = (x for x in summary(record, BOUNDS) if x.split()[0] == "roofline")
    return line


def test_over_100_percent_of_the_roofline_is_told_with_its_reasons() -> None:
    assert BOUNDS.roofline_ns is not None
    assert told(BOUNDS.roofline_ns / 2).endswith(
        "200% of what the device can do; over 100 %, as the form needs fewer operations than the "
        "program as written, or what it reads was in a cache, or the machine was slower than "
        "usual when either was measured"
    )
    assert told(BOUNDS.roofline_ns * 2).endswith("50% of what the device can do")
