"""Tests that quantised convolutions give exactly the numbers of ONNX's reference and of TFLite's
arithmetic."""

import os
import secrets
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from codegen.runtime.session import Session
from ir.meaning.inputs import Numbers
from ir.meaning.interpret import evaluate
from ir.parse import parse
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
