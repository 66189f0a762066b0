"""Tests that the reader warns of a helper function that a program does not use, by its name, and
reads the program nevertheless."""

from pathlib import Path

import pytest

from ir.__main__ import main
from ir.text.unused_helpers import notes_on

USED = """\
twice(x) = x * 2
thrice(x) = x + twice(x)
p(xs : [float]N) = map(thrice, xs)
where N = 4
"""


def told(text: str) -> list[str]:
    return list(notes_on(text, "p.lift"))


def test_helpers_that_are_called_or_called_by_these_are_not_mentioned() -> None:
    assert told(USED) == []


def test_a_helper_that_nobody_calls_is_mentioned_where_it_stands() -> None:
    assert told(f"half_of(x) = x / 2\n{USED}") == [
        "note: p.lift:1:1\n  half_of(x) = x / 2\n  ^^^^^^^\n`half_of` is not used by `p`"
    ]


def test_a_helper_that_only_unused_helpers_call_is_not_used() -> None:
    first, *_ = notes = told("a(x) = x\nb(x) = a(x)\np(xs : [float]3) = map(x -> x + 1.0, xs)")
    assert len(notes) == 2
    assert "`a` is not used" in first


def test_a_name_that_a_parameter_a_lambda_or_a_let_hides_is_no_use() -> None:
    hidden = (
        "p(a : float) = a",
        "p(x : float) = (let a = x\na)",
        "p(xs : [float]3) = map(a -> a, xs)",
    )
    assert [len(told(f"a(x) = x\n{text}")) for text in hidden] == [1, 1, 1]


def test_the_command_prints_the_note_and_the_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "p.lift"
    file.write_text(f"half_of(x) = x / 2\n{USED}")
    assert main([str(file)]) == 0
    said = capsys.readouterr()
    assert said.err.endswith("`half_of` is not used by `p`\n")
    assert said.out.startswith("p(xs : [float]4)")
