"""Tests that the largest and least of whole numbers are numbers of their type, at the ends of its
range too, in the interpreter and in the kernels of every family."""

from random import Random

import numpy as np
import pytest

from codegen.compile import generate
from codegen.runtime.session import Session
from explore.space.lowering import lowering
from ir.core.type_rules import type_of
from ir.core.types import RANGES, Scalar, leaves
from ir.meaning.inputs import STORED, any_numbers
from ir.meaning.interpret import evaluate
from ir.parse import parse
from tests.support.families import LOWERING
from tests.support.quantised_kernels import tried
from tests.support.quick_builds import quick_builds as quick_builds

TYPES = ("char", "uchar", "short", "ushort", "int", "long")
POOLS = {  # and what NumPy makes of windows
    "maxpool2d((3, 2), (2, 1), image)": np.max,
    "maxpool2d((3, 2), (2, 1), pad2d((0, 2, 0, 0), -inf, image))": np.max,
    "pool2d(minimum, (3, 2), (2, 1), image)": np.min,
    "map2d(pixel -> map(x -> relu(x), pixel), pool2d(minimum, (3, 2), (2, 1), image))": np.min,
}


@pytest.mark.parametrize("t", TYPES)
@pytest.mark.parametrize("body", POOLS)
def test_pools_of_whole_numbers(sessions: tuple[Session, ...], t: str, body: str) -> None:
    program, rng = parse(f"f(image : [[[{t}]5]9]7) = {body}"), np.random.default_rng()
    assert list(leaves(type_of(program.body))) == [Scalar(t)]
    image = any_numbers(STORED[t], (7, 9, 5), rng, 0.3)
    padded = np.pad(
        image, ((0, 2 * ("pad2d" in body)), (0, 0), (0, 0)), constant_values=RANGES[t][0]
    )
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 2), axis=(0, 1))[::2]
    right = POOLS[body](windows, axis=(-2, -1))
    right = np.maximum(right, 0) if "relu" in body else right
    found = np.asarray(evaluate(program, {"image": image}))
    assert found.dtype == STORED[t]
    assert np.array_equal(found, right)
    r, inputs = Random(), {"image": image}
    for family in ("naive", r.choice(LOWERING)):
        made = tried(program, family, inputs, right, sessions=sessions, r=r)
        assert made is not None or family != "naive"
        assert made is None or made.right, (family, made.form, made.source)


@pytest.mark.parametrize("t", TYPES)
def test_the_ends_of_each_type_are_found(t: str) -> None:
    program = parse(
        f"f(xs : [{t}]3) = (maximum(xs), minimum(xs), maximum(map(x -> min(x, 7), xs)))"
    )
    for end in RANGES[t]:
        xs = np.full(3, end, STORED[t])
        assert list(map(int, evaluate(program, {"xs": xs}))) == [end, end, min(end, 7)]


@pytest.mark.parametrize("t", TYPES)
def test_softmax_of_whole_numbers_is_made_of_floats(sessions: tuple[Session, ...], t: str) -> None:
    """Of numbers whose differences an int may not hold, too."""
    program, rng = parse(f"f(m : [[{t}]9]3) = map(xs -> softmax(xs), m)"), np.random.default_rng()
    m = rng.integers(0, 9, (3, 9)).astype(STORED[t])
    m[0, :2], m[1, :2] = RANGES[t], RANGES[t][0]
    powers = np.exp(m.astype(float) - m.astype(float).max(axis=1, keepdims=True))
    right = powers / powers.sum(axis=1, keepdims=True)
    assert np.allclose(np.asarray(evaluate(program, {"m": m})), right, rtol=1e-12, atol=0)
    plan = generate(lowering(program, "naive").program).plan
    for session in sessions:
        out = session.build(plan, checking=True)({"m": m})
        assert np.allclose(out, right, rtol=1e-5, atol=1e-30)
