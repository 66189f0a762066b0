"""Tests of the stages of derivations: stages may be nested to any depth, and do not change a
derivation's steps."""

# key: d derivation

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from ir.core.nodes import Expr
from ir.core.size import named
from ir.instructions.table import TABLE
from ir.parse import parse
from rewrites.__main__ import main
from rewrites.engine.derivation import Derivation
from rewrites.engine.outline_text import Told, headings, outline_text, shown, told
from rewrites.engine.refused import Refused
from rewrites.engine.rule import Step, Strategy
from rewrites.engine.skeleton import skeleton
from rewrites.engine.stages import depths, stage
from rewrites.engine.strategy import at, attempt, everywhere, repeat, seq
from rewrites.families.all_families import FAMILIES, first, forms
from rewrites.laws.maps import fuse_maps, split_map
from rewrites.nest.named_nest import standing
from rewrites.tuning.family import Form
from rewrites.tuning.lower import lower
from rewrites.tuning.stored_forms import IM2COL, IM2WIN
from tests.rewrites.test_derivations import CONV, MATMUL, lowered

PLUS = parse("p(xs : [float]6) = map(x -> x + 1.0, map(x -> x * 2.0, map(x -> -x, xs)))").body
SPLIT = split_map(k=named("k"))


def done(strategy: Strategy, e: Expr = PLUS) -> tuple[Step, ...]:
    """The steps by which a strategy rewrites e, after asserting that replaying them gives the
    strategy's result."""
    made = strategy(e)
    assert made is not None
    assert Derivation(e, made[1]).replay() == made[0]
    return made[1]


def outline(steps: Sequence[Step]) -> list[tuple[int, str, int, int]]:
    """For each stage of these steps: its depth, its name, the number of its first step, and the
    number of the step after its last."""
    stages = [(n, s) for n, step in enumerate(steps) for s in step.stages]
    spans = [(n, n + s.steps) for n, s in stages]
    return [
        (k, s.name, *span) for k, (_, s), span in zip(depths(spans), stages, spans, strict=True)
    ]


def test_steps_of_a_strategy_are_told_by_its_name_and_stages_lie_inside_stages() -> None:
    inner = stage("second", seq(stage("inner", fuse_maps()), stage("innermost", SPLIT)))
    steps = done(stage("all", seq(stage("first", fuse_maps()), inner)))
    assert outline(steps) == [
        (0, "all", 0, 3),
        (1, "first", 0, 1),
        (1, "second", 1, 3),
        (2, "inner", 1, 2),
        (2, "innermost", 2, 3),
    ]


def test_stages_do_not_change_the_steps() -> None:
    plain = done(seq(fuse_maps(), SPLIT))
    steps = done(stage("a", seq(stage("b", fuse_maps()), SPLIT)))
    assert tuple(replace(step, stages=()) for step in steps) == plain


def test_what_does_nothing_is_no_stage_and_what_fails_fails() -> None:
    assert done(stage("nothing", attempt(split_map(k=5)))) == ()
    assert stage("fails", split_map(k=5))(PLUS) is None


def test_a_stage_that_is_met_again_is_told_again_in_its_place() -> None:
    twice = repeat(stage("one more", fuse_maps()))
    assert outline(done(twice)) == [(0, "one more", 0, 1), (0, "one more", 1, 2)]
    steps = done(everywhere(stage("split", split_map(k=3))))
    assert [steps[first].place for _, _, first, _ in outline(steps)] == [(1, 1), (1,), ()]


def test_a_stage_is_told_with_what_stood_there_before_and_after() -> None:
    d = Derivation(PLUS, done(at((1,), stage("chunks", SPLIT))))
    assert told(d) == (Told("chunks", 0, 1, "map 6  .  map 6", "map 6 / k > map k  .  map 6"),)
    assert list(outline_text(told(d))) == [
        "  1. chunks   (1 law)",
        "       map 6  .  map 6",
        "     = map 6 / k > map k  .  map 6",
    ]


def test_a_skeleton_is_maps_and_sums_with_their_lengths() -> None:
    product = parse(MATMUL).body
    assert skeleton(product) == "map 8 > map 8 > reduce 8"
    assert skeleton(parse("p(xs : [float]6) = split(2, xs)").body) == ""


def stages(*spans: tuple[int, int]) -> list[Told]:
    return [Told(f"{first} to {end}", first, end, "", "") for first, end in spans]


def test_stages_inside_others_are_shown_as_far_as_there_is_room() -> None:
    found = stages((0, 6), (0, 2), (2, 6), (3, 4), (6, 9))
    assert [depth for depth, _ in shown(found)] == [0, 1, 1, 2, 0]
    assert [len(shown(found, lines)) for lines in (1, 2, 3, 4, 5)] == [2, 2, 2, 4, 5]
    assert list(headings(found, 2)) == ["  1. 0 to 6   (6 laws)", "  2. 6 to 9   (3 laws)"]


