"""Tests of the known error of a variant, which stands beside the measured one: in tables, in words,
in JSON and in the report."""

import json
from collections.abc import Mapping
from dataclasses import replace

from explore.report.summary import summary
from explore.report.table import front_lines
from explore.results.read_record import from_json
from explore.results.record_json import to_json
from explore.results.records import Measured, Record
from explore.space.derive_form import Derived, derive
from explore.space.forms_to_derive import Derive
from rewrites.families.all_families import form_named
from rewrites.tuning.lower import lower
from tests.rewrites.test_matrix import H200, program
from tests.support.sample_runs import BOUNDS, variant

LOSSY = Record(replace(variant(k=4), known_error=1.4e-5), Measured(2e6, 0.01, 4.1e-6))
PLAIN = Record(replace(variant(k=8), known_error=0.0), Measured(3e6, 0.01, 1e-7))
OLD = Record(variant(k=2), Measured(3e6, 0.01, 1e-7))


def cells(lines: list[str], name: str) -> list[str]:
    """The cells of a table's column, which ends where its heading does."""
    end = lines[0].index(name) + len(name)
    return [line[:end].split()[-1] for line in lines[1:]]


def test_the_table_has_a_column_for_it_where_a_point_loses_something() -> None:
    lines = front_lines([LOSSY, PLAIN, OLD])
    assert cells(lines, "error") == ["4.1e-06", "1.0e-07", "1.0e-07"]
    assert cells(lines, "known") == ["1.4e-05", "–", "–"]
    assert "known" not in front_lines([PLAIN, OLD])[0]


def test_the_words_of_a_variant_tell_it_beside_the_measured_error() -> None:
    def told(record: Record) -> str:
        (line,) = (x for x in summary(record, BOUNDS) if x.split()[0] == "error")
        return " ".join(line.split())

    assert told(LOSSY) == "error 4.1e-06, known 1.4e-05"
    assert told(PLAIN) == "error 1.0e-07"


def test_it_is_kept_with_the_variant_and_runs_without_it_are_read() -> None:
    values: Mapping[str, object] = json.loads(json.dumps(to_json(LOSSY)))
    assert from_json(values).variant.known_error == 1.4e-5
    older = {name: value for name, value in values.items() if name != "known_error"}
    assert from_json(older).variant.known_error is None


def test_it_is_what_laws_lose_and_what_sums_that_go_on_lose() -> None:
    p = program("matmul.lift", {"M": 16, "N": 24, "K": 512})
    known = {}
    for name in ("mma-bf16 patch parts", "mma-bf16 patch parts running"):
        form = form_named(p, "matrix", name)
        made = derive(Derive(p, form, H200, 1, 0))
        assert isinstance(made, Derived)
        known[name] = made.lowered.variant({"tx": 24, "tr": 1, "sr": 1, "sc": 1, "k": 2}, {})
        lost = lower(p, form).derivation.rounding * 2.0**-23
        assert known[name].known_error == lost + form.loses_in_sums
    fresh, running = (variant.known_error or 0.0 for variant in known.values())
    assert running - fresh > 1e-6
