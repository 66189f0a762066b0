"""Are mutants one change each that parses, and does a run of them tell who notices?"""

import ast
from pathlib import Path

import pytest

from benchmarks.mutants import CoveringTests, Outcome, outcome, table
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
def copy(tmp_path: Path) -> Path:
    (tmp_path / "sums.py").write_text("def double(x):\n    y = 3\n    return x + x\n")
    (tmp_path / "test_sums.py").write_text(
        "from sums import double\n\n\ndef test_two():\n    assert double(1) == 2\n"
    )
    return tmp_path


def mutant(copy: Path, after: str) -> Mutant:
    found = mutants("sums.py", (copy / "sums.py").read_bytes())
    return next(m for m in found if m.after == after)


TEST = "test_sums.py::test_two"
TESTS = CoveringTests({"sums.py": {2: [TEST], 3: [TEST]}}, {TEST: 0.1})


def test_a_mutant_that_a_test_notices_is_killed_and_the_file_restored(copy: Path) -> None:
    before = (copy / "sums.py").read_text()
    killed = outcome(copy, "sums", mutant(copy, "(x - x)"), TESTS, 1.0)
    survived = outcome(copy, "sums", mutant(copy, "4"), TESTS, 1.0)
    assert (killed.answer, survived.answer) == ("killed", "survived")
    assert (copy / "sums.py").read_text() == before


def test_a_mutant_in_lines_that_no_test_runs_is_uncovered(copy: Path) -> None:
    found = outcome(copy, "sums", mutant(copy, "4"), CoveringTests({}, {}), 1.0)
    assert found.answer == "uncovered"


def test_the_quickest_tests_are_chosen_within_the_budget(copy: Path) -> None:
    tests = CoveringTests(
        {"sums.py": {2: ["slow", "quick", "middle"]}}, {"slow": 9, "quick": 1, "middle": 2}
    )
    m = mutant(copy, "4")
    assert tests.of(m, 0.5) == ["quick"]
    assert tests.of(m, 3.0) == ["quick", "middle"]


def test_a_timeout_counts_as_killed() -> None:
    found = [
        Outcome(str(i), "a", answer, 1, 0.0) for i, answer in enumerate(["timeout", "survived"])
    ]
    assert table(found).splitlines()[-1] == "| all | 2 | 1 | 1 | 0 | 50% |"
