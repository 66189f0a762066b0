"""Tests of `python -m ir fmt`: the program means the same afterwards, its comments stay, and a tidy
file is left as it is."""

import io
import random
import sys
from pathlib import Path

import pytest

from ir.__main__ import main
from ir.parse import parse
from ir.text.tidy import tidy
from ir.text.tokens import tokenize

TOP = Path(__file__).parents[2]
EXAMPLES = sorted(TOP.glob("examples/*.lift"))

UNTIDY = """--a test


p( xs:[float ]N ,ys : float<4>)=  -- why
 let   a=1.0+2.0*  -3.0   --- of it
\tmap (x->x*a-select(x<=2.0&1,-x , x ) ,xs)


where N=4  , K = 2*3
"""
TIDY = """-- a test

p(xs : [float]N, ys : float<4>) =  -- why
 let a = 1.0 + 2.0 * -3.0   --- of it
    map(x -> x * a - select(x <= 2.0 & 1, -x, x), xs)

where N = 4, K = 2 * 3
"""


def test_spaces_are_set_and_comments_stay() -> None:
    assert tidy(UNTIDY) == TIDY
    assert tidy(TIDY) == TIDY


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda f: str(f.stem))
def test_the_examples_are_tidy(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert tidy(text) == text


@pytest.mark.parametrize("file", EXAMPLES[::3], ids=lambda f: str(f.stem))
def test_programs_with_other_spaces_stay_the_same(file: Path) -> None:
    text, dice = file.read_text(encoding="utf-8"), random.Random()
    mangled, at = "", 0
    for token in tokenize(text, str(file)):
        gap = text[at : token.start_pos]
        more = gap if "\n" in gap else " " * dice.randint(bool(gap), 3)
        mangled, at = mangled + more + str(token), token.end_pos or at
    made = tidy(mangled)
    assert parse(made) == parse(text)
    assert tidy(made) == made
    assert all(line == line.rstrip() for line in made.split("\n"))


def test_files_are_tidied_in_their_place_or_only_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    odd, good = tmp_path / "odd.lift", tmp_path / "good.lift"
    odd.write_text("p(x:float)=x")
    good.write_text("p(x : float) = x\n")
    assert main(["fmt", "--check", str(odd), str(good)]) == 1
    assert capsys.readouterr().out == f"{odd}\n"
    assert main(["fmt", str(odd), str(good)]) == 0
    assert odd.read_text() == good.read_text()
    assert main(["fmt", "--check", str(odd)]) == 0
    monkeypatch.setattr(sys, "stdin", io.StringIO("p(x:float)=x"))
    assert main(["fmt", "-"]) == 0
    assert capsys.readouterr().out.endswith("p(x : float) = x\n")
    odd.write_text("p(x : float = x")
    assert main(["fmt", str(odd)]) == 1
    assert "is never closed" in capsys.readouterr().err
    assert odd.read_text() == "p(x : float = x"
