"""Tests of the forms of `registers` for programs that move more bytes than they compute: `swept` (a
work-group makes a line of blocks), `vector-loads` (several steps of a sum are loaded as one
vector), `wide-chunks` (several blocks' pixels are converted once), and products of bytes that are
added in pairs or in fours."""

# key: h w image sides, c channels

import re
from dataclasses import replace
from itertools import product
from random import Random

import numpy as np
import pytest

from codegen.compile import generate
from codegen.demand_proofs import demand_proofs
from codegen.plan import Plan
from codegen.runtime.session import Session
from explore.space.lowering import bound, lowering
from ir.core.nodes import Program
from ir.core.types import RANGES
from ir.errors import UserError
from ir.meaning.inputs import STORED, random_inputs, scalar_of
from ir.meaning.interpret import evaluate
from ir.parse import parse
from rewrites.families.all_families import forms

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
BYTES = """
mixed(const weights : [[{t}]{c}]8, image : [[[{s}]{c}]3]5) =
  map2d(pixel -> map(kernel -> reduce(0, (acc, (x, w)) -> acc + x * w, zip(pixel, kernel)),
    weights), image)
"""


def made(text: str, form: str, half_arithmetic: bool = True, **point: int) -> tuple[Program, Plan]:
    """The program of a text, and its plan by a form of `registers` with the parameters `point`, for
    a device with or without `half_arithmetic`; the plan's kernels are proved."""
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
    with pytest.raises(UserError, match="one work-group would make"):
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
    copied = r"\{\s+\w+ (\w+) = [^;]+;\s+\w+ = \1;\s+\}"
    assert not any(re.search(copied, kernel.text) for kernel in plan.kernels)
    if t != "float":
        assert "float4 image_0" in plan.kernels[-1].text.replace("image_0_0", "image_0")
        assert "convert_float4" in plan.kernels[-1].text
    assert runs_right(session, program, plan)


@pytest.mark.parametrize(("s", "t"), [("char", "char"), ("uchar", "char"), ("uchar", "uchar")])
@pytest.mark.parametrize(("c", "v"), [(8, 2), (8, 16), (7, 8), (5, 4), (2, 8)])
def test_products_of_all_bytes_are_added_in_pairs(
    session: Session, s: str, t: str, c: int, v: int
) -> None:
    program, plan = made(BYTES.format(s=s, t=t, c=c), "relaid swept pairs", k=2, tr=1, tx=3, v=v)
    assert f"pairs_of_{s}_{t}{v}(" in plan.kernels[-1].text
    draws = np.random.default_rng(Random().randrange(2**32))
    inputs = {"image": extremes(draws, s, (5, 3, c)), "weights": extremes(draws, t, (8, c))}
    assert np.array_equal(session.build(plan, checking=True)(inputs), evaluate(program, inputs))


def extremes(draws: np.random.Generator, t: str, shape: tuple[int, ...]) -> np.ndarray:
    """An array of bytes of type t, a third of them the least, a third the largest, the others
    random."""
    ends = RANGES[t]
    either = draws.choice(ends, shape)
    other = draws.integers(ends[0], ends[1] + 1, shape)
    return np.where(draws.random(shape) < 2 / 3, either, other).astype(STORED[t])


@pytest.mark.parametrize(("s", "t"), [*product(("char", "uchar"), repeat=2)])
@pytest.mark.parametrize("c", [8, 7, 3])
def test_products_of_unsigned_and_signed_bytes_are_added_in_fours(
    session: Session, s: str, t: str, c: int
) -> None:
    """By the instruction, where the device's compiler takes its name, and without it."""
    program, plan = made(BYTES.format(s=s, t=t, c=c), "relaid swept fours", k=4, tr=1, tx=3, v=16)
    assert "fours_of_uchar_char16(" in plan.kernels[-1].text
    draws = np.random.default_rng(Random().randrange(2**32))
    inputs = {"image": extremes(draws, s, (5, 3, c)), "weights": extremes(draws, t, (8, c))}
    without = Session(replace(session.device, vpdpbusd=False), session.handle)
    for each in (session, without):
        assert np.array_equal(each.build(plan, checking=True)(inputs), evaluate(program, inputs))


