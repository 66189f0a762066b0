"""Tests of programs that are prepared before a family lowers them: zero points are taken out of
sums, and sums of halves are made in floats."""

import numpy as np
import pytest

from codegen.compile import generate
from codegen.demand_proofs import demand_proofs
from codegen.plan import Role
from codegen.runtime.session import Session
from constraints.devices import profile
from explore.space.derive_form import points
from explore.space.lowering import bound
from ir.core.nodes import Program
from ir.meaning.inputs import random_inputs
from ir.meaning.interpret import evaluate
from ir.parse import parse
from ir.text.show import show
from rewrites.engine.meaning_check import check
from rewrites.engine.refused import Refused
from rewrites.families.all_families import FAMILIES, forms
from rewrites.tuning.family import Form
from rewrites.tuning.lower import lower
from rewrites.tuning.lowering import Lowering
from rewrites.tuning.prepared_forms import PREPARATIONS
from tests.support.agreement import SMALL, example
from tests.support.families import STORING

QUANTISED = ("qlinear_conv", "tflite_conv")
CONVOLVING = ("naive", "lift", "registers", "blocked", *STORING)
NESTED = """
sums(const weights : [[[char]4]3]5, zeros : [char]5, xs : [[uchar]4]8) =
  map(rows ->
      map((kernel, zero) ->
          reduce(0, (acc, (row, ws)) ->
              acc + reduce(0, (a, (x, w)) -> a + (int(x) - 7) * (w - zero), zip(row, ws)),
            zip(rows, kernel)),
        zip(weights, zeros)),
    slide(3, 1, xs))
"""
HALVES = """
conv(const weights : [[[[half]4]3]3]8, image : [[[half]4]6]7) =
  map2d(window -> map(kernel ->
      reduce(0h, (acc, (x, w)) -> acc + x * w, zip(flatten(window), flatten(kernel))), weights),
    slide2d(3, 1, image))
"""

BYTES = """
conv(const weights : [[[[char]4]3]3]8, image : [[[uchar]4]6]7) =
  map2d(window -> map(kernel -> uchar_sat_rte(relu(
      reduce(0.0, (acc, (x, w)) -> acc + float(x) * float(w),
        zip(flatten(window), flatten(kernel))))),
    weights), slide2d(3, 1, pad2d(1, 0, image)))
"""


def prepared(p: Program, family: str, word: str) -> list[Form]:
    """The forms of a family for p that have the preparation called `word`."""
    return [form for form in forms(p, family) if word in form.words]


def some(p: Program, family: str, word: str) -> Lowering:
    """The program p lowered by the first form that has the preparation called `word` and applies to
    p."""
    for form in prepared(p, family, word):
        try:
            return lower(p, form)
        except Refused:
            continue
    raise AssertionError(f"{family} refuses {p.name} with {word}")


@pytest.mark.parametrize("family", CONVOLVING)
@pytest.mark.parametrize("name", QUANTISED)
def test_families_lower_sums_without_zero_points(
    sessions: tuple[Session, ...], name: str, family: str
) -> None:
    p = example(name, SMALL[name])
    low = some(p, family, "zero-points")
    _, (point,) = points(low, profile("cpu"), 1, seed=1)
    made = generate(bound(low.program, point), max_work_group=64)
    demand_proofs(made)
    inputs = random_inputs(p, int(np.random.default_rng().integers(1 << 30)))
    for session in sessions:
        out = session.build(made.plan, checking=True)(inputs)
        assert np.array_equal(out, evaluate(p, inputs)), family


def test_the_sums_of_weights_are_packed_and_those_of_windows_stored_once_a_pixel() -> None:
    p = example("qlinear_conv", SMALL["qlinear_conv"])
    low = some(p, "registers", "zero-points")
    _, (point,) = points(low, profile("cpu"), 1, seed=1)
    plan = generate(bound(low.program, point)).plan
    kept = sorted(b.bytes for b in plan.buffers if b.role is Role.PACKED)
    between = [b.bytes for b in plan.buffers if b.role is Role.TEMPORARY]
    assert 4 * SMALL["qlinear_conv"]["M"] in kept
    assert 4 * SMALL["qlinear_conv"]["W"] * SMALL["qlinear_conv"]["H"] in between


