"""Tests of the numbers that are told of compiled variants, in tables, CSV, the report and as axes
of the front."""

import csv
import io
from dataclasses import replace
from pathlib import Path

from codegen.plan import Kernel, Plan
from constraints.devices import profile
from explore.export.csv_table import to_csv
from explore.offline.compile_best import CompileBest
from explore.pages.report_data import Told
from explore.report.summary import code_words
from explore.report.table import front_lines
from explore.results.code_totals import code_totals
from explore.results.front import front
from explore.results.kernel_code import KernelCode
from explore.results.records import Failed, Predicted, Record, Variant
from explore.toolchain.toolchain import Toolchain
from tests.support.sample_runs import ENVIRONMENT

CODE = KernelCode(
    kernel="a_",
    compiler="a compiler",
    counts=(),
    done=(("instructions", 10.0), ("ls", 2.0), ("messages", 2.0)),
    bytes=100,
    spills=1,
    fills=2,
    private_bytes=8,
    local_bytes=0,
    threads=1.0,
    group_items=256,
)
OTHER = replace(CODE, kernel="b_", private_bytes=40, threads=0.5)
RUNS = tuple(
    Kernel(f"{name}_", (size, 2, 1), (1, 1, 1), (), False, "")
    for name, size in (("a", 3), ("b", 2))
)
PLAN = Plan((replace(RUNS[0], prepack=True), *RUNS), (), 64, 0)


def predicted(id: str, time_ns: float, *code: KernelCode) -> Record:
    """The record of a variant with a kernel of 6 work-items and one of 4, and one that prepares
    constants; its time was predicted from `code`, if there is any."""
    return Record(
        Variant(f"naive-0000000{id}", "naive", (), plan=PLAN),
        Predicted(time_ns, code, time_ns / 2, 2 * time_ns) if code else Predicted(time_ns),
    )


COMPILED, RANKED = predicted("1", 1e4, CODE, OTHER), predicted("2", 5e3)


def test_numbers_of_code_are_those_of_all_kernels_that_run() -> None:
    found = code_totals(COMPILED)
    assert found is not None
    assert (found.bytes, found.spills, found.fills) == (200, 2, 4)
    assert (found.private_bytes, found.threads) == (40, 0.5)
    assert dict(found.done) == {"instructions": 100, "ls": 20, "messages": 20}
    assert found.issued == 100
    assert code_totals(RANKED) is None


def test_what_one_kernel_carries_out_is_not_taken_for_all() -> None:
    found = code_totals(predicted("3", 1e4, CODE, replace(OTHER, done=())))
    assert found is not None
    assert found.done == ()
    assert found.issued is None


def test_a_kernel_whose_work_is_not_known_gives_its_variant_no_time() -> None:
    """Its rough estimate would stand beside times of whole kernels, which are longer."""
    toolchain = Toolchain(Path("none"), "none", "no compiler")
    best = CompileBest(toolchain, profile("adreno-630"), 1, 1, None, lambda: False)
    best.known = {RUNS[0]: CODE, RUNS[1]: OTHER}
    assert isinstance(best.outcome(COMPILED.variant), Predicted)
    best.known[RUNS[1]] = replace(OTHER, done=())
    assert isinstance(best.outcome(COMPILED.variant), Failed)


def test_the_table_has_the_range_of_a_time_and_what_work_items_carry_out() -> None:
    heading, row, other = front_lines([COMPILED, RANKED])
    assert {"between", "private", "threads", "code"} <= {*heading.split()}
    assert "5.00 µs–20.0 µs     40 B      50%  200 B" in row
    assert row.endswith("100 instructions, 20 ls, 20 messages")
    assert other.endswith("–")
    assert "between" not in front_lines([RANKED])[0]


def test_the_csv_has_the_numbers_of_compiled_code() -> None:
    row, other = csv.DictReader(io.StringIO(to_csv([COMPILED, RANKED])))
    assert (row["code_bytes"], row["private_bytes"], row["threads"]) == ("200", "40", "0.5")
    assert (row["least_ns"], row["most_ns"], row["spills"]) == ("5000.0", "20000.0", "6")
    assert (row["all instructions"], row["all ls"], row["all tuples"]) == ("100.0", "20.0", "")
    assert {other[name] for name in ("code_bytes", "private_bytes", "all ls")} == {""}


def test_products_of_whole_numbers_are_told_apart_from_those_of_floats() -> None:
    work = (("instructions", 10.0), ("products", 0.0), ("whole_products", 3.0))
    record = predicted("5", 1e4, replace(CODE, done=work), replace(OTHER, done=work))
    assert front_lines([record])[1].endswith("100 instructions, 0 products, 30 whole products")
    (row,) = csv.DictReader(io.StringIO(to_csv([record])))
    assert (row["all products"], row["all whole_products"]) == ("0.0", "30.0")
    assert "0 products, 3 whole products" in code_words(replace(CODE, done=work))
    (drawn,) = Told([record], ENVIRONMENT).drawn()["variants"]
    assert drawn["compiled"]["done"]["whole_products"] == 30


def test_the_report_has_the_numbers_of_compiled_code() -> None:
    drawn = Told([COMPILED, RANKED], ENVIRONMENT).drawn()["variants"]
    assert [v["compiled"] and v["compiled"]["private_bytes"] for v in drawn] == [40, None]
    assert drawn[0]["compiled"]["done"]["ls"] == 20


def test_the_instructions_that_are_carried_out_are_an_axis_of_the_front() -> None:
    slim = replace(CODE, done=(("instructions", 9.0),))
    few = predicted("4", 2e4, slim, slim)
    assert front([COMPILED, few], ("predicted",)) == [COMPILED]
    assert front([COMPILED, few], ("predicted", "instructions")) == [COMPILED, few]
