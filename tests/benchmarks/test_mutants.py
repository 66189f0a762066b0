"""Tests of the mutation benchmark: each mutant differs from a file by one change and parses, and a
run tells which mutants the tests notice."""

import ast
import gc
import importlib
import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from benchmarks.mutant_trials import tried
from benchmarks.mutants import AREAS, Outcome, covering, stored, table
from benchmarks.mutators import Mutant, mutants

TOP = Path(__file__).parents[2]
SOURCE = b'''"""Words."""
LIMIT = 3


@rule("x < y")
def clamp(x: int, low: int = 0) -> int | None:
    """x < low"""
    if x < low and x != 5:
        return None
    match x:
        case 7 if low > 1:
            return max(x, low)
    return x + 1
'''


def changes(source: bytes) -> set[tuple[str, str]]:
    return {(m.before, m.after) for m in mutants("clamp.py", source)}


def test_every_operator_and_guard_of_a_function_is_changed() -> None:
    assert changes(SOURCE) == {
        ("x < low and x != 5", "(x < low or x != 5)"),
        ("x < low and x != 5", "not (x < low and x != 5)"),
        ("x < low", "(x <= low)"),
        ("x != 5", "(x == 5)"),
        ("5", "6"),
        ("low > 1", "(low >= 1)"),
        ("low > 1", "True"),
        ("1", "2"),
        ("max(x, low)", "None"),
        ("max(x, low)", "min(x, low)"),
        ("x + 1", "None"),
        ("x + 1", "(x - 1)"),
    }


@pytest.mark.parametrize("area", ["rewrites/laws", "codegen/index", "codegen/proof"])
def test_mutants_of_an_area_parse_and_differ(area: str) -> None:
    for file in sorted((TOP / area).glob("*.py")):
        source, whole = file.read_bytes(), ast.dump(ast.parse(file.read_bytes()))
        for m in mutants(file.name, source)[::25]:
            assert source[m.start : m.end].decode() == m.before
            assert ast.dump(ast.parse(m.applied(source))) != whole, m.name


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a module, which is imported in the test, and a test file for it."""
    (tmp_path / "sums_of_two.py").write_text(
        "def double(x):\n    y = 3\n    while y > 0:\n        y = y - 1\n    return x + x\n"
    )
    (tmp_path / "test_sums_of_two.py").write_text(
        "from sums_of_two import double\n\n\ndef test_two():\n    assert double(1) == 2\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "sums_of_two", raising=False)
    importlib.import_module("sums_of_two")
    return tmp_path


def mutant(top: Path, after: str) -> Mutant:
    found = mutants("sums_of_two.py", (top / "sums_of_two.py").read_bytes())
    return next(m for m in found if m.after == after)


def fails() -> bool:
    return bool(sys.modules["sums_of_two"].double(1) != 2)


def test_a_mutant_that_a_test_notices_is_killed(top: Path) -> None:
    assert tried(top, mutant(top, "(x - x)"), fails) == "killed"
    assert tried(top, mutant(top, "4"), fails) == "survived"
    assert not fails()


def test_a_mutant_of_a_module_that_is_not_loaded_is_an_error(top: Path) -> None:
    m = mutant(top, "4")
    del sys.modules["sums_of_two"]
    gc.collect()
    with pytest.raises(RuntimeError, match=r"double of sums_of_two\.py"):
        tried(top, m, fails)


TRIALS = """
import sys
from pathlib import Path
import pytest
from benchmarks.mutant_trials import Trials
from benchmarks.mutators import mutants

every = mutants("sums_of_two.py", Path("sums_of_two.py").read_bytes())
wanted = [m for m in every if m.after in ("(x - x)", "4", "(y + 1)")]
say = lambda m, answer, seconds: print(m.after, answer)
trials = Trials(Path.cwd(), wanted, lambda m, names: names, say, least_s=1)
pytest.main(["-q", "-s", "test_sums_of_two.py"], plugins=[trials])
"""


def ran(top: Path) -> "subprocess.CompletedProcess[str]":
    path = os.pathsep.join([str(top), str(TOP)])
    command = [sys.executable, "-c", TRIALS]
    return subprocess.run(
        command, cwd=top, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )


def test_what_has_no_end_is_stopped_by_its_limit(top: Path) -> None:
    answers = {line for line in ran(top).stdout.splitlines() if line.startswith(("(", "4"))}
    assert answers == {"(x - x) killed", "4 survived", "(y + 1) timeout"}


def test_tests_that_fail_without_a_mutant_are_refused(top: Path) -> None:
    test = top / "test_sums_of_two.py"
    test.write_text(test.read_text().replace("== 2", "== 3"))
    assert "expected tests that pass without a mutant" in ran(top).stdout


def mutants_of(file: str) -> dict[str, Mutant]:
    """A mutant of each function in a file of this repository, by the function's name."""
    return {m.function: m for m in mutants(file, (TOP / file).read_bytes())}


def test_a_law_is_run_by_its_own_tests_and_what_laws_use_by_those_of_the_file() -> None:
    (file, *_), others = AREAS["rewrites/laws"], AREAS["codegen/index"]
    laws = [f"{file}::test[{law}]" for law in ("fuse_maps", "round_map", "round_fold")]
    names = [*laws, *(f"{file}::test" for file in others)]
    of = mutants_of("rewrites/laws/maps.py")
    assert covering("rewrites/laws", of["round_map"], names) == laws[1:2]
    assert covering("rewrites/laws", of["compose"], names) == laws[:2]
    for m in mutants_of("codegen/index/division.py").values():
        assert covering("codegen/index", m, names) == names[3:]


def test_outcomes_of_a_stopped_run_are_read_again(tmp_path: Path) -> None:
    file = tmp_path / "mutants.jsonl"
    found = Outcome("a.py:1:0 f: x  ->  y", "a", "killed", 1.5)
    file.write_text(json.dumps(asdict(found)) + "\n")
    assert stored(file) == {found.name: found}
    assert stored(tmp_path / "none.jsonl") == {}


def test_a_timeout_counts_as_killed() -> None:
    found = [Outcome(answer, "a", answer, 0.0) for answer in ("timeout", "survived")]
    assert table(found).splitlines()[-1] == "| all | 2 | 1 | 1 | 50% |"
