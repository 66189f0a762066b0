"""Tests of `blocked` with `sliced`, where slices of a work-group make parts of a sum, and add them
in local memory in one kernel."""

# key: c channels, m output channels, p slices

import numpy as np
import pytest

from codegen.compile import Generated, generate
from codegen.memory.local_buffers import local_bytes
from codegen.proof.prove import prove
from codegen.runtime.session import Session
from constraints.devices import profile
from explore.space.derive_form import points
from explore.space.lowering import bound, lowering
from ir.core.nodes import Program
from ir.meaning.inputs import random_inputs
from ir.meaning.interpret import evaluate
from ir.parse import parse
from rewrites.engine.refused import Refused
from rewrites.families.all_families import forms
from rewrites.tuning.lower import lower

CONV = """
conv(const weights : [[[[float]C]K]K]M, const biases : [float]M, image : [[[float]C]W]W) =
  map2d(window ->
      map((kernel, bias) -> relu(dot(flatten(window), flatten(kernel)) + bias),
        zip(weights, biases)),
    slide2d(K, 1, pad2d(1, 0.0, image)))
where C = 16, W = 5, K = 3, M = 16
"""
PRODUCT = """
matmul(a : [[float]K]M, b : [[float]N]K) =
  map(row -> map(column -> dot(row, column), transpose(b)), a)
where M = 13, N = 20, K = 24
"""
LONGEST = """
longest(a : [[float]K]M, b : [[float]K]N) =
  map(x -> map(y -> reduce(-1000.0, (acc, (s, t)) -> max(acc, s + t), zip(x, y)), b), a)
where M = 8, N = 12, K = 12
"""
POINT = {"k": 2, "lx": 2, "ly": 4, "tc": 2, "tr": 2, "v": 2, "p": 2}


def made(program: Program, form: str, point: dict[str, int]) -> Generated:
    """The code of a form of `blocked` at a point, after asserting that its kernels are proved."""
    generated = generate(bound(lowering(program, "blocked", form).program, point))
    assert all(prove(kernel).ok for kernel in generated.kernels)
    return generated


@pytest.mark.parametrize(
    ("text", "form", "more"),
    [
        (CONV, "sliced", {}),
        (CONV, "relaid sliced ahead along", {"p": 4}),
        (CONV, "padded room relaid sliced ahead", {"p": 8, "k": 1}),
        (CONV, "sliced ahead flipped", {"ly": 2, "lx": 4}),
        (CONV, "im2col relaid sliced", {"k": 4, "tc": 4, "u": 1}),
        (PRODUCT, "sliced ahead", {"p": 3, "k": 4}),
        (PRODUCT, "sliced flipped along", {"p": 4}),
        (LONGEST, "sliced", {"p": 3}),
    ],
)
def test_parts_of_a_sum_are_completed_by_the_group(
    session: Session, text: str, form: str, more: dict[str, int]
) -> None:
    program, point = parse(text), POINT | more
    generated = made(program, form, point)
    plan = generated.plan
    assert generated.kernels[-1].local_size == (point["lx"], point["ly"], point["p"])
    if "room" not in form and "im2col" not in form:
        assert plan.workspace_bytes == 0
    inputs = {name: np.asarray(x) for name, x in random_inputs(program, 3).items()}
    found = session.build(plan, checking=True)(inputs)
    assert np.array_equal(found, np.asarray(evaluate(program, inputs)))


@pytest.mark.parametrize("p", [2, 4, 8])
def test_parts_lie_where_the_chunks_were(p: int) -> None:
    """The chunks that a group stages and the parts of its sums share local memory, so that the
    group takes only the bytes of the larger of the two. Here these are the parts, of which a
    work-item stores those of one column of its block at a time."""
    point = POINT | {"p": p, "k": 1}
    kernel = made(parse(CONV), "relaid sliced", point).kernels[-1]
    rows, columns = point["lx"] * point["tr"] * point["v"], point["ly"] * point["tc"]
    chunks, parts = p * point["k"] * (rows + columns), p * rows * point["ly"]
    assert parts > chunks
    assert local_bytes(kernel) == 4 * parts


def test_a_sum_of_a_large_prime_number_of_steps_has_no_slices() -> None:
    program = parse(PRODUCT, set={"K": 17})
    form = next(f for f in forms(program, "blocked") if f.name == "sliced")
    with pytest.raises(Refused, match="equal parts, found 17 steps"):
        lower(program, form)


@pytest.mark.parametrize("steps", [5, 7, 10, 11, 13])
def test_a_sum_of_few_steps_has_points_in_slices(steps: int) -> None:
    program = parse(PRODUCT, set={"K": steps})
    form = next(f for f in forms(program, "blocked") if f.name == "sliced")
    assert points(lower(program, form), profile("cpu"), 1, 0)[0].count > 0
