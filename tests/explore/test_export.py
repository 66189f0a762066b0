"""Tests of what is exported or printed of a run: T4 files, CSV, a replay of the run's search,
tables, and messages on its progress."""

import copy
import csv
import hashlib
import io
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from explore.__main__ import main
from explore.export.csv_table import to_csv
from explore.export.json_schema import problems
from explore.export.t4_results import schema, to_t4
from explore.files.whole_files import write_folder
from explore.report.progress import Watch
from explore.report.table import front_lines
from explore.results.front import front
from explore.results.kernel_code import KernelCode
from explore.results.records import Failed, Measured, Predicted, Record, Variant
from explore.run_store.store import Store
from explore.search.replay import Replay, compare
from explore.search.variant_rows import kernel_table, strata
from ir.errors import UserError
from tests.support.sample_runs import BOUNDS, ENVIRONMENT, sample_run, variant

RECORDS = sample_run(300)


def test_the_t4_export_is_valid_and_has_every_configuration() -> None:
    document = json.loads(json.dumps(to_t4(RECORDS, ENVIRONMENT)))
    assert list(problems(document, schema())) == []
    assert len(document["results"]) == 300
    assert {r["invalidity"] for r in document["results"]} == {
        *("correct", "timeout", "compile", "runtime", "correctness", "constraints")
    }


def test_t4_times_are_milliseconds() -> None:
    record = Record(variant(tile=8), Measured(2e6, 0.0, 0.0, build_ns=5e6, runs_ns=(2e6, 3e6)))
    (result,) = to_t4([record], ENVIRONMENT)["results"]
    assert result["times"]["runtimes"] == [2.0, 3.0]
    assert result["times"]["compilation_time"] == 5.0
    assert result["measurements"][0] == {"name": "time", "value": 2.0, "unit": "ms"}
    assert result["configuration"]["tile"] == 8


def test_t4_tells_programs_apart_by_the_sizes_that_were_used() -> None:
    def named(**sizes: int) -> str:
        environment = replace(ENVIRONMENT, options={**ENVIRONMENT.options, "sizes": sizes})
        sha256: str = to_t4([], environment)["metadata"]["program_sha256"]
        return sha256

    assert named() == named(C=128) == hashlib.sha256(ENVIRONMENT.program.encode()).hexdigest()
    assert len({named(), named(C=64), named(W=64), named(C=64, W=64)}) == 4


def test_what_was_only_predicted_is_not_exported_as_measured() -> None:
    assert to_t4(sample_run(5, predicted=True), ENVIRONMENT)["results"] == []


def test_an_independent_validator_agrees_about_the_schema() -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    jsonschema.Draft202012Validator.check_schema(schema())
    jsonschema.validate(to_t4(RECORDS, ENVIRONMENT), schema())


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("schema_version",), "1.0", "does not match"),
        (("results", 0, "invalidity"), "fine", "expected one of"),
        (("results", 0, "times", "framework"), -1, "expected at least 0"),
        (("results", 0, "correctness"), True, "expected number, found bool"),
        (("results", 0, "configuration"), [], "expected object, found list"),
        (("results", 0), {}, "'timestamp' is missing"),
        (("results",), None, "expected array"),
    ],
)
def test_the_schema_refuses_what_is_wrong(
    path: tuple[str | int, ...], value: object, said: str
) -> None:
    document = copy.deepcopy(to_t4(RECORDS[:1], ENVIRONMENT))
    place = document
    for name in path[:-1]:
        place = place[name]  # type: ignore[index]
    place[path[-1]] = value  # type: ignore[index]
    assert any(said in problem for problem in problems(document, schema()))


def test_a_schema_word_that_is_not_understood_is_not_ignored() -> None:
    with pytest.raises(ValueError, match="'anyOf' at \\$ is not supported"):
        list(problems(1, {"anyOf": []}))


def test_the_csv_has_a_row_a_variant_and_a_column_a_parameter() -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(RECORDS))))
    assert [r["id"] for r in rows] == [r.variant.id for r in RECORDS]
    assert [int(r["parameter tile"]) for r in rows] == [
        dict(r.variant.parameters)["tile"] for r in RECORDS
    ]


