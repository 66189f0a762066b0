"""Tests of `benchmarks.points`: it counts every point, and goes on where it was stopped when it is
started again."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
SMALL = ("--profile", "cpu", "--families", "naive,io-optimal", "--count", "5", "small", "product")


def sweep(out: Path, *options: str) -> str:
    python = [sys.executable, "-m", "benchmarks.points"]
    command = [*python, "--jobs", "1", "--out", str(out), *options, *SMALL]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def points_in(lines: list[str]) -> list[str]:
    return sorted(json.dumps(json.loads(line)["point"]) for line in lines)


def test_every_point_is_in_the_file_once_and_is_not_tried_again(tmp_path: Path) -> None:
    out = tmp_path / "points.jsonl"
    said = sweep(out)
    assert "| small | io-optimal | 5 | 5 | 5 |  |" in said
    assert "does not apply: expected a view that this form stores, found no padding" in said
    lines = out.read_text().splitlines()
    small = [found for line in lines if (found := json.loads(line))["layer"] == "small"]
    assert Counter(found["family"] for found in small) == {"naive": 1, "io-optimal": 5}
    out.write_text("\n".join(lines[:-2]) + "\n")
    assert "| small | io-optimal | 5 | 5 | 5 |  |" in sweep(out)
    assert points_in(out.read_text().splitlines()) == points_in(lines)


def test_what_there_is_no_time_for_is_counted(tmp_path: Path) -> None:
    assert "12 forms were not derived" in sweep(tmp_path / "points.jsonl", "--time-limit", "0s")
