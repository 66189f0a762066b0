"""Tests of `winograd` on programs that sum over windows of planes alone: transformed planes are
multiplied element by element."""

# key: m results a side of a tile

import numpy as np
import pytest

from codegen.compile import generate
from codegen.plan import Role
from codegen.runtime.session import Session
from explore.building.operations import multiplications
from explore.measure.reference import expected
from explore.space.lowering import bound
from ir.core.nodes import Program
from ir.meaning.inputs import random_inputs
from ir.parse import parse
from rewrites.engine.refused import Refused
from rewrites.families.all_families import forms
from rewrites.tuning.family import Form
from rewrites.tuning.lower import lower
from tests.rewrites.test_winograd import (
    CONV,
    DEPTHWISE,
    PLAIN,
    SIGNAL,
    STENCIL,
    agrees,
    drawn,
)

BATCHED = """
batched(const gs : [[[float]{b}]{a}]{m}, const bs : [float]{m}, images : [[[float]9]9]2) =
  map(image -> map2d(window -> map((g, b) ->
      relu(reduce(b, (acc, (x, h)) -> acc + x * h, zip(flatten(window), flatten(g)))), zip(gs, bs)),
    slide2d(({a}, {b}), 1, pad2d(1, 0.0, image))), images)
"""
FIR = """
fir(const g : [float]5, xs : [float]21) = map(w -> dot(w, g), slide(5, 1, pad(2, 1, 0.0, xs)))
"""
RUNNING = "fir(g : [float]3, xs : [float]17) = map(w -> 1.0 + dot(g, w), slide(3, 1, xs))"
MULTIPLIED = """
planes(w) = transpose(map(r -> transpose(r), w))
multiplied(const taps : [[[[float]3]3]3]4, image : [[[float]4]9]7) =
  map2d(w -> join(map((x, ks) -> map(k -> dot(flatten(x), flatten(k)), ks),
      zip(planes(w), taps))),
    slide2d(3, 1, pad2d(1, 0.0, image)))
"""
FLAT = """
flat(const taps : [[float]9]5, image : [[float]9]7) =
  map2d(w -> map(k -> dot(flatten(w), k), taps), slide2d(3, 1, pad2d(1, 0.0, image)))
"""
SINGLES = [
    DEPTHWISE, STENCIL, PLAIN, SIGNAL, FIR, RUNNING, MULTIPLIED, FLAT,
    BATCHED.format(a=3, b=3, m=6), BATCHED.format(a=5, b=2, m=3), BATCHED.format(a=1, b=3, m=2),
]  # fmt: skip


@pytest.mark.parametrize("m", [2, 4, 6])
@pytest.mark.parametrize("text", SINGLES)
def test_windows_alone_are_multiplied_element_by_element(
    text: str, m: int, session: Session
) -> None:
    """Depthwise convolutions, convolutions of planes without channels, of one kernel, or along one
    dimension are right, and store transformed kernels only if these are not constant."""
    p = parse(text)
    inputs = {name: np.asarray(x) for name, x in random_inputs(p, 3).items()}
    meant = expected(p, inputs)
    lowering = lower(p, elementwise(p, m))
    for made in drawn(lowering, 1):
        stored = [b for b in made.plan.buffers if b.role is Role.TEMPORARY]
        assert all(param.const for param in p.params[:-1]) != bool(stored)
        out = session.build(made.plan, checking=True)(inputs)
        assert meant.agrees(out, lowering.derivation.rounding)


RESIDUAL = """
planes(w) = transpose(map(r -> transpose(r), w))
residual(const taps : [[[float]4]3]3, image : [[[float]4]9]7, skip : [[[float]4]9]7) =
  map((ws, ss) -> map((w, s) -> map((x, k, v) -> v + dot(flatten(x), flatten(k)),
      zip(planes(w), planes(taps), s)), zip(ws, ss)),
    zip(slide2d(3, 1, pad2d(1, 0.0, image)), skip))
"""


def test_what_is_added_to_each_result_may_differ(session: Session) -> None:
    agrees(parse(RESIDUAL), "F2 elementwise", session)


def elementwise(p: Program, m: int) -> Form:
    return next(f for f in forms(p, "winograd") if f.name == f"F{m} elementwise")


@pytest.mark.parametrize(("m", "points"), [(2, 16), (4, 36)])
def test_a_tile_of_a_plane_takes_a_product_a_point(m: int, points: int) -> None:
    """A tile of F(m × m, 3 × 3) takes one multiplication for each of its (m + 2)² points; with m =
    4, the transform of data adds multiplications by 5, two in each row and column."""
    p = parse(PLAIN.replace("[float]9]9", "[float]10]10"))
    (made,) = generate(bound(lower(p, elementwise(p, m)).program, {"v": 4})).kernels[-1:]
    tiles, fives = (8 // m) ** 2, 2 * 6 * 2 if m == 4 else 0
    assert multiplications([made]) == tiles * (4 * points + fives)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (CONV.format(n=1, s=9, r=3, p=1, t=2, c=1, m=2), "windows one apart, found them 2 apart"),
        (CONV.format(n=1, s=9, r=3, p=1, t=1, c=4, m=2), "something besides is summed up"),
        (CONV.format(n=1, s=9, r=1, p=1, t=1, c=4, m=2), "windows of one: it is multiplied"),
    ],
)
def test_forms_element_by_element_say_what_they_do_not_cover(text: str, reason: str) -> None:
    p = parse(text)
    with pytest.raises(Refused, match=reason):
        lower(p, elementwise(p, 2))