@pytest.mark.parametrize(("t", "other"), [("char", "uchar"), ("uchar", "char")])
@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("c", [19, 32])
def test_three_taps_and_a_zero_are_four_products(
    session: Session, t: str, other: str, step: int, c: int
) -> None:
    text = DEPTHWISE.format(t=t, to=f"{t}_sat_rte", step=step, c=c, w=11, h=7)
    program, plan = made(text, "relaid swept tall fours in-ints", k=3, tr=1, tx=2, ty=2, v=16)
    last = plan.kernels[-1].text
    sums = [line for line in last.split("\n") if "fours_of" in line]
    assert sums
    changed = {"char": "(as_uchar16(image_", "uchar": " as_char16(image_"}[t]
    assert all(changed in line for line in sums), f"made {other} in bytes"
    assert all(line.count("(uchar16)((uchar)0), (char16)((char)0)") == 1 for line in sums)
    assert "weights_packed_[" in last, "the weights are in panels, beside the sums of them"
    draws = np.random.default_rng(Random().randrange(2**32))
    inputs = {"image": extremes(draws, t, (7, 11, c)), "weights": extremes(draws, t, (c, 3, 3))}
    assert np.array_equal(session.build(plan, checking=True)(inputs), evaluate(program, inputs))


@pytest.mark.parametrize("step", [1, 2])
def test_taps_are_added_in_pairs_and_the_odd_one_alone(session: Session, step: int) -> None:
    text = DEPTHWISE.format(t="uchar", to="uchar_sat_rte", step=step, c=9, w=11, h=7)
    program, plan = made(text, "relaid swept tall pairs in-ints", k=3, tr=1, tx=2, ty=2, v=8)
    sums = [line for line in plan.kernels[-1].text.split("\n") if "pairs_of" in line]
    assert all(line.count("pairs_of_uchar_uchar8(") == 1 for line in sums)
    assert all(line.count("* as_uint8(convert_int8(") == 1 for line in sums)
    assert runs_right(session, program, plan)


def test_pairs_are_read_from_vectors_of_steps(session: Session) -> None:
    text = MIXED.format(t="uchar", to="uchar_sat_rte", c=8, w=7, h=3)
    form = "relaid swept vector-loads pairs in-ints"
    program, plan = made(text, form, k=4, tr=1, tx=3, v=4)
    assert "uchar4 image_0 = " in plan.kernels[-1].text
    assert "pairs_of_uchar_uchar4(" in plan.kernels[-1].text
    assert runs_right(session, program, plan)


@pytest.mark.parametrize("t", ["half", "uchar"])
@pytest.mark.parametrize(("c", "w"), [(8, 7), (5, 13), (1, 16)])
@pytest.mark.parametrize("tall", ["", " tall"])
def test_pixels_of_several_blocks_are_made_floats_once(
    session: Session, t: str, c: int, w: int, tall: str
) -> None:
    text = MIXED.format(t=t, to=TO[t], c=c, w=w, h=3)
    form = f"relaid swept{tall} wide-chunks"
    program, plan = made(text, form, k=c, tr=1, tx=2, ty=2, ts=8, v=4)
    copy = plan.kernels[-1].text
    assert re.search(r"__local float \w+\[", copy)
    assert "convert_float16" in copy
    assert runs_right(session, program, plan)


def test_pixels_are_converted_in_vectors_and_read_one_by_one(session: Session) -> None:
    text = MIXED.format(t="half", to="half", c=8, w=16, h=3)
    program, plan = made(text, "relaid swept wide-chunks", k=8, tr=1, tx=2, ts=4, v=4)
    assert "convert_float16(*(const __global half16 *)&image_[" in plan.kernels[-1].text
    assert re.search(r"float image_0 = image_tile_\[", plan.kernels[-1].text)
    assert "convert_float(" not in plan.kernels[-1].text
    assert runs_right(session, program, plan)


