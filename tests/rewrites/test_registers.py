"""Tests of `registers` with vectors over pixels: neighbouring pixels are loaded as vectors, weights
one by one."""

# key: h w image sides, c channels, m output channels, k window side

import re

import numpy as np
import pytest

from codegen.compile import generate
from codegen.plan import Plan
from codegen.proof.prove import prove
from codegen.runtime.session import Session
from explore.space.lowering import bound, lowering
from ir.core.nodes import Program
from ir.errors import UserError
from ir.meaning.inputs import random_inputs
from ir.meaning.interpret import evaluate
from ir.parse import parse

CHANNELS_FIRST = """
conv(const weights : [[[[float]K]K]C]M, const biases : [float]M, image : [[[float]W]H]C) =
  map((kernel, bias) -> map2d(window -> relu(dot(flatten(window), flatten(kernel)) + bias),
      map(row -> map(transpose, transpose(row)),
        transpose(map(plane -> slide2d(K, 1, pad2d(1, 0.0, plane)), image)))),
    zip(weights, biases))
where C = 4, W = 8, H = 6, K = 3, M = 7
"""
CHANNELS_LAST = """
conv(const weights : [[[[float]C]K]K]M, image : [[[float]C]W]H) =
  map2d(window -> map(kernel -> dot(flatten(window), flatten(kernel)), weights),
    slide2d(K, 1, pad2d(1, 0.0, image)))
where C = 4, W = 7, H = 6, K = 3, M = 8
"""
ONE_BY_ONE = """
conv(const weights : [[float]C]M, image : [[[float]W]H]C) =
  map(kernel -> map2d(pixel -> dot(pixel, kernel), map(transpose, transpose(image))), weights)
where C = 8, W = 6, H = 6, M = 6
"""
PROJECTED = """
rows(a : [[float]K]M, const b : [[float]N]K) =
  map(row -> map(column -> dot(row, column), transpose(b)), a)
where M = 9, N = 7, K = 8
"""
POINT = {"k": 2, "tr": 1, "tx": 3, "v": 4}


def made(text: str, form: str, point: dict[str, int]) -> tuple[Program, Plan]:
    """The program of a text, and its plan by a form of `registers` at a point; the plan's kernels
    are proved."""
    program = parse(text)
    generated = generate(bound(lowering(program, "registers", form).program, point))
    assert all(prove(kernel).ok for kernel in generated.kernels)
    return program, generated.plan


def runs_right(session: Session, program: Program, plan: Plan) -> bool:
    inputs = {name: np.asarray(x) for name, x in random_inputs(program, 1).items()}
    found = session.build(plan, checking=True)(inputs)
    return np.array_equal(found, np.asarray(evaluate(program, inputs)))


def gathers(source: str) -> list[str]:
    """The vectors in a kernel's text that are put together from scalars which are loaded one by
    one."""
    return re.findall(r"\(float4\)\(\w+\[[^)]*,", source)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (CHANNELS_FIRST, "padded room relaid flipped"),
        (CHANNELS_FIRST, "padded room items tall flipped"),
        (CHANNELS_LAST, "planes room relaid flipped"),
        (ONE_BY_ONE, "relaid flipped"),
    ],
)
def test_neighbouring_pixels_are_loaded_as_vectors(session: Session, text: str, form: str) -> None:
    program, plan = made(text, form, POINT | ({"ty": 2} if "tall" in form else {}))
    assert re.search(r"vload4\(|float4 \*\)", plan.source)
    assert gathers(plan.source) == []
    assert runs_right(session, program, plan)


def test_pixels_that_are_no_windows_are_vectors_across_the_ends_of_rows(session: Session) -> None:
    program, plan = made(ONE_BY_ONE, "relaid flipped", POINT)
    assert plan.kernels[-1].global_size == (36 // 4, 6 // 3, 1)
    assert runs_right(session, program, plan)


@pytest.mark.parametrize("form", ["flipped", "relaid flipped", "taps flipped"])
def test_either_side_of_a_product_may_be_the_vectors(session: Session, form: str) -> None:
    program, plan = made(PROJECTED, form, POINT)
    assert runs_right(session, program, plan)


DEPTHWISE = """
conv(const weights : [[[float]C]K]K, image : [[[float]C]W]H) =
  map2d(window -> map((channel, taps) -> dot(channel, taps),
      zip(transpose(join(window)), transpose(join(weights)))), slide2d(K, 1, image))
where C = 8, W = 6, H = 5, K = 3
"""
FULLY_CONNECTED = """
fc(const weights : [[float]N]M, xs : [float]N) = map(row -> dot(row, xs), weights)
where M = 8, N = 6
"""


@pytest.mark.parametrize(
    ("text", "form", "names"),
    [
        (DEPTHWISE, "", ("tr", "tx", "v")),  # vectors of channels
        (FULLY_CONNECTED, "relaid", ("k", "tr", "v")),  # each row of weights is another vector's
        (PROJECTED, "relaid flipped", ("k", "tr", "tx", "v")),  # the constant has the vectors
    ],
)
def test_whichever_dimension_vectors_go_over_may_be_contiguous(
    session: Session, text: str, form: str, names: tuple[str, ...]
) -> None:
    program, plan = made(text, form, {"k": 1} | {name: POINT[name] for name in names})
    assert gathers(plan.source) == []
    assert runs_right(session, program, plan)


def test_one_dimension_of_results_has_no_sides_to_exchange() -> None:
    pooling = parse("f(xs : [[float]4]6) = map(row -> maximum(row), xs)")
    with pytest.raises(UserError, match="two dimensions of results, found one"):
        lowering(pooling, "registers", "flipped")


def test_the_ends_of_rows_take_no_branch(session: Session) -> None:
    """Loads inside the image have no condition. At the ends of rows, `select` replaces loaded
    numbers by 0, without a branch; where a whole row is padding, nothing is loaded."""
    program, plan = made(CHANNELS_LAST, "relaid", POINT | {"tx": 7})
    inside, row, outside = re.split(r"\} else[^\n]*\{\n", plan.source)
    assert "?" not in inside.split("for (int i_rows3", 1)[1]
    assert 0 < row.count("select(0.0f, image_[") < 3
    assert row.count("?") == row.count("select(0.0f, image_[")
    assert "image_[" not in outside
    assert runs_right(session, program, plan)
