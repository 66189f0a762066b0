"""Tests that quantised convolutions give exactly the numbers of ONNX's reference and of TFLite's
arithmetic."""

import os
import secrets
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from codegen.compile import generate
from codegen.demand_proofs import demand_proofs
from codegen.runtime.session import Session
from constraints.devices import profile
from explore.space.derive_form import points
from explore.space.lowering import bound
from ir.meaning.inputs import STORED, Numbers, any_numbers
from ir.meaning.interpret import evaluate
from ir.parse import parse
from rewrites.families.all_families import form_named
from rewrites.tuning.lower import lower
from tests.support.families import LOWERING
from tests.support.quantised import (
    ONNX_RESULT,
    Quantised,
    drawn,
    of_onnx,
    tflite_once,
    tflite_twice,
)
from tests.support.quantised_kernels import tried
from tests.support.quick_builds import quick_builds as quick_builds

SEED = os.environ.get("SEED") or secrets.token_hex(4)
CASES, ON_DEVICES = 200, 10
TFLITE = {
    "requantise_up(acc, q, shift)": tflite_once,
    "requantise_twice(acc, q, shift)": tflite_twice,
}


def on_devices(
    sessions: tuple[Session, ...],
    case: Quantised,
    result: str,
    *,
    family: str,
    right: Numbers,
    r: Random,
) -> None:
    """Assert that on each device the kernels of a family, in a form drawn at random, give the right
    result, or that the family refuses the program; `naive` may not."""
    program = case.program(result)
    found = tried(program, family, case.inputs(), right, sessions=sessions, r=r)
    assert found is not None or family != "naive"
    assert found is None or found.right, (SEED, family, found.form, found.source)


def test_random_convolutions_are_those_of_onnx() -> None:
    for k in range(CASES):
        case = drawn(Random(f"{SEED} {k}"))
        sums = np.asarray(evaluate(case.program("acc - bias"), case.inputs()))
        assert np.array_equal(sums, case.sums_by_onnx()), (SEED, k)
        found = np.asarray(evaluate(case.program(ONNX_RESULT), case.inputs()))
        assert found.dtype == case.y
        assert np.array_equal(found, case.by_onnx()), (SEED, k)


@pytest.mark.parametrize("k", range(ON_DEVICES))
def test_random_qlinear_convolutions_on_devices(sessions: tuple[Session, ...], k: int) -> None:
    r = Random(f"{SEED} device {k}")
    case = drawn(r)
    family = r.choice(LOWERING)
    on_devices(sessions, case, ONNX_RESULT, family=family, right=case.by_onnx(), r=r)