def test_nests_of_sums_lose_their_zero_points_too() -> None:
    p = parse(NESTED)
    for family in ("naive", "registers", "blocked"):
        low = some(p, family, "zero-points")
        _, (point,) = points(low, profile("cpu"), 1, seed=2)
        checked = check(p, low.derivation, point)
        assert checked.wrong is None


SEVERAL_TIMES = """
f(const weights : [[uchar]9]4, image : [[[uchar]4]6]4) = map2d(window ->
  map((channel, kernel) -> select(SUM > 100, SUM / 7, SUM % 13),
    zip(transpose(join(window)), weights)), slide2d(3, 1, pad2d(1, 3, image)))
""".replace("SUM", "reduce(0, (acc, (x, w)) -> acc + (x - 3) * w, zip(channel, kernel))")


@pytest.mark.parametrize("family", ["naive", "registers"])
def test_a_sum_that_is_written_several_times_loses_its_zero_point_each_time(
    session: Session, family: str
) -> None:
    p = parse(SEVERAL_TIMES)
    low = some(p, family, "zero-points")
    _, (point,) = points(low, profile("cpu"), 1, seed=3)
    made = generate(bound(low.program, point), max_work_group=64)
    demand_proofs(made)
    inputs = random_inputs(p, int(np.random.default_rng().integers(1 << 30)))
    assert np.array_equal(session.build(made.plan, checking=True)(inputs), evaluate(p, inputs))


@pytest.mark.parametrize("family", FAMILIES)
def test_programs_that_a_preparation_leaves_alone_have_no_forms_of_it(family: str) -> None:
    p = example("conv2d", SMALL["conv2d"])
    assert not any({*form.words} & {*PREPARATIONS} for form in forms(p, family))


@pytest.mark.parametrize("family", ["naive", "registers", "blocked"])
def test_sums_of_bytes_in_floats_are_kept_in_ints(
    sessions: tuple[Session, ...], family: str
) -> None:
    p = parse(BYTES)
    low = some(p, family, "in-ints")
    _, (point,) = points(low, profile("cpu"), 1, seed=1)
    made = generate(bound(low.program, point), max_work_group=64)
    demand_proofs(made)
    assert "float" not in made.plan.kernels[-1].text
    inputs = random_inputs(p, int(np.random.default_rng().integers(1 << 30)))
    for session in sessions:
        out = session.build(made.plan, checking=True)(inputs)
        assert np.array_equal(out, evaluate(p, inputs)), family


def test_a_bias_that_is_no_whole_number_is_added_to_the_sum_of_ints() -> None:
    p = parse(BYTES.replace("reduce(0.0,", "reduce(0.25,").replace("uchar_sat_rte", ""))
    text = show(some(p, "naive", "in-ints").program)
    assert "reduceSeq(0, (acc" in text
    assert "0.25" in text


def test_sums_beyond_what_floats_hold_exactly_stay_in_floats() -> None:
    assert any("in-ints" in form.words for form in forms(parse(BYTES), "naive"))
    wide = parse(BYTES.replace("]4]", "]64]"))
    assert not any("in-ints" in form.words for form in forms(wide, "naive"))


@pytest.mark.parametrize("word", ["in-float", "in-chunks", "in-turns"])
@pytest.mark.parametrize("family", ["naive", "lift", "blocked"])
def test_sums_of_halves_are_kept_in_floats(
    sessions: tuple[Session, ...], family: str, word: str
) -> None:
    p = parse(HALVES)
    low = some(p, family, word)
    _, found = points(low, profile("cpu"), 1, seed=1)
    made = generate(bound(low.program, found[0]), max_work_group=64)
    demand_proofs(made)
    inputs = random_inputs(p, 3, integers=True)
    for session in sessions:
        out = session.build(made.plan, checking=True)(inputs)
        assert np.array_equal(out, evaluate(p, inputs)), (family, word)
