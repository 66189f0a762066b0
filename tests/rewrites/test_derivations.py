"""Tests of derivations: they can be replayed, every step keeps the meaning, and their texts are
those of the golden files.

`python -m tests.rewrites.test_derivations` writes tests/golden/*_derivation.txt anew.
"""

# key: d derivation

from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random

import pytest

from ir.core.nodes import Expr, MakeTuple, Map, Pad, Slide, Split, Zip
from ir.core.size import named
from ir.core.terms import subterms
from ir.meaning.inputs import random_inputs
from ir.meaning.interpret import evaluate
from ir.parse import parse
from ir.text.show import show
from rewrites.__main__ import main
from rewrites.engine.derivation import Derivation
from rewrites.engine.derivation_text import brief, one_line, proof
from rewrites.engine.meaning_check import check, inexact, means_the_same
from rewrites.engine.outline_text import outline_text
from rewrites.engine.outline_text import told as stages_told
from rewrites.engine.refused import Refused
from rewrites.engine.rule import Rewritten, Step, Unsound, apply_rule, rule
from rewrites.engine.small_sizes import cut, cuts, small_values
from rewrites.engine.strategy import (
    at,
    attempt,
    child,
    choice,
    everywhere,
    exhaust,
    outermost,
    repeat,
    seq,
    skip,
)
from rewrites.families.all_families import first, forms
from rewrites.laws.maps import fuse_maps, split_map
from rewrites.tuning.lower import lower
from rewrites.tuning.lowering import Lowering
from tests.support.families import ALONE, LOWERING

MATMUL = """
matmul(a : [[float]K]M, b : [[float]N]K) =
  map(row -> map(column -> dot(row, column), transpose(b)), a)
where M = 8, N = 8, K = 8
"""
CONV = """
conv(const weights : [[[[float]C]K]K]M, const biases : [float]M, image : [[[float]C]W]H) =
  map2d(window -> map((kernel, bias) ->
      relu(reduce(bias, (acc, (x, w)) -> acc + x * w, zip(flatten(window), flatten(kernel)))),
      zip(weights, biases)),
    slide2d(K, 1, pad2d(1, 0.0, image)))
where C = 2, M = 4, H = 4, W = 5, K = 3
"""
PRODUCTS = (*LOWERING, "strassen")
CONVOLVING = tuple(f for f in ALONE if f not in ("strassen", "matrix"))
GOLDEN = Path(__file__).parents[1] / "golden"


@cache
def lowered(text: str, family: str) -> Lowering:
    return first(parse(text), family)


@pytest.mark.parametrize(
    ("text", "family"),
    [*((MATMUL, f) for f in PRODUCTS), *((CONV, f) for f in CONVOLVING)],
    ids=[*(f"matmul {f}" for f in PRODUCTS), *(f"conv {f}" for f in CONVOLVING)],
)
def test_every_step_replays_and_means_the_same(text: str, family: str) -> None:
    d = lowered(text, family).derivation
    assert d.replay() == d.end == lowered(text, family).program.body
    terms = list(d.terms())
    assert terms[-1] == d.end
    values = small_values(terms, Random(1))
    assert values is not None
    assert check(parse(text), d, values).wrong is None


@pytest.mark.parametrize("family", LOWERING)
def test_every_form_replays(family: str) -> None:
    p = parse(CONV)
    for form in forms(p, family)[::24]:
        with suppress(Refused):
            d = lower(p, form).derivation
            assert d.replay() == d.end


TOLD = [(MATMUL, "blocked"), (CONV, "lift"), (CONV, "winograd")]


def told(text: str, family: str) -> str:
    """The text of the derivation of a program (`text`) by a family: an outline in stages, and then
    its laws."""
    d = lowered(text, family).derivation
    return "\n".join([*outline_text(stages_told(d)), "", *proof(d)]) + "\n"


