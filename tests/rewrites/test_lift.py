"""Tests of the family `lift` at the point of Table 4 of LIFT's paper, and of its vectors: sizes and
results are right."""

from math import prod
from pathlib import Path

import numpy as np
import pytest

from codegen.compile import generate
from codegen.proof.prove import prove
from codegen.runtime.session import Session
from constraints.devices import profile
from explore.space.derive_form import points
from explore.space.lowering import bound, lowering
from ir.core.nodes import Program
from ir.meaning.inputs import random_inputs
from ir.meaning.interpret import evaluate
from ir.parse import parse

VGG = (Path(__file__).parents[2] / "examples" / "vgg.lift").read_text()
LAYER_7 = {"C": 128, "W": 112, "H": 112, "M": 128}
TABLE_4 = {"theta": 5, "rho": 11, "kappa": 4, "sigma": 3, "omega": 144, "v": 4}


def at_table_4(form: str, sizes: dict[str, int]) -> tuple[Program, Program]:
    program = parse(VGG, set=sizes)
    return program, bound(lowering(program, "lift", form).program, TABLE_4)


@pytest.mark.parametrize("form", ["vectors", "relaid vectors", "stored-sums vectors"])
def test_table_4_is_24_items_a_group_and_41_by_41_tiles_of_32_kernel_groups(form: str) -> None:
    _, lowered = at_table_4(form, LAYER_7)
    made = generate(lowered, max_work_group=384)
    tiled = [k for k in made.plan.kernels if prod(k.local_size) == 24]
    assert len(tiled) == 1
    groups = [n // m for n, m in zip(tiled[0].global_size, tiled[0].local_size, strict=True)]
    assert sorted(groups) == [32, 41, 41]
    assert all(prove(k).ok for k in made.kernels)


@pytest.mark.parametrize(
    "form", ["vectors", "relaid vectors", "padded relaid vectors unrolled", "vectors coalesced"]
)
def test_the_point_of_table_4_computes_the_layer(form: str, session: Session) -> None:
    program = parse(VGG, set={"C": 128, "W": 16, "H": 16, "M": 8})
    values = {**TABLE_4, "rho": 2}
    lowered = bound(lowering(program, "lift", form).program, values)
    inputs = {k: np.asarray(v) for k, v in random_inputs(program, 7).items()}
    result = session.build(generate(lowered).plan, checking=True)(inputs)
    assert np.array_equal(result, np.asarray(evaluate(program, inputs)))


@pytest.mark.parametrize("form", ["vectors unrolled", "relaid stored-sums vectors coalesced"])
def test_a_sum_that_no_vector_divides_goes_on_over_zeros(form: str, session: Session) -> None:
    program = parse("""
conv(const weights : [[float]13]5, image : [[[float]13]6]6) =
  map2d(pixel -> map(kernel -> relu(dot(pixel, kernel)), weights), image)""")
    made = lowering(program, "lift", form)
    space, (point, *_) = points(made, profile("cpu"), 1, 0)
    assert space.count > 0
    kernels = generate(bound(made.program, point))
    assert all(prove(k).ok for k in kernels.kernels)
    inputs = {k: np.asarray(v) for k, v in random_inputs(program, 0).items()}
    out = session.build(kernels.plan, checking=True)(inputs)
    assert np.array_equal(out, np.asarray(evaluate(program, inputs)))
