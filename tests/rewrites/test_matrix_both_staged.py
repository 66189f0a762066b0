"""Tests of the forms of the family `matrix` whose groups stage both operands of a product as they
lie in memory: right, proved, in vectors, without bank conflicts."""

import re

import numpy as np
import pytest

from codegen.compile import Generated, generate
from codegen.proof.prove import prove
from codegen.runtime.session import Session
from codegen.text_proof.prove_text import prove_texts
from constraints.devices import profile
from explore.building.bank_conflicts import bank_conflicts
from explore.space.derive_form import points
from explore.space.lowering import bound
from ir import Program, parse
from ir.meaning.inputs import random_inputs
from ir.meaning.interpret import evaluate
from rewrites.engine.refused import Refused
from rewrites.families.all_families import form_named, forms
from rewrites.tuning.lower import lower

H200 = profile("h200")
INSTRUCTIONS = {"float": "mma-tf32", "bfloat": "mma-bf16", "half": "mma-f16"}


def product(t: str, m: int, n: int, k: int, *, turned: str = "") -> Program:
    """The product of two matrices of numbers of the type t; `turned` names those that are
    transposed before: a, b, both or none."""
    rows = "transpose(a)" if "a" in turned else "a"
    columns = "b" if "b" in turned else "transpose(b)"
    a = f"[[{t}]{'M' if 'a' in turned else 'K'}]{'K' if 'a' in turned else 'M'}"
    b = f"[[{t}]{'K' if 'b' in turned else 'N'}]{'N' if 'b' in turned else 'K'}"
    wide, result = ("", "") if t == "float" else ("float", t)
    return parse(
        f"product(a : {a}, b : {b}) = map(row -> map(column -> {result}(reduce(0.0, (acc, (x, y)) "
        f"-> acc + {wide}(x) * {wide}(y), zip(row, column))), {columns}), {rows}) "
        f"where M = {m}, N = {n}, K = {k}"
    )


def made(p: Program, words: str, **point: int) -> Generated:
    low = lower(p, form_named(p, "matrix", words))
    return generate(bound(low.program, point), max_work_group=1024)


TURNED = ("", "a", "b", "ab")
STAGED = ("", "ahead", "ahead in-flight", "two-ahead in-flight", "ahead by-rows")


@pytest.mark.parametrize(
    ("t", "turned", "more"),
    [
        ([*INSTRUCTIONS][(i + j) % 3], turned, more)  # every type in each row and column
        for i, turned in enumerate(TURNED)
        for j, more in enumerate(STAGED)
    ],
)
def test_products_are_right_wherever_operands_lie(
    session: Session, t: str, turned: str, more: str
) -> None:
    words = {INSTRUCTIONS[t], "patch", "both", *more.split()}
    are_right(session, product(t, 64, 64, 32, turned=turned), words, seed=len(turned))


@pytest.mark.parametrize(
    "words",
    [
        "mma-f16 narrowed both",
        "mma-bf16 narrowed both two-ahead in-flight",
        "mma-f16 narrowed both ahead in-flight step-ahead by-rows",
        "wgmma-f16-across narrowed both ahead in-flight",
        "wgmma-bf16 narrowed both ahead",
    ],
)
def test_products_of_floats_are_right_as_their_nearest_numbers(
    session: Session, words: str
) -> None:
    m, k = (256, 64) if words.startswith("wgmma") else (64, 32)
    turned = "b" if words.startswith("wgmma-bf16 ") else ""
    p = product("float", m, 64, k, turned=turned)
    are_right(session, p, {"patch", *words.split()}, seed=0)


def are_right(session: Session, p: Program, words: set[str], seed: int) -> None:
    """Assert that points of a form of the family `matrix` are proved, and make of integers what the
    interpreter makes."""
    low = lower(p, next(f for f in forms(p, "matrix") if {*f.words} == words))
    assert low.derivation.replay() == low.derivation.end
    inputs = random_inputs(p, 1, integers=True)
    right = np.asarray(evaluate(p, inputs))
    found = points(low, H200, 1, seed)[1]
    assert found
    for point in found:
        generated = generate(bound(low.program, point), max_work_group=1024)
        assert all(prove(kernel).ok for kernel in generated.kernels)
        assert all(proof.ok for proof in prove_texts(generated.plan))
        out = session.build(generated.plan, checking=True)(inputs)
        assert np.array_equal(np.asarray(out), right), point


def test_what_lies_together_is_copied_by_16_bytes() -> None:
    for t in INSTRUCTIONS:
        p = product(t, 128, 128, 64)
        words = f"{INSTRUCTIONS[t]} patch ahead both in-flight"
        text = made(p, words, tr=2, sr=2, sc=2, tx=64, k=1).plan.kernels[0].text
        assert text.count("COPY_16(") == 4
        assert text.count("COPY_") == 4


def test_results_of_a_lane_that_lie_together_are_stored_together() -> None:
    p = product("float", 128, 128, 64)
    (kernel,) = made(p, "mma-tf32 patch both", tr=2, sr=2, sc=2, tx=64, k=1).plan.kernels
    stores = [line.strip() for line in kernel.text.splitlines() if "out_[" in line]
    assert stores
    assert all(line.startswith("*(__global float2 *)&out_[") for line in stores)


def test_neighbours_copy_neighbours_and_exchange_the_pieces_of_a_line() -> None:
    """Work-items read pieces in the order of memory, and write them as digits of their lines say.
    Long sums are proved like short ones."""
    p = product("bfloat", 128, 128, 8192)
    words = "mma-bf16 patch two-ahead both in-flight by-rows"
    generated = made(p, words, tr=2, sr=2, sc=2, tx=64, k=2)
    assert all(prove(kernel).ok for kernel in generated.kernels)
    assert all(proof.ok for proof in prove_texts(generated.plan))
    text = generated.plan.kernels[0].text
    (source,), (target,) = (
        re.findall(rf"int {x} = (.*);", text) for x in ("a_base", "a_tile_base")
    )
    assert "% 2" not in source
    assert "% 2" in target


def test_staged_chunks_leave_nothing_free() -> None:
    p = product("bfloat", 256, 256, 128)
    words = "mma-bf16 patch two-ahead both in-flight by-rows"
    (facts,) = made(p, words, tr=4, sr=2, sc=2, tx=128, k=2).facts
    assert facts.local_bytes == 3 * (128 + 128) * 32 * 2


@pytest.mark.parametrize("turned", ["", "a", "b", "ab"])
@pytest.mark.parametrize("t", INSTRUCTIONS)
def test_lanes_wait_for_no_bank(t: str, turned: str) -> None:
    p = product(t, 256, 256, 64, turned=turned)
    ways = ("both", "both by-rows", "ahead both in-flight step-ahead by-rows")
    for words in (f"{INSTRUCTIONS[t]} patch {more}" for more in ways):
        for k in (1, 2, 4) if (t, turned) != ("float", "a") or "by-rows" not in words else ():
            assert bank_conflicts(made(p, words, tr=2, sr=2, sc=2, tx=64, k=k)) == 0


def test_windows_are_refused_in_words() -> None:
    p = parse(
        "f(w : [[float]8]16, x : [float]40) = map(i -> map(k -> reduce(0.0, (acc, (a, b)) -> "
        "acc + a * b, zip(i, k)), w), slide(8, 1, x))"
    )
    words = next(f.name for f in forms(p, "matrix") if {"mma-tf32", "both"} <= {*f.words})
    with pytest.raises(Refused, match="expected"):
        lower(p, form_named(p, "matrix", words))
