"""Tests of records and their JSON lines, and of units of time and bytes."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from explore.options.stored_fields import Fields
from explore.options.units import parse_bytes, parse_seconds, show_bytes, show_time
from explore.results.read_record import from_line, plan_from
from explore.results.record_json import plan_json, to_json, to_line
from explore.results.records import Bounds, Failed, Measured, Predicted, Record, latest, variant_id
from ir.errors import UserError
from ir.parse import parse_file
from rewrites.families.all_families import FAMILIES, forms
from tests.support.sample_runs import plan, sample_run, variant

EXAMPLES = Path(__file__).parents[2] / "examples"
PROMISED = (
    "id family parameters status stage reason time_ns memory_bytes workspace_bytes prepack_ns "
    "error kernels derivation spread code_bytes flops traffic_bytes source"
)


@pytest.mark.parametrize("record", [*sample_run(60), *sample_run(3, predicted=True)])
def test_a_record_comes_back_from_its_line(record: Record) -> None:
    assert from_line(to_line(record)) == record


@pytest.mark.parametrize("family", FAMILIES)
def test_the_traits_and_views_of_every_family_come_back(family: str) -> None:
    program = parse_file(EXAMPLES / "quickstart.lift")
    for form in forms(program, family):
        stored = FAMILIES[family].stored(form)
        made = replace(variant(), family=family, form=form.name, traits=form.words, stored=stored)
        record = Record(made, Failed("run", "it was slow"))
        assert from_line(to_line(record)) == record


@pytest.mark.parametrize("record", sample_run(40))
def test_every_promised_field_is_in_every_line(record: Record) -> None:
    fields = json.loads(to_line(record))
    assert set(PROMISED.split()) <= set(fields)
    assert "\n" not in to_line(record)


def test_a_wrong_output_may_be_infinitely_wrong_and_the_line_is_still_json() -> None:
    line = to_line(Record(variant(), Failed("verify", "NaN in the output", error=float("inf"))))
    assert json.loads(line, parse_constant=pytest.fail)["error"] is None


def test_variants_that_compile_to_the_same_have_one_key() -> None:
    a, b = variant(tile=4), variant(tile=8)
    assert a.key != b.key
    assert replace(b, plan=a.plan).key == a.key


def test_the_key_depends_on_the_launch_not_only_on_the_text() -> None:
    wide = plan("x", ())
    narrow = replace(wide, kernels=(replace(wide.kernels[0], local_size=(2, 1, 1)),))
    assert replace(variant(), plan=wide).key != replace(variant(), plan=narrow).key


def test_an_id_depends_on_the_choice_and_not_on_the_order_of_its_parameters() -> None:
    assert variant_id("lift", [("a", 1), ("b", 2)]) == variant_id("lift", [("b", 2), ("a", 1)])
    assert variant_id("lift", [("a", 1)]) != variant_id("lift", [("a", 1)], ["pad"])
    assert variant_id("lift", []).startswith("lift-")


def test_a_plan_comes_back_from_its_json() -> None:
    made = plan("__kernel void k() {}", ("pad", "pair.0", "pair.1.2"))
    assert plan_from(Fields.of(json.loads(json.dumps(plan_json(made))), "plan")) == made


def test_a_later_round_replaces_an_earlier_one() -> None:
    first = Record(variant(), Measured(5.0, 0.0, 0.0))
    again = replace(first, outcome=Measured(6.0, 0.0, 0.0), round=1)
    assert latest([first, again]) == [again]
    assert latest([again, first]) == [again]


def test_the_roofline_is_the_slower_of_arithmetic_and_memory() -> None:
    bounds = Bounds(flops=1000, io_bytes=100, peak_flops=1e9, bandwidth=1e9)
    assert bounds.roofline_ns == 1000.0
    assert Bounds(flops=1000).roofline_ns is None


def test_a_prediction_has_a_time_and_no_error() -> None:
    record = Record(variant(), Predicted(7.0))
    assert (record.time_ns, record.error, to_json(record)["status"]) == (7.0, None, "predicted")


@pytest.mark.parametrize(
    ("text", "count"), [("64MiB", 2**26), ("1.5 GB", 1_500_000_000), ("4096", 4096), ("2k", 2048)]
)
def test_sizes_are_read_as_written(text: str, count: int) -> None:
    assert parse_bytes(text) == count


@pytest.mark.parametrize(("text", "seconds"), [("10m", 600), ("90", 90), ("250us", 250e-6)])
def test_times_are_read_as_written(text: str, seconds: float) -> None:
    assert parse_seconds(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "MiB", "12 parsecs", "-3", "1e400", "nan"])
def test_what_is_no_size_is_said_to_be_none(text: str) -> None:
    with pytest.raises(UserError, match="expected a size such as 64MiB, found"):
        parse_bytes(text)


def test_numbers_are_shown_with_three_digits() -> None:
    assert [show_time(t) for t in (12, 1500, 7.83e6, 2e9)] == [
        "12 ns",
        "1.50 µs",
        "7.83 ms",
        "2.00 s",
    ]
    assert [show_bytes(n) for n in (12, 2**26, None)] == ["12 B", "64.0 MiB", "–"]