@pytest.mark.parametrize("result", TFLITE)
def test_random_convolutions_are_those_of_tflite(
    sessions: tuple[Session, ...], result: str
) -> None:
    for k in range(CASES // 4):
        r = Random(f"{SEED} tflite {k}")
        case = drawn(r, tflite=True)
        scaled = np.vectorize(TFLITE[result], otypes=[np.int64])(case.sums(), *case.multipliers())
        right = np.clip(scaled + case.zeros[1], -128, 127).astype(np.int8)
        text = f"char_sat({result} + {{yz}})"
        found = np.asarray(evaluate(case.program(text), case.inputs()))
        assert np.array_equal(found, right), (SEED, k)
        if k < 3:
            on_devices(sessions, case, text, family=r.choice(LOWERING), right=right, r=r)


BY_INSTRUCTIONS = """
conv(const weights : [[[[char]32]3]3]16, const biases : [int]16, image : [[[char]32]5]6) =
  map2d(window -> map((kernel, bias) ->
      let acc = reduce(bias, (acc, (x, w)) -> acc + x * w, zip(flatten(window), flatten(kernel)))
      char_sat({result} - 3),
    zip(weights, biases)), slide2d(3, 1, pad2d(1, 0, image)))
"""


@pytest.mark.parametrize(
    ("result", "form"),
    [*zip(TFLITE, ["mma-ss-32 padded relaid", "arm-matrix-ss patch relaid"], strict=True)],
)
def test_convolutions_of_tflite_by_instructions(session: Session, result: str, form: str) -> None:
    """With one scale for all channels, and an image whose zero point is 0."""
    if "cl_khr_subgroup_shuffle" not in session.handle.extensions:
        pytest.skip(f"{session.device.name} has neither the instruction nor shuffles")
    r, rng = Random(f"{SEED} {result} {form}"), np.random.default_rng()
    q, shift = r.randrange(2**30, 2**31), r.randrange(-12, -5)
    text = result.replace("q, shift", f"{q}, {shift}")
    program = parse(BY_INSTRUCTIONS.format(result=text))
    inputs = {
        "weights": any_numbers(STORED["char"], (16, 3, 3, 32), rng, 0.1),
        "biases": rng.integers(-(2**16), 2**16, 16).astype(np.int32),
        "image": any_numbers(STORED["char"], (6, 5, 32), rng, 0.1),
    }
    padded = np.pad(inputs["image"].astype(np.int64), ((1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(0, 1))
    sums = np.einsum("hwcrs,mrsc->hwm", windows, inputs["weights"].astype(np.int64))
    scaled = np.vectorize(TFLITE[result])(sums + inputs["biases"], q, shift)
    right = np.clip(scaled - 3, -128, 127)
    assert np.array_equal(np.asarray(evaluate(program, inputs)), right), (SEED, q, shift)
    low = lower(program, form_named(program, "matrix", form))
    _, (point,) = points(low, profile("h200"), 1, seed=r.randrange(1 << 20))
    made = generate(bound(low.program, point), max_work_group=1024)
    demand_proofs(made)
    out = session.build(made.plan, checking=True)(inputs)
    assert np.array_equal(np.asarray(out), right), (SEED, q, shift)


def test_requantisation_rounds_as_it_says_over_all_shifts() -> None:
    rng = np.random.default_rng()
    accs = np.concatenate([rng.integers(-(2**31), 2**31, 500), np.arange(-300, 300)])
    qs = np.where(rng.random(len(accs)) < 0.3, 2**30, rng.integers(2**30, 2**31, len(accs)))
    shifts, zeros = rng.integers(-31, 31, len(accs)), rng.integers(-128, 128, len(accs))
    n = len(accs)
    program = parse(
        f"f(accs : [int]{n}, qs : [int]{n}, shifts : [int]{n}, zeros : [int]{n}) =\n"
        "  map((acc, q, shift, zero) -> (requantise_even(acc, q, shift, zero),\n"
        "      requantise_up(acc, q, shift), requantise_twice(acc, q, shift)),\n"
        "    zip(accs, qs, shifts, zeros))"
    )
    columns = {"accs": accs, "qs": qs, "shifts": shifts, "zeros": zeros}
    even, up, twice = evaluate(program, {k: v.astype(np.int32) for k, v in columns.items()})
    rows = list(zip(accs.tolist(), qs.tolist(), shifts.tolist(), zeros.tolist(), strict=True))
    exact = [Fraction(acc * q * 2 ** (31 + shift), 2**62) for acc, q, shift, _ in rows]
    expected = [round(x + row[3]) - row[3] for x, row in zip(exact, rows, strict=True)]
    assert np.asarray(even).tolist() == expected
    assert np.asarray(up).tolist() == [tflite_once(*row[:3]) for row in rows]
    parts = [int(part) for part, shift in zip(twice, shifts, strict=True) if shift <= 0]
    assert parts == [tflite_twice(*row[:3]) for row in rows if row[2] <= 0]


@pytest.mark.parametrize(
    ("name", "result"),
    [
        ("test_qlinearconv", ONNX_RESULT),
        ("test_convinteger_with_padding", "acc"),
        ("test_convinteger_without_padding", "acc"),
    ],
)
def test_the_cases_that_come_with_onnx(
    sessions: tuple[Session, ...], name: str, result: str
) -> None:
    case, right = of_onnx(name)
    assert np.array_equal(np.asarray(evaluate(case.program(result), case.inputs())), right)
    on_devices(sessions, case, result, family="naive", right=right, r=Random(name))
