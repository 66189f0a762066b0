"""Tests of `explore show RUN`, the table of all variants (sorted, filtered, shortened, as JSON),
and of what is printed where a file is named `-`."""

import csv
import io
import json
from pathlib import Path

import pytest

from explore.__main__ import main
from explore.commands.run_table import KEYS
from explore.results.records import Failed, Measured, latest
from explore.run_store.store import Store
from tests.support.sample_runs import ENVIRONMENT, sample_run

RECORDS = latest(sample_run(120, seed=5))


@pytest.fixture
def run(tmp_path: Path) -> str:
    with Store.create(tmp_path / "run", ENVIRONMENT) as store:
        store.append(RECORDS)
    return str(tmp_path / "run")


def table(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[list[str], str]:
    """The variants' ids in the rows that `show` prints when it is called with these words, from the
    top, and the last line printed."""
    assert main(["show", *words]) == 0
    lines = capsys.readouterr().out.splitlines()
    known = {r.variant.id for r in RECORDS}
    rows = [line.split()[0] for line in lines[1:] if " failed to " not in line]
    return [row for row in rows if row in known], lines[-1]


def test_variants_are_sorted_by_time_and_those_that_failed_come_last(
    run: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ids, last = table(capsys, run, "--limit", "0")
    assert last == f"{len(RECORDS)} variants"
    times = {r.variant.id: r.time_ns for r in RECORDS}
    found = [times[i] for i in ids]
    ran = [t for t in found if t is not None]
    assert found == [*sorted(ran), *[None] * (len(found) - len(ran))]
    assert len(found) == len(RECORDS)


@pytest.mark.parametrize("by", KEYS)
def test_every_column_can_be_sorted_by(by: str, run: str) -> None:
    assert main(["show", run, "--sort", by, "--limit", "3"]) == 0


def test_filters_are_joined(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    some = next(r for r in RECORDS if isinstance(r.outcome, Measured))
    name, value = some.variant.parameters[0]
    asked = ["--family", some.variant.family, "--where", f"{name}={value}", "--status", "measured"]
    ids, _ = table(capsys, run, *asked, "--limit", "0")
    assert some.variant.id in ids
    assert set(ids) == {
        r.variant.id
        for r in RECORDS
        if r.variant.family == some.variant.family
        and (name, value) in r.variant.parameters
        and isinstance(r.outcome, Measured)
    }


def test_what_failed_says_why(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", run, "--status", "failed", "--limit", "2"]) == 0
    out = capsys.readouterr().out
    failed = [r for r in RECORDS if isinstance(r.outcome, Failed)]
    assert sum(f"{r.variant.id} failed to" in out for r in failed) == 2
    assert f"{len(failed)} variants, of which 2 are shown: `--limit 0` shows all" in out


def test_json_is_of_the_same_variants(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", run, "--json"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(RECORDS)
    assert main(["show", run, "--json", "--status", "failed", "--sort", "id"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [f["id"] for f in found] == sorted(f["id"] for f in found)
    assert {f["status"] for f in found} == {"failed"}


def test_a_filter_that_leaves_nothing_and_a_wrong_one_are_told(
    run: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", run, "--where", "tile=12345"]) == 1
    out, err = capsys.readouterr()
    assert (out, err) == ("", f"none of {len(RECORDS)} variants is as asked for\n")
    assert main(["show", run, "--family", "blockd"]) == 1
    assert "no family `blockd`; did you mean `blocked`?" in capsys.readouterr().err
    assert main(["show", run, "--source"]) == 1
    assert "expected the id of a variant" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["show", run, "--where", "v16"])


def test_a_file_called_dash_is_standard_output(
    run: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", run, "--csv", "-"]) == 0
    assert len(list(csv.DictReader(io.StringIO(capsys.readouterr().out)))) == len(RECORDS)
    assert main(["export", run, "--t4", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["results"]