def test_no_cell_of_the_csv_is_a_formula_or_a_second_line() -> None:
    reason = '=HYPERLINK("x")\nsecond, "line"'
    (row,) = csv.DictReader(io.StringIO(to_csv([Record(variant(), Failed("build", reason))])))
    assert row["reason"] == "'" + reason


def test_a_replay_finds_what_the_run_found() -> None:
    replay = Replay.of(RECORDS)
    curve = replay.best_so_far("guided", 0, 10_000)
    assert len(curve) == 300
    assert curve[-1] == min(r.time_ns for r in RECORDS if r.time_ns is not None)
    assert curve == sorted(curve, reverse=True)


def test_strategies_are_compared_from_a_stored_run() -> None:
    found = compare(Replay.of(sample_run(600)), seeds=range(3), budget=120)
    guided, random = (np.median([best for best, _ in found[s]]) for s in ("guided", "random"))
    assert 1.0 <= guided <= random


def test_a_run_is_replayed_by_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store.create(tmp_path / "run", ENVIRONMENT) as store:
        store.append(sample_run(40))
    asked = ["replay", str(tmp_path / "run"), "--seeds", "2"]
    assert main([*asked, "--variants", "60", "--json"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(found) == 2 * 2 * 2  # 50 and 60 tried, by two strategies, from two seeds
    assert {one["ratio"] for one in found} == {1.0}  # all 40 were tried
    assert all(1 <= one["found_after"] <= 40 for one in found)
    assert main([*asked, "--variants", "3"]) == 0
    assert "random      3 tried: median " in capsys.readouterr().out


def test_variants_become_rows_of_numbers_and_what_is_absent_is_told_apart() -> None:
    one, two = (("parameter tile", 8.0), ("reuse", math.inf)), (("reuse", 1.0),)
    a = Variant("a", "lift", (("tile", 8),), ("pad",), features=(one, two))
    b = Variant("b", "naive", (), features=(two,))
    made = kernel_table([a]).followed_by(kernel_table([b]))
    found = dict(zip(made.columns, made.rows.T.tolist(), strict=True))
    assert found["parameter tile"] == pytest.approx([3.0, -1.0, -1.0], abs=0.01)
    assert found["family=lift"] == [1.0, 1.0, 0.0]
    assert found["stored=pad"] == [1.0, 1.0, 0.0]
    assert np.isfinite(made.rows).all()
    assert [list(made.kernels_of(i)) for i in range(len(made))] == [[0, 1], [2]]
    assert len(kernel_table([])) == 0


def test_strata_are_families_and_levels_of_memory() -> None:
    made = [Variant(str(i), "lift", ()) for i in range(4)]
    assert strata(made, [1.0, 2.0, 16.0, 16.0]) == [("lift", n, "") for n in (0, 0, 3, 3)]
    assert len(set(strata(made, [5.0] * 4))) == 1
    assert strata([], []) == []


def test_without_a_terminal_progress_is_plain_lines_now_and_then() -> None:
    out, now = io.StringIO(), iter(range(10_000))
    console = Console(file=out, width=200)
    with Watch(300, console=console, clock=lambda: float(next(now))) as watch:
        for record in RECORDS:
            watch.saw(record)
    lines = out.getvalue().splitlines()
    assert 5 < len(lines) < 80
    assert "\x1b" not in out.getvalue()
    assert lines[-1].startswith("300/300  ")
    assert "left" not in lines[0]  # the pace is not yet known
    assert "left" in lines[len(lines) // 2]
    assert "left" not in lines[-1]


def test_on_a_terminal_progress_is_a_bar() -> None:
    out = io.StringIO()
    console = Console(file=out, width=120, force_terminal=True)
    with Watch(300, console=console, before=RECORDS[:100]) as watch:
        for record in RECORDS[100:]:
            watch.saw(record)
    assert "300/300" in out.getvalue()


def test_progress_says_what_failed_and_what_is_best() -> None:
    watch = Watch(100, console=Console(file=io.StringIO()))
    assert watch.says() == "0 failed  front 0  nothing has run yet"
    watch.saw(Record(variant(tile=1), Failed("run", "crash")))
    watch.saw(Record(variant(tile=2), Measured(2e6, 0.0, 0.0)))
    assert watch.says() == f"1 failed  front 1  best 2.00 ms ({variant(tile=2).id})"
    for tile in range(3, 21):
        watch.saw(Record(variant(tile=tile), Measured(3e6, 0.0, 0.0)))
    assert watch.says().endswith("  0:00 left")  # the pace of 20 variants tells it


def test_the_table_of_the_front_shows_names_as_they_are() -> None:
    named = replace(variant(tile=2), id="[red]x[/red]", stored=("[bold]",))
    _, line = front_lines([Record(named, Measured(2e6, 0.01, 1e-7))], BOUNDS)
    assert line.startswith("[red]x[/red]")
    assert "[bold]" in line
    assert "12.8 MiB" in line


@pytest.mark.parametrize("width", [80, 100, 150])
def test_the_table_of_the_front_fits_the_console_and_leaves_nothing_out(width: int) -> None:
    points = front(sample_run(300))
    lines = front_lines(points, BOUNDS, width)
    assert max(map(len, lines)) <= width
    text = " ".join(" ".join(lines).split())
    for record in points:
        given = " ".join(f"{name}={value}" for name, value in record.variant.parameters)
        assert record.variant.id in text
        assert given in text


def test_t4_of_compiled_code_has_the_range_of_its_time_and_units() -> None:
    done = (("arith", 12.0),)
    code = KernelCode("conv", "Mesa", (), done, 640, 0, 0, 16, 0, 0.5, 256)
    outcome = Predicted(2e6, (code,), 1e6, 4e6)
    (result,) = to_t4([Record(variant(tile=8), outcome)], ENVIRONMENT)["results"]
    told = {m["name"]: (m["value"], m["unit"]) for m in result["measurements"]}
    assert told["least predicted"] == (1.0, "ms")
    assert told["most predicted"] == (4.0, "ms")
    assert told["conv private"] == (16, "bytes")
    assert told["conv arith"] == (12.0, "")


def test_the_command_says_how_many_variants_t4_leaves_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Store.create(tmp_path / "run", ENVIRONMENT) as store:
        store.append(sample_run(5, predicted=True))
    assert main(["export", str(tmp_path / "run"), "--t4", str(tmp_path / "t4.json")]) == 0
    told = "T4 results of 0 variants, tried or compiled, without 5 that were neither"
    assert told in capsys.readouterr().out


def test_a_table_for_a_file_has_one_line_a_point() -> None:
    points = front(sample_run(300))
    assert len(front_lines(points, BOUNDS)) == len(points) + 1


def test_a_run_is_exported_by_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store.create(tmp_path / "run", ENVIRONMENT) as store:
        store.append(RECORDS)
    t4, table = tmp_path / "run.json", tmp_path / "run.csv"
    assert main(["export", str(tmp_path / "run"), "--t4", str(t4), "--csv", str(table)]) == 0
    assert json.loads(t4.read_text()) == to_t4(RECORDS, ENVIRONMENT)
    assert len(list(csv.reader(table.open()))) == len(RECORDS) + 1
    assert main(["export", str(tmp_path / "run"), "--csv", str(tmp_path)]) == 1
    with pytest.raises(SystemExit) as ended:
        main(["export", str(tmp_path / "run")])
    assert ended.value.code == 2
    assert "--t4 FILE" in capsys.readouterr().err


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "made"
    broken: dict[str, str | bytes] = {
        "a": "later",
        "b/c": b"",
        "x" * 300: "no system takes such a name",
    }
    for _ in range(2):
        with pytest.raises(UserError, match="cannot write"):
            write_folder(folder, broken)
        assert not list((tmp_path / "new").iterdir())
    write_folder(folder, {"a": "first", "b/c": b"\0"})
    (folder / "mine").touch()
    with pytest.raises(UserError, match="cannot write"):
        write_folder(folder, broken)
    assert (folder / "a").read_text() == "first"
    write_folder(folder, {"a": "second", "d": ""})
    assert (folder / "a").read_text() == "second"
    assert {file.name for file in folder.iterdir()} == {"a", "b", "d", "mine"}
