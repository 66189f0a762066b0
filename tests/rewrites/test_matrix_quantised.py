"""Tests that matrix instructions make quantised convolutions: each channel with a scale, a bias and
a zero point of its own, and images with a zero point."""

import os
import secrets
from random import Random

import numpy as np
import pytest

from codegen.compile import generate
from codegen.demand_proofs import demand_proofs
from codegen.runtime.session import Session
from codegen.tree.statements import calls
from constraints.devices import H200
from explore.space.derive_form import points
from explore.space.lowering import bound
from ir.core.nodes import Program
from ir.meaning.inputs import Numbers
from ir.meaning.interpret import evaluate
from ir.parse import parse
from rewrites.families.all_families import form_named
from rewrites.number_laws.read_beside import read_beside
from rewrites.tuning.lower import lower
from tests.support.quantised import (
    ONNX_RESULT,
    Quantised,
    tflite_once,
    tflite_twice,
)
from tests.support.quick_builds import quick_builds as quick_builds

SEED = os.environ.get("SEED") or secrets.token_hex(4)
TEXT = """
conv(const weights : [[[[{w}]32]2]2]16, const zeros : [{w}]16, const biases : [int]16,
     const qs : [int]16, const shifts : [int]16, image : [[[{x}]32]4]5) =
  map2d(window ->
      map((kernel, zero, bias, q, shift) ->
          let acc = reduce(bias, (acc, (v, w)) -> acc + (v - {xz}) * {weight},
                           zip(flatten(window), flatten(kernel)))
          {result},
        zip(weights, zeros, biases, qs, shifts)),
    slide2d(2, 1, pad2d((1, 0, 0, 1), {xz}, image)))
"""
SIZES = {"C": 32, "M": 16, "KH": 2, "KW": 2, "DH": 1, "DW": 1, "SH": 1, "SW": 1}
SIZES |= {"H": 5, "W": 4, "T": 1, "L": 0, "B": 0, "R": 1}
TYPES = {"char": np.dtype(np.int8), "uchar": np.dtype(np.uint8)}


def drawn(r: Random, x: str, w: str, zeros: bool, groups: int = 1) -> Quantised:
    """A random quantised convolution of images of the type x and weights of the type w, in so many
    `groups`; the weights have a zero point for each channel if `zeros`, else 0 for one."""
    rng = np.random.default_rng(r.randrange(1 << 30))

    def numbers(t: str, *shape: int) -> Numbers:
        ends = np.iinfo(str(TYPES[t]))
        return rng.integers(ends.min, ends.max, shape, TYPES[t], endpoint=True)

    outputs = 16 * groups
    scales = rng.uniform(0.001, 0.02, outputs).astype(np.float32)
    return Quantised(
        {**SIZES, "G": groups},
        numbers(x, 32 * groups, 5, 4),
        numbers(w, outputs, 32, 2, 2),
        numbers(w, outputs) * zeros,
        rng.integers(-50000, 50000, outputs).astype(np.int32),
        (0.02, scales, 1.0),
        (int(numbers(x, 1)[0]), int(numbers(x, 1)[0])),
        TYPES[x],
    )


def program(case: Quantised, x: str, w: str, result: str, weight: str = "(w - zero)") -> Program:
    xz, yz = case.zeros
    return parse(TEXT.format(x=x, w=w, xz=xz, weight=weight, result=result.format(y=x, yz=yz)))


def of_one_group(case: Quantised) -> dict[str, Numbers]:
    """The inputs of a convolution in one group, without the axis of groups."""
    return {k: v if k == "image" else v[0] for k, v in case.inputs().items()}


def agrees(
    session: Session, p: Program, inputs: dict[str, Numbers], form: str, right: Numbers
) -> None:
    """Assert that the interpreter and the program p, lowered by `form` and run, make of the inputs
    what is right."""
    if "cl_khr_subgroup_shuffle" not in session.handle.extensions:
        pytest.skip(f"{session.device.name} has neither the instruction nor shuffles")
    assert np.array_equal(np.asarray(evaluate(p, inputs)), right), SEED
    low = lower(p, form_named(p, "matrix", form))
    assert [step.rule for step in low.derivation.steps].count(read_beside) == 1
    point = points(low, H200, 1, seed=1)[1][0]
    made = generate(bound(low.program, point), max_work_group=1024)
    demand_proofs(made)
    assert any(calls(kernel) for kernel in made.kernels)
    assert np.array_equal(np.asarray(session.build(made.plan, checking=True)(inputs)), right), SEED


@pytest.mark.parametrize(
    ("x", "w", "zeros", "form"),
    [
        ("uchar", "char", False, "mma-su-32 patch relaid zero-points"),
        ("uchar", "char", True, "mma-su-32 padded relaid zero-points"),
    ],
)
def test_convolutions_of_onnx_have_a_scale_and_a_zero_point_for_each_channel(
    session: Session, x: str, w: str, zeros: bool, form: str
) -> None:
    case = drawn(Random(f"{SEED} {form}"), x, w, zeros)
    p = program(case, x, w, ONNX_RESULT)
    agrees(session, p, of_one_group(case), form, case.by_onnx())


def test_groups_of_channels_have_scales_and_zero_points_too(session: Session) -> None:
    case = drawn(Random(f"{SEED} groups"), "char", "char", zeros=True, groups=2)
    form = "mma-ss-32 padded zero-points"
    agrees(session, case.program(ONNX_RESULT), case.inputs(), form, case.by_onnx())


@pytest.mark.parametrize(
    ("result", "scaled", "form"),
    [
        ("requantise_up(acc, q, shift)", tflite_once, "mma-ss-32 padded relaid zero-points"),
        ("requantise_twice(acc, q, shift)", tflite_twice, "arm-matrix-ss patch relaid zero-points"),
    ],
)
def test_convolutions_of_tflite_have_a_scale_for_each_channel(
    session: Session, result: str, scaled: object, form: str
) -> None:
    case = drawn(Random(f"{SEED} {form}"), "char", "char", zeros=False)
    assert callable(scaled)
    of_sums = np.vectorize(scaled, otypes=[np.int64])(case.sums(), *case.multipliers())
    right = np.clip(of_sums + case.zeros[1], -128, 127).astype(np.int8)
    p = program(case, "char", "char", f"char_sat({result} + {{yz}})", weight="w")
    agrees(session, p, of_one_group(case), form, right)