@pytest.mark.parametrize(("s", "t"), [("char", "char"), ("uchar", "char"), ("uchar", "uchar")])
@pytest.mark.parametrize(("c", "v"), [(8, 8), (7, 16), (2, 2)])
def test_pixels_are_made_shorts_before_their_products_are_added_in_pairs(
    session: Session, s: str, t: str, c: int, v: int
) -> None:
    text = BYTES.format(s=s, t=t, c=c)
    program, plan = made(text, "relaid swept pairs wide-chunks", k=2, tr=1, tx=2, ts=8, v=v)
    assert f"pairs_of_short_{t}{v}(" in plan.kernels[-1].text
    draws = np.random.default_rng(Random().randrange(2**32))
    inputs = {"image": extremes(draws, s, (5, 3, c)), "weights": extremes(draws, t, (8, c))}
    assert np.array_equal(session.build(plan, checking=True)(inputs), evaluate(program, inputs))


def test_products_of_shorts_are_not_added_in_pairs(session: Session) -> None:
    """Two products of the least shorts are 2^31 together, which is no int; their sum wraps
    around."""
    program, plan = made(
        BYTES.format(s="short", t="short", c=8), "relaid swept", k=2, tr=1, tx=2, v=8
    )
    inputs = {
        n: np.full(s, -(2**15), np.int16) for n, s in (("image", (5, 3, 8)), ("weights", (8, 8)))
    }
    assert "pairs_of" not in plan.source
    assert np.array_equal(session.build(plan, checking=True)(inputs), evaluate(program, inputs))


def test_each_choice_for_cpus_is_tried_less_often_on_a_gpu() -> None:
    program = parse(BYTES.format(s="char", t="char", c=8))
    by_name = {form.name: form for form in forms(program, "registers")}
    for words in ("", "swept", "swept pairs", "swept fours", "swept pairs wide-chunks"):
        form = by_name[words]
        assert form.weight(on_gpu=True, dedicated_local=True) <= 1.0
        assert form.weight(on_gpu=False, dedicated_local=False) >= 1.0


def test_windows_are_not_made_wider_as_chunks() -> None:
    text = DEPTHWISE.format(t="half", to="half", step=1, c=8, w=6, h=5)
    with pytest.raises(UserError, match="expected pixels whose numbers several channels"):
        lowering(parse(text), "registers", "relaid swept wide-chunks")


def test_halves_that_are_summed_up_as_halves_are_not_made_wider() -> None:
    text = BYTES.format(s="half", t="half", c=8).replace("reduce(0,", "reduce(0.0h,")
    with pytest.raises(UserError, match="expected narrow numbers that are read as floats"):
        lowering(parse(text), "registers", "relaid swept wide-chunks")


def test_products_of_floats_are_not_added_in_pairs() -> None:
    program = parse(MIXED.format(t="uchar", to="uchar_sat_rte", c=8, w=7, h=3))
    with pytest.raises(UserError, match="expected sums of ints, in which"):
        lowering(program, "registers", "relaid swept pairs")


def test_halves_that_are_only_stored_move_as_vectors(session: Session) -> None:
    text = DEPTHWISE.format(t="half", to="half", step=1, c=8, w=6, h=5)
    program, plan = made(text, "relaid items", half_arithmetic=False, k=3, tr=1, tx=2, v=4)
    assert "from_half4(*(const __global ushort4 *)&image_[" in plan.kernels[-1].text
    assert "= to_half4(acc_0);" in plan.kernels[-1].text
    assert runs_right(session, program, plan)


def test_vectors_are_not_loaded_as_vectors_once_more() -> None:
    with pytest.raises(UserError, match="expected sums of single numbers"):
        lowering(
            parse(DEPTHWISE.format(t="float", to="float", step=1, c=4, w=5, h=5)),
            "registers",
            "vector-loads",
        )