@pytest.mark.parametrize(("text", "family"), TOLD, ids=[family for _, family in TOLD])
def test_a_family_is_derived_law_by_law(text: str, family: str) -> None:
    """The text of the derivation by each family is that of its golden file: `blocked` from a plain
    matrix product, `lift` from Listing 3 of LIFT's paper to its Listing 4, `winograd` from a
    convolution."""
    golden = GOLDEN / f"{family}_derivation.txt"
    assert told(text, family) == golden.read_text(encoding="utf-8")


def test_the_golden_derivation_uses_the_laws_that_make_blocks() -> None:
    laws = [step.rule.rewrite.__name__ for step in lowered(MATMUL, "blocked").derivation.steps]
    expected = [
        "vectorize_map",
        "split_map",
        "interchange_rows",
        "split_reduce",
        "interchange_map_reduce",
        "share",
        "to_local",
        "to_private",
        "to_reduce_seq",
    ]
    places = [laws.index(law) for law in expected]
    assert places == sorted(places)


def test_a_tile_of_the_lift_paper_is_a_window_of_the_padded_image() -> None:
    """The derivation of `lift` first tiles slides, then makes sums in parts, then adds lets, of
    which there are two, then puts arrays in private and in local memory. Tiles are windows of the
    padded image."""
    made = lowered(CONV, "lift")
    laws = [step.rule.rewrite.__name__ for step in made.derivation.steps]
    expected = ["split_slide", "slide_slide", "partial_reduce_vector", "interchange_map_reduce"]
    places = [laws.index(law) for law in [*expected, "share", "to_private", "to_local"]]
    assert places == sorted(places)
    assert laws.count("split_slide") == 2
    assert laws.count("share") == 2
    tiles = {s.size: s for s in subterms(made.program.body) if isinstance(s, Slide) and s.strict}
    theta, image = named("theta_y"), tiles[named("theta_y")].xs
    assert tiles[theta].step == theta - 2
    assert isinstance(image, Pad)
    assert image.right == named("rho_y") + 1


def test_a_forged_step_does_not_replay() -> None:
    d = lowered(MATMUL, "naive").derivation
    forged = Step(d.steps[0].rule, d.steps[0].arguments, d.steps[0].place, d.start)
    with pytest.raises(Unsound, match="does not replay at: map f"):
        Derivation(d.start, (forged, *d.steps[1:])).replay()


def test_a_wrong_step_is_found() -> None:
    p = parse("p(xs : [float]4) = map(x -> x + 1.0, xs)")
    other = parse("p(xs : [float]4) = map(x -> x + 2.0, xs)").body
    wrong = Derivation(p.body, (Step(fuse_maps, (), (), other),))
    with pytest.raises(Unsound):
        check(p, wrong, {})


def test_a_proof_names_law_arguments_and_place() -> None:
    e = parse("p(xs : [[float]6]2) = map(row -> map(x -> x + 1.0, row), xs)").body
    done = at((0, 0), split_map(k=named("k")))(e)
    assert done is not None
    d = Derivation(e, done[1])
    assert list(proof(d))[2:] == [
        "  1. map f  =  join . map (map f) . split k   [k = k]",
        "     in map",
        "     join(map(xs -> map(x -> x + 1.0, xs), split(k, row)))",
    ]


def test_long_terms_are_abbreviated() -> None:
    e = parse(CONV).body
    assert len(brief(e)) <= 96
    assert brief(e).count("…") > 0
    assert one_line("let x = y\nlet z =\n    w\nf(x,\n  z)") == "let x = y; let z = w; f(x, z)"


# ---- strategies

PLUS = parse("p(xs : [float]6) = map(x -> x + 1.0, map(x -> x * 2.0, map(x -> -x, xs)))").body


def test_seq_needs_all_of_its_parts() -> None:
    assert seq(fuse_maps(), fuse_maps())(PLUS) is not None
    assert seq(fuse_maps(), fuse_maps(), fuse_maps())(PLUS) is None


