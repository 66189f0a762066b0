"""Tests that the error of a faster algorithm is at most the known error of its derivation, for
inputs of many kinds."""

from collections.abc import Callable
from functools import cache
from random import Random

import numpy as np
import pytest

from codegen.compile import generate
from codegen.plan import Plan
from codegen.runtime.session import Session
from constraints.devices import profile
from explore.measure.reference import expected
from explore.space.derive_form import points
from explore.space.lowering import bound
from ir.meaning.inputs import random_inputs
from ir.parse import parse
from rewrites.engine.meaning_check import operations
from rewrites.families.all_families import forms
from rewrites.tuning.lower import lower
from tests.support.quick_builds import quick_builds as quick_builds

CONV = """
conv(const weights : [[[[float]C]K]K]M, image : [[[float]C]H]H) =
  map2d(window -> map(kernel -> dot(flatten(window), flatten(kernel)), weights),
    slide2d(K, 1, pad2d(1, 0.0, image)))
where C = 8, M = 8, H = 12, K = 3
"""
MATMUL = """
matmul(const a : [[float]8]32, b : [[float]8]32) = map(row -> map(column -> dot(row, column), b), a)
"""
DEEP = """
deep(const weights : [[[[float]C]3]3]2, image : [[[float]C]6]6) =
  map2d(window -> map(kernel -> dot(flatten(window), flatten(kernel)), weights),
    slide2d(3, 1, pad2d(1, 0.0, image)))
where C = 512
"""
LEFT = """
left(const weights : [[[[float]4]3]3]4, const b : [float]4, image : [[[float]4]9]9) =
  map2d(window -> map((kernel, v) -> dot(flatten(window), flatten(kernel)) - v, zip(weights, b)),
    slide2d(3, 1, image))
"""
LONG = """
long(const a : [[float]4096]2, b : [[float]4096]2) = map(x -> map(y -> dot(x, y), b), a)
"""
WIDE = CONV.replace("C = 8, M = 8, H = 12", "C = 16, M = 16, H = 7")
SQUARE = MATMUL.replace("8]32", "32]32")
WAYS = [
    (CONV, "winograd", "F6 registers"),
    (CONV, "winograd", "F4 fused"),
    (CONV, "winograd", "F2 blocked"),
    (CONV, "fgfft", ""),
    (CONV, "fgfft", "registers"),
    (CONV, "fgfft", "registers gauss"),
    (CONV, "fft", "registers"),
    (MATMUL, "strassen", "twice registers"),
    (WIDE, "winograd", "F2 mma-bf16 parts"),
    (WIDE, "winograd", "F4 mma-bf16 three-parts"),
    (WIDE, "winograd", "F2 mma-tf32 parts"),
    (SQUARE, "strassen", "once mma-bf16 parts"),
]


@cache
def made(text: str, family: str, name: str) -> tuple[Plan, float]:
    """The plan of a program, given as text, by a family's form `name` at a legal point, and the
    known error of its derivation."""
    p = parse(text)
    found = lower(p, next(f for f in forms(p, family) if f.name == name))
    _, (point,) = points(found, profile("cpu"), 1, 1)
    return generate(bound(found.program, point)).plan, found.derivation.rounding


def one_large(x: np.ndarray, draw: Random) -> np.ndarray:
    """An input with the shape of x: a large number in one place, and zeros elsewhere."""
    alone = np.zeros_like(x)
    alone.flat[draw.randrange(x.size)] = 1000.1
    return alone


def few(x: np.ndarray, draw: Random) -> np.ndarray:
    """The input x with about one number in twenty kept, and zeros elsewhere."""
    kept = np.random.default_rng(draw.randrange(1000)).random(x.shape) < 0.05
    return np.where(kept, x, 0).astype(x.dtype)


def constant(x: np.ndarray, draw: Random) -> np.ndarray:
    """An input with the shape of x, and 0.1 everywhere."""
    return np.full_like(x, 0.1)


def of_all_sizes(x: np.ndarray, draw: Random) -> np.ndarray:
    """The input x with numbers scaled at random by factors from a thousandth to a thousand."""
    sizes = np.random.default_rng(draw.randrange(1000)).uniform(-3, 3, x.shape)
    return (x * 10**sizes).astype(x.dtype)


@pytest.mark.parametrize("drawn", [one_large, few, constant, of_all_sizes])
@pytest.mark.parametrize(("text", "family", "name"), WAYS)
def test_no_more_is_lost_than_is_known(
    text: str,
    family: str,
    name: str,
    drawn: Callable[[np.ndarray, Random], np.ndarray],
    session: Session,
) -> None:
    p = parse(text)
    if "mma" in name and "cl_khr_subgroup_shuffle" not in session.handle.extensions:
        pytest.skip(f"{session.device.name} has neither the instruction nor shuffles")
    plan, rounding = made(text, family, name)
    given = session.build(plan, checking=True)
    for seed in range(3):
        draw = Random(seed)
        inputs = {name: np.asarray(x) for name, x in random_inputs(p, seed, False).items()}
        for strange in inputs:
            some = {**inputs, strange: drawn(inputs[strange], draw)}
            meant = expected(p, some)
            assert meant.agrees(given(some), rounding)


def test_one_wrong_number_of_many_shows() -> None:
    """One number of 80,000 results that is off by 1 % is noticed, although F(6, 3) is allowed
    rounding errors."""
    p = parse(CONV.replace("H = 12", "H = 100"))
    rounding = next(f for f in forms(p, "winograd") if f.name == "F6 registers")
    allowed = lower(p, rounding).derivation.rounding
    inputs = {name: np.asarray(x) for name, x in random_inputs(p, 1).items()}
    meant = expected(p, inputs)
    out = meant.output.copy()
    place = np.unravel_index(np.abs(out).argmax(), out.shape)
    out[place] *= 0.99
    assert out.size == 80_000
    assert not meant.agrees(out, allowed)


@pytest.mark.parametrize(
    ("text", "family", "name"),
    [
        (DEEP, "winograd", "F2 registers"),
        (DEEP, "winograd", "F6 registers"),
        (DEEP, "fgfft", "registers"),
        (DEEP, "fgfft", "registers gauss"),
        (DEEP, "fft", "registers"),
        (LEFT, "winograd", "F6 registers"),
        (LEFT, "fgfft", "registers"),
        (LONG, "strassen", "once registers"),
    ],
)
@pytest.mark.parametrize("value", [3.0, 0.1])
def test_of_sums_whose_roundings_add_up_no_more_is_lost_than_one_for_each_term(
    text: str, family: str, name: str, value: float, session: Session
) -> None:
    """If all inputs are `value`, so that a long sum is rounded the same way at each step, its error
    is at most the known error and one rounding for each term.

    A bias may cancel nearly all of a sum: for the value 3, one of 324 that of 36 products of 3 and
    3.
    """
    p = parse(text)
    plan, rounding = made(text, family, name)
    inputs = {n: np.full_like(np.asarray(x), value) for n, x in random_inputs(p, 1, False).items()}
    if "b" in inputs and text == LEFT:
        inputs["b"] *= 36 * value
    meant = expected(p, inputs)
    out = session.build(plan, checking=True)(inputs)
    assert meant.agrees(out, rounding * (1 + operations(p.body) / 4))
