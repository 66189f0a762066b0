"""Tests of forms `laid` of the family `registers`: of products without constants, the operand that
vectors go over is laid out in every run."""

import numpy as np
import pytest

from codegen.compile import generate
from codegen.plan import Role
from codegen.proof.prove import prove
from codegen.runtime.session import Session
from explore.space.lowering import bound, lowering
from ir.meaning.inputs import random_inputs
from ir.meaning.interpret import evaluate
from ir.parse import parse
from rewrites.families.all_families import forms
from rewrites.tuning.lower import lower

PRODUCT = """
product(a : [[float]K]M, b : [[float]N]K) =
  map(row -> map(column -> dot(row, column), transpose(b)), a)
where M = 9, N = 7, K = 8
"""
CHAIN = """
chain(a : [[float]K]M, b : [[float]N]K, c : [[float]L]N) =
  let ab = map(row -> map(column -> dot(row, column), transpose(b)), a)
  map(row -> map(column -> dot(row, column), transpose(c)), ab)
where M = 5, N = 6, K = 8, L = 7
"""
POINT = {"k": 2, "tr": 2, "tx": 3, "v": 4}


@pytest.mark.parametrize("text", [PRODUCT, CHAIN])
@pytest.mark.parametrize("form", ["laid flipped", "laid items flipped", "laid tall flipped"])
def test_products_whose_operand_is_laid_out_are_right(
    session: Session, text: str, form: str
) -> None:
    program = parse(text)
    point = POINT | ({"ty": 2} if "tall" in form else {})
    generated = generate(bound(lowering(program, "registers", form).program, point))
    assert all(prove(kernel).ok for kernel in generated.kernels)
    inputs = {name: np.asarray(x) for name, x in random_inputs(program, 1).items()}
    found = session.build(generated.plan, checking=True)(inputs)
    assert np.array_equal(found, np.asarray(evaluate(program, inputs)))


def test_the_operand_of_vectors_is_laid_out_in_every_run_and_the_other_is_not() -> None:
    generated = generate(
        bound(lowering(parse(PRODUCT), "registers", "laid flipped").program, POINT)
    )
    first, last = generated.plan.kernels
    assert not first.prepack
    made = {b.name for b in generated.plan.buffers if b.role is Role.TEMPORARY}
    assert len(made) == 1
    assert made < {*last.arguments}
    assert "b" not in last.arguments
    assert "a" in last.arguments


def test_vectors_go_over_the_innermost_dimension_of_results() -> None:
    """A first operand of sums of columns stands for rows there, and results are stored as they
    lie."""
    lines = "map(x -> map(row -> dot(row, x), a), transpose(b))"
    other = PRODUCT.replace("map(row -> map(column -> dot(row, column), transpose(b)), a)", lines)
    for text in (PRODUCT, other):
        program = parse(text, set={"M": 8, "N": 8})
        laid = [form for form in forms(program, "registers") if "laid" in form.words]
        assert laid
        for form in laid:
            point = POINT | ({"ty": 2} if "tall" in form.words else {})
            plan = generate(bound(lower(program, form).program, point)).plan
            assert "*(__global float4 *)&out_" in plan.kernels[-1].source


def test_panels_are_laid_out_row_by_row_in_vectors() -> None:
    """A work-item reads a row of the operand from end to end."""
    first = generate(bound(lowering(parse(PRODUCT), "registers", "laid flipped").program, POINT))
    copy = first.plan.kernels[0]
    assert copy.global_size[0] >= 8  # rows of b
    assert "get_global_id(1)" not in copy.source
    assert "*(__global float4 *)&b_" in copy.source


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("b : [[float]N]K", "const b : [[float]N]K"),  # laid out once, by `relaid`
        ("dot(row, column)", "reduce(0.0, (acc, w) -> acc + dot(w, w), slide(2, 1, row))"),
    ],
)
def test_there_are_none_with_constants_or_windows(before: str, after: str) -> None:
    words = {
        word
        for form in forms(parse(PRODUCT.replace(before, after)), "registers")
        for word in form.words
    }
    assert "laid" not in words
