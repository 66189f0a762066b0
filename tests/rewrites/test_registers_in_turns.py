"""Tests of the forms of `registers` for programs that move more bytes than they compute: `swept` (a
work-group makes a line of blocks), and `vector-loads` (several steps of a sum are loaded as one
vector)."""

# key: h w image sides, c channels

import re
from random import Random

import numpy as np
import pytest

from codegen.compile import generate
from codegen.demand_proofs import demand_proofs
from codegen.plan import Plan
from codegen.runtime.session import Session
from explore.space.lowering import bound, lowering
from ir.core.nodes import Program
from ir.errors import UserError
from ir.meaning.inputs import STORED, random_inputs, scalar_of
from ir.meaning.interpret import evaluate
from ir.parse import parse

DEPTHWISE = """
depthwise(const weights : [[[{t}]3]3]C, image : [[[{t}]C]W]H) =
  map2d(window -> map((channel, kernel) ->
      {to}(reduce(0.0, (acc, (x, w)) -> acc + float(x) * float(w), zip(channel, flatten(kernel)))),
    zip(transpose(join(window)), weights)), slide2d(3, {step}, pad2d(1, 0, image)))
where C = {c}, W = {w}, H = {h}
"""
MIXED = """
mixed(const weights : [[{t}]C]5, image : [[[{t}]C]W]H) =
  map2d(pixel -> map(kernel ->
      {to}(reduce(0.0, (acc, (x, w)) -> acc + float(x) * float(w), zip(pixel, kernel))),
    weights), image)
where C = {c}, W = {w}, H = {h}
"""
TO = {"float": "float", "half": "half", "uchar": "uchar_sat_rte"}


def made(text: str, form: str, half_arithmetic: bool = True, **point: int) -> tuple[Program, Plan]:
    """The program of a text, and its plan by a form of `registers` with the parameters `point`; the
    plan's kernels are proved."""
    program = parse(text)
    low = lowering(program, "registers", form).program
    values = {name: n for name, n in point.items() if name in low.free}
    generated = generate(bound(low, values), half_arithmetic=half_arithmetic)
    demand_proofs(generated)
    return program, generated.plan


def runs_right(session: Session, program: Program, plan: Plan) -> bool:
    """True if a plan gives what the interpreter does, for random whole numbers as inputs."""
    draws = np.random.default_rng(Random().randrange(2**32))
    inputs = {
        name: draws.integers(0, 4, np.shape(x)).astype(STORED[scalar_of(p.var.type).name])
        for p, (name, x) in zip(program.params, random_inputs(program, 1).items(), strict=True)
    }
    return np.array_equal(session.build(plan, checking=True)(inputs), evaluate(program, inputs))


@pytest.mark.parametrize("t", TO)
@pytest.mark.parametrize("step", [1, 2])
def test_lines_of_blocks_may_begin_and_end_anywhere_in_the_padding(
    session: Session, t: str, step: int
) -> None:
    text = DEPTHWISE.format(t=t, to=TO[t], step=step, c=5, w=11, h=7)
    program, plan = made(text, "relaid swept tall", k=3, tr=1, tx=3, ty=2, v=4)
    assert runs_right(session, program, plan)


def test_a_border_is_told_apart_once_for_each_block_of_a_line() -> None:
    _, plan = made(
        DEPTHWISE.format(t="float", to="float", step=1, c=8, w=16, h=9),
        "relaid swept",
        k=3,
        tr=1,
        tx=4,
        v=8,
    )
    inner = plan.kernels[-1].text.split("} else {")[0]
    assert re.search(r"if \(grp0 >= 1 && i_\w+ >= 1 && grp0 < 8 && i_\w+ < 3\) \{", inner)
    assert "?" not in inner


def test_one_line_is_not_swept() -> None:
    with pytest.raises(UserError, match="nothing would go in parallel"):
        lowering(
            parse("f(a : [[float]4]6, b : [float]4) = map(row -> dot(row, b), a)"),
            "registers",
            "swept",
        )


@pytest.mark.parametrize("t", TO)
@pytest.mark.parametrize("form", ["relaid swept vector-loads", "items tall vector-loads"])
def test_steps_of_a_sum_are_loaded_and_made_floats_as_a_vector(
    session: Session, t: str, form: str
) -> None:
    text = MIXED.format(t=t, to=TO[t], c=8, w=7, h=3)
    program, plan = made(text, form, k=4, tr=1, tx=3, ty=2, v=4)
    if t != "float":
        assert "float4 image_0" in plan.kernels[-1].text.replace("image_0_0", "image_0")
        assert "convert_float4" in plan.kernels[-1].text
    assert runs_right(session, program, plan)


def test_halves_that_are_only_stored_move_as_vectors(session: Session) -> None:
    text = DEPTHWISE.format(t="half", to="half", step=1, c=8, w=6, h=5)
    program, plan = made(text, "relaid items", half_arithmetic=False, k=3, tr=1, tx=2, v=4)
    assert "from_half4(*(const __global ushort4 *)&image_[" in plan.kernels[-1].text
    assert "= to_half4(acc_0);" in plan.kernels[-1].text
    assert runs_right(session, program, plan)


def test_vectors_are_not_loaded_as_vectors_once_more() -> None:
    with pytest.raises(UserError, match="expected numbers of which several steps load a vector"):
        lowering(
            parse(DEPTHWISE.format(t="float", to="float", step=1, c=4, w=5, h=5)),
            "registers",
            "vector-loads",
        )
