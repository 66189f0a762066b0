"""Tests of the forms of the family `matrix` by instructions that read columns from local memory
themselves: right, proved, without bank conflicts."""

import sys
from collections.abc import Iterator

import numpy as np
import pytest

from codegen.compile import generate
from codegen.proof.prove import prove
from codegen.runtime.session import Session
from codegen.text_proof.prove_text import prove_texts
from constraints.devices import profile
from explore.building.bank_conflicts import bank_conflicts
from explore.space.derive_form import points
from explore.space.lowering import bound
from ir import Program, parse
from ir.command import DEEPEST
from ir.instructions.table import MATRIX
from ir.meaning.inputs import random_inputs
from ir.meaning.interpret import evaluate
from rewrites.engine.refused import Refused
from rewrites.families.all_families import form_named, forms
from rewrites.tuning.lower import lower
from tests.rewrites.test_matrix_both_staged import product

H200 = profile("h200")
INSTRUCTIONS = {"float": "wgmma-tf32", "bfloat": "wgmma-bf16", "half": "wgmma-f16"}
PADDED = """
conv(const weights : [[[[float]32]3]3]64, const biases : [float]64, image : [[[float]32]W]H) =
  let windows = slide2d(3, 1, pad2d(1, 0.0, image))
  map2d(window -> map((kernel, bias) -> relu(reduce(bias, (acc, (x, w)) -> acc + x * w,
    zip(flatten(window), flatten(kernel)))), zip(weights, biases)), windows)
where W = 16, H = 8
"""


@pytest.fixture(autouse=True)
def as_deep_as_in_commands() -> Iterator[None]:
    """Terms may be as deep as where commands run: six products of parts, each with its views."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(DEEPEST, before))
    yield
    sys.setrecursionlimit(before)


def session_right(session: Session, p: Program, words: str, **point: int) -> None:
    """Assert that a form of p, at a point, is proved and comes out exactly on whole numbers."""
    (form,) = (f for f in forms(p, "matrix") if {*f.words} == {*words.split()})
    low = lower(p, form)
    assert low.derivation.replay() == low.derivation.end
    generated = generate(bound(low.program, point), max_work_group=1024)
    assert all(prove(kernel).ok for kernel in generated.kernels)
    assert all(proof.ok for proof in prove_texts(generated.plan))
    assert bank_conflicts(generated) == 0
    inputs = random_inputs(p, 1, integers=True)
    out = session.build(generated.plan, checking=True)(inputs)
    assert np.array_equal(np.asarray(out), np.asarray(evaluate(p, inputs)))


@pytest.mark.parametrize("t", INSTRUCTIONS)
@pytest.mark.parametrize("more", ["", "ahead in-flight", "two-ahead in-flight"])
def test_products_are_right(session: Session, t: str, more: str) -> None:
    p = product(t, 72, 40, 96, turned="b")
    words = f"{INSTRUCTIONS[t]} patch both {more}"
    session_right(session, p, words, tr=1, sr=2, sc=1, tx=32, k=1)


@pytest.mark.parametrize("turned", ["", "a", "ab"])
@pytest.mark.parametrize("t", ["bfloat", "half"])
def test_products_are_right_wherever_operands_lie(session: Session, t: str, turned: str) -> None:
    p = product(t, 72, 40, 96, turned=turned)
    across = "" if "b" in turned else "-across"
    words = f"{INSTRUCTIONS[t]}{across} patch both ahead in-flight"
    session_right(session, p, words, tr=1, sr=1, sc=1, tx=64, k=1)


def test_a_group_has_several_groups_of_lanes_and_these_several_tiles(session: Session) -> None:
    p = product("bfloat", 256, 128, 64, turned="b")
    session_right(session, p, "wgmma-bf16 patch both", tr=2, sr=2, sc=2, tx=128, k=2)


@pytest.mark.parametrize(
    ("words", "point"),
    [
        ("wgmma-tf32 patch relaid", {"tx": 4, "ty": 8, "k": 2}),
        ("wgmma-tf32 patch relaid ahead", {"tx": 1, "ty": 32, "k": 1}),
        ("wgmma-bf16 patch relaid ahead parts", {"tx": 8, "ty": 8, "k": 1}),
        ("wgmma-bf16 patch relaid parts running", {"tx": 4, "ty": 8, "k": 1}),
        ("wgmma-bf16 patch relaid three-parts running", {"tx": 4, "ty": 8, "k": 1}),
        ("wgmma-f16 patch relaid parts", {"tx": 4, "ty": 8, "k": 1}),
    ],
)
def test_convolutions_are_right(session: Session, words: str, point: dict[str, int]) -> None:
    session_right(session, parse(PADDED), words, tr=1, sr=1, sc=1, tp=1, rp=0, **point)


def test_a_barrier_stands_before_what_is_loaded_ahead() -> None:
    """Before it, work-items would wait for these loads to order what they wrote."""
    p = parse(PADDED.replace("32]", "64]"))
    (form,) = (f for f in forms(p, "matrix") if f.name == "wgmma-tf32 patch relaid ahead")
    point = {"tr": 1, "sr": 1, "sc": 1, "tx": 4, "ty": 8, "tp": 1, "k": 1, "rp": 0}
    made = generate(bound(lower(p, form).program, point), max_work_group=1024)
    text = made.plan.kernels[-1].text
    turn = text[text.index("for (") :]
    assert turn.index("ORDERED_BARRIER(") < turn.index("next_")


def test_their_points_are_whole_groups_of_lanes() -> None:
    p = parse(PADDED)
    for words in ("wgmma-bf16 patch relaid parts", "wgmma-bf16 patch relaid ahead parts spelled"):
        (form,) = (f for f in forms(p, "matrix") if {*f.words} == {*words.split()})
        low = lower(p, form)
        count, found = points(low, H200, 6, 1)
        assert count
        for point in found:
            made = generate(bound(low.program, point), max_work_group=1024)
            assert all(
                k.local_size[0] == 128 for k in made.plan.kernels if "SUB_GROUP_OF" in k.text
            )


@pytest.mark.parametrize("t", INSTRUCTIONS)
def test_rows_are_columns_where_the_instruction_can_read_them_so(session: Session, t: str) -> None:
    """It reads operands whose steps lie side by side: here the first one, not the second."""
    p = product(t, 72, 40, 96)
    words = f"{INSTRUCTIONS[t]} patch both ahead in-flight"
    session_right(session, p, words, tr=1, sr=1, sc=1, tx=32, k=1)


@pytest.mark.parametrize(("turned", "way"), [("a", ""), ("b", "-across")])
def test_operands_that_both_lie_the_other_way_are_refused_in_words(turned: str, way: str) -> None:
    p = product("bfloat", 128, 128, 64, turned=turned)
    with pytest.raises(Refused, match="side by side in memory for wgmma"):
        lower(p, form_named(p, "matrix", f"wgmma-bf16{way} patch both"))


def test_only_forms_that_stage_columns_have_such_instructions() -> None:
    words = [
        f.words for p in (parse(PADDED), product("float", 64, 64, 64)) for f in forms(p, "matrix")
    ]
    placed = {name.replace("_", "-") for name, entry in MATRIX.items() if entry.placed}
    assert placed > {*INSTRUCTIONS.values()}
    assert all("patch" in w for w in words if placed & {*w})
    assert not any("step-ahead" in w for w in words if placed & {*w})
    across = {name for name in placed if "across" in name}
    assert all("both" in w for w in words if across & {*w})