def test_a_rule_is_asked_only_at_the_nodes_that_it_looks_at() -> None:
    asked: list[Expr] = []

    def rewrite(e: Map | Zip) -> Expr | None:
        asked.append(e)
        return None

    search = exhaust(choice(rule("nothing  =  nothing")(rewrite)()))
    assert search(PLUS) == (PLUS, ())
    assert {type(e) for e in asked} == {Map}
    found = len(asked)
    assert search(PLUS) == (PLUS, ())
    assert len(asked) == found, "where nothing was found is not searched again"


def test_choice_takes_the_first_that_applies_and_attempt_never_fails() -> None:
    assert choice(split_map(k=5), fuse_maps())(PLUS) == fuse_maps()(PLUS)
    assert attempt(split_map(k=5))(PLUS) == skip(PLUS) == (PLUS, ())


def test_repeat_goes_on_until_nothing_applies() -> None:
    done = repeat(outermost(fuse_maps()))(PLUS)
    assert done is not None
    assert [step.place for step in done[1]] == [(), ()]
    assert show(done[0]) == "map(x -> -x * 2.0 + 1.0, xs)"


def test_repeat_does_not_do_again_what_changes_nothing() -> None:
    calls: list[Expr] = []

    def nothing(e: Expr) -> Rewritten:
        calls.append(e)
        return skip(e)

    assert repeat(nothing)(PLUS) == skip(PLUS)
    assert len(calls) == 1


def test_everywhere_works_inside_out_and_places_are_recorded() -> None:
    done = everywhere(split_map(k=3))(PLUS)
    assert done is not None
    assert [step.place for step in done[1]] == [(1, 1), (1,), ()]
    assert Derivation(PLUS, done[1]).replay() == done[0]


def test_child_fails_where_there_is_none() -> None:
    assert child(7, skip)(PLUS) is None
    assert child(1, fuse_maps())(PLUS) is not None
    assert isinstance(PLUS, Map)
    assert apply_rule(fuse_maps, {}, PLUS.xs) is not None


# ---- the command


@pytest.fixture
def matmul(tmp_path: Path) -> str:
    file = tmp_path / "matmul.lift"
    file.write_text(MATMUL)
    return str(file)