def in_stages(d: Derivation) -> set[int]:
    return {n for s in told(d) for n in range(s.first, s.end)}


@pytest.mark.parametrize("family", FAMILIES)
def test_the_story_of_a_family_is_some_ten_lines(family: str) -> None:
    for text in (CONV, MATMUL):
        try:
            d = first(parse(text), family).derivation
        except Refused:
            continue
        assert 10 * len(in_stages(d)) >= 9 * len(d.steps), "most laws are in stages"
        lines = len(shown(told(d)))
        assert lines <= 16, "an outline fits on a screen"
        assert len(d.steps) <= 40 * lines, "a line of it stands for 40 laws at most"


FLAT = """f(const weights : [[float]3]8, xs : [float]30) =
  map(w -> map(x -> reduce(0.0, (acc, (a, b)) -> acc + a * b, zip(x, w)),
    slide(3, 1, pad(1, 1, 0.0, xs))), weights)"""
FORMS = 8  # of a family that are drawn for a program
NAMED = {*TABLE, IM2COL.word, IM2WIN.word}  # instructions and layouts that have digits in names


def numbers(stage_name: str, tile: int | None = None) -> list[str]:
    """The words with digits in a stage's name, without names of instructions and layouts, and
    without the number `tile` where the name says how many results a side a tile has."""
    words = stage_name.replace(f"{tile} results a side", "")
    return [word for word in re.findall(r"\w*\d\w*", words) if word not in NAMED]


def drawn(family: str) -> Iterator[tuple[str, Form]]:
    """Pairs of a program's text and a form, drawn at random from those that a family has for the
    program; a few forms for each of three programs."""
    for text in (CONV, MATMUL, FLAT):
        found = forms(parse(text), family)
        yield from ((text, form) for form in Random().sample(found, min(FORMS, len(found))))


@pytest.mark.parametrize("family", FAMILIES)
def test_no_size_is_told_by_its_number(family: str) -> None:
    for text, form in drawn(family):
        try:
            d = lower(parse(text), form).derivation
        except Refused:
            continue
        told_by_number = [s.name for s in told(d) if numbers(s.name, form.tile)]
        assert told_by_number == [], f"in form {form.name}"


def test_a_number_in_the_name_of_a_stage_is_seen() -> None:
    steps = done(standing("columns").tile("columns", 7, "column tiles", "columns"))
    name = outline(steps)[0][1]
    assert (name, numbers(name)) == ("tile 7 columns", ["7"])
    assert numbers("the sum in chunks of 8 * k") == ["8"]
    assert numbers("tile ceil(55, num_blocks) others") == ["55"]
    assert numbers("fewer products: 4 results a side", tile=4) == []
    assert numbers("fewer products: 4 results a side", tile=2) == ["4"]
    assert numbers("tile 4 columns", tile=4) == ["4"]
    assert numbers("sums by mma_tf32") == []


def test_sizes_that_are_no_parameters_are_told_in_words() -> None:
    nest = standing("columns")
    single = nest.split("columns", 1, "tiles", "columns")
    in_words = nest.tile("columns", 7, "tiles", "columns", told_as="a share of")
    names = [outline(done(s))[0][1] for s in (single, in_words)]
    assert names == ["split columns one by one", "tile a share of columns"]


def test_a_family_is_told_in_the_words_of_its_strategies() -> None:
    names = [s.name for s in told(lowered(MATMUL, "registers").derivation)]
    expected = ["rows in vectors of v", "tile tx columns", "a block in registers"]
    assert [name for name in names if name in expected] == expected


# ---- the command


@pytest.fixture
def matmul(tmp_path: Path) -> list[str]:
    file = tmp_path / "matmul.lift"
    file.write_text(MATMUL)
    return [str(file), "--family", "registers"]


def test_the_command_outlines_and_opens(
    matmul: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(matmul) == 0
    outlined = capsys.readouterr().out
    assert "   tile tx columns   (2 laws)\n" in outlined
    assert "map f  =  join" not in outlined
    assert main([*matmul, "--laws"]) == 0
    laws = capsys.readouterr().out
    assert "## tile tx columns\n" in laws
    assert laws.count("  =  ") >= 42
    assert main([*matmul, "--stage", "split tr rows"]) == 0
    opened = capsys.readouterr().out
    assert opened.count("\n\n") == 4
    assert "[k = tr]" in opened


def test_a_stage_that_is_not_there_is_a_mistake(
    matmul: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*matmul, "--stage", "split tr row"]) == 1
    assert "no stage `split tr row`; did you mean `split tr rows`?" in capsys.readouterr().err
    assert main([*matmul, "--stage", "everything"]) == 1
    assert "no stage `everything`; expected one of a block of results" in capsys.readouterr().err