def test_the_command_prints_and_checks(matmul: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([matmul, "--family", "registers", "--set", "M=6", "--check"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("matmul by registers: 42 steps\n")
    assert "where k = ?, tr = ?, tx = ?, v = ?" in out
    assert "checked at M = 6, N = 4, K = 4 with " in out


def test_the_command_lists_forms(matmul: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([matmul, "--list", "--family", "naive"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "naive"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--family", "blokked"], "no family `blokked`; did you mean `blocked`?"),
        (["--family", "registers", "--form", "tal"], "did you mean `tall`?"),
        ([], "found neither"),
        (["--family", "naive", "--set", "Q=1"], "no size `Q`"),
    ],
)
def test_the_commands_mistakes(
    matmul: str, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([matmul, *arguments]) == 1
    assert message in capsys.readouterr().err


def test_the_command_says_why_a_family_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "dot.lift"
    file.write_text("dotted(xs : [float]8, ys : [float]8) = dot(xs, ys)")
    assert main([str(file), "--family", "registers"]) == 1
    assert (
        "registers refuses dotted: expected maps around the sum, found one result, a sum inside "
        "no map: see the forms that store parts" in capsys.readouterr().err
    )


CHECKED = [
    ("blur", "naive", ""),
    ("conv1d", "lift", "vectors unrolled"),
    ("conv1x1", "blocked", ""),
    ("depthwise", "registers", "flipped"),
    ("fully_connected", "registers", "relaid"),
    ("matmul", "strassen", "once registers"),
    ("batched", "toeplitz", "registers"),
    ("maxpool", "registers", ""),
]


@pytest.mark.parametrize(("example", "family", "form"), CHECKED)
def test_a_derivation_of_an_example_is_checked_law_by_law(
    example: str, family: str, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(GOLDEN.parents[1] / "examples" / f"{example}.lift")
    assert main([file, "--family", family, "--form", form, "--check"]) == 0
    assert "steps mean the same" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("example", "sizes", "steps"),
    [
        ("alexnet", {}, 103),
        ("alexnet", {"K": 5, "S": 2, "W": 9}, 103),
        ("alexnet", {"K": 11, "S": 4, "W": 19}, 103),
        ("resnet", {"K": 7, "W": 13}, 104),
    ],
)
def test_windows_that_step_are_checked_in_the_steps_that_are_printed(
    example: str, sizes: dict[str, int], steps: int, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(GOLDEN.parents[1] / "examples" / f"{example}.lift")
    given = [word for name, n in sizes.items() for word in ("--set", f"{name}={n}")]
    assert main([file, "--family", "lift", "--check", *given]) == 0
    out = capsys.readouterr().out
    assert f": {steps} steps\n" in out
    assert f"the terms after all {steps} steps mean the same" in out


FRACTIONS = {
    "divided": "sum(map(x -> x / 9.0, xs))",
    "scaled": "reduce(0.0, (acc, x) -> acc + 0.1 * x, xs)",
    "by root": "sum(map(x -> sqrt(abs(x)), xs))",
}


@pytest.mark.parametrize("body", FRACTIONS.values(), ids=FRACTIONS)
def test_sums_of_fractions_may_change_with_their_order_and_by_no_more(body: str) -> None:
    p = parse(f"p(xs : [float]64) = {body}")
    turned = parse(f"p(xs : [float]64) = {body.replace('xs', 'reorder(i -> 63 - i, xs)')}").body
    other = parse(f"p(xs : [float]64) = {body} + 0.000001").body
    assert means_the_same(p, turned, {}, 1)
    assert not means_the_same(p, other, {}, 1)


@pytest.mark.parametrize("body", ["sum(map(x -> 2.0 * x, xs))", "sum(map(x -> abs(x), xs))"])
def test_whole_numbers_are_compared_to_the_last_bit(body: str) -> None:
    p = parse(f"p(xs : [float]64) = {body}")
    assert inexact(p, evaluate(p, random_inputs(p, 1))) == 0.0
    assert not means_the_same(p, parse(f"p(xs : [float]64) = {body} + 1.0e-13").body, {}, 1)


def test_products_beyond_what_doubles_hold_are_not_whole() -> None:
    p = parse("p(xs : [float]4) = map(x -> x * x * x * x * x * x * x * x * 1.0e38, xs)")
    assert inexact(p, evaluate(p, random_inputs(p, 1))) > 0.0


def test_values_are_found_where_one_point_in_many_serves() -> None:
    """Small values of the parameters a and b are found for which a · b divides 49, and for which a
    + b - 7 divides 143."""
    e = parse("p(xs : [float]49, ys : [float]143) = (xs, ys)").body
    assert isinstance(e, MakeTuple)
    a, b = named("a"), named("b")
    term = MakeTuple((Split(a, Split(b, e.parts[0])), Split(a + b - 7, e.parts[1])))
    for seed in range(5):
        found = small_values([term], Random(seed))
        assert found is not None
        assert 49 % (found["a"] * found["b"]) == 0
        assert 143 % (found["a"] + found["b"] - 7) == 0


def test_sizes_that_are_cut_down_leave_the_same_remainders() -> None:
    assert [cut(n, 4) for n in (3, 7, 8, 35, 227)] == [3, 7, 4, 7, 7]
    assert [dict(c) for c in cuts({"C": 3, "W": 19})] == [{"C": 3, "W": n} for n in (7, 11)]


if __name__ == "__main__":
    for text, family in TOLD:
        (GOLDEN / f"{family}_derivation.txt").write_text(told(text, family), encoding="utf-8")
