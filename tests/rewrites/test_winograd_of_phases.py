"""Tests of `winograd` on windows whose elements lie apart: each phase of an image, of every d-th
element, is convolved by transforms."""

from random import Random

import numpy as np
import pytest

from codegen.compile import generate
from codegen.runtime.session import Session
from explore.building.operations import multiplications
from explore.measure.reference import expected
from explore.space.lowering import bound
from ir.core.nodes import Program
from ir.meaning.inputs import random_inputs
from ir.parse import parse
from rewrites.engine.refused import Refused
from rewrites.families.all_families import forms
from rewrites.tuning.lower import lower
from tests.rewrites.test_winograd import drawn

CHANNELS = """
channels(const weights : [[[[float]C]B]A]M, const biases : [float]M, images : [[[[float]C]W]H]N) =
  map(image -> map2d(window -> map((kernel, bias) ->
      relu(dot(flatten(dilate2d((D, E), window)), flatten(kernel)) + bias), zip(weights, biases)),
    slide2d((D * (A - 1) + 1, E * (B - 1) + 1), 1, pad2d(P, 0.0, image))), images)
"""
RESIDUAL = """
residual(const weights : [[[[float]C]B]A]M, images : [[[[float]C]W]H]N, more : [[[[float]M]J]I]N) =
  map((image, added) -> map((windows, row) -> map((window, pixel) -> map((kernel, x) ->
      x + dot(flatten(dilate2d((D, E), window)), flatten(kernel)), zip(weights, pixel)),
      zip(windows, row)),
    zip(slide2d((D * (A - 1) + 1, E * (B - 1) + 1), 1, pad2d(P, 0.0, image)), added)),
  zip(images, more))
"""
GROUPS = """
groups(const weights : [[[[[float]C]B]A]M]N, image : [[[float](N * C)]W]H) =
  map2d(window -> join(map((part, kernels) -> map(kernel -> dot(flatten(part), flatten(kernel)),
      kernels),
    zip(transpose(map(pixel -> split(C, pixel), join(dilate2d((D, E), window)))), weights))),
  slide2d((D * (A - 1) + 1, E * (B - 1) + 1), 1, pad2d(P, 0.0, image)))
"""
ROWS = """
rows(const weights : [[[float]C]B]M, rows : [[[float]C]W]N) =
  map(row -> map(window -> map(kernel ->
      dot(flatten(join(slide(1, E, window))), flatten(kernel)), weights),
    slide(E * (B - 1) + 1, 1, pad(P, P, 0.0, row))), rows)
"""
DEPTHWISE = """
depthwise(const weights : [[[float]B]A]C, image : [[[float]C]W]H) =
  map2d(window -> map((channel, kernel) -> dot(channel, flatten(kernel)),
      zip(transpose(join(dilate2d((D, E), window))), weights)),
    slide2d((D * (A - 1) + 1, E * (B - 1) + 1), 1, pad2d(P, 0.0, image)))
"""
FILTER = """
filter(const weights : [float]B, rows : [[float]W]N) =
  map(row -> map(window -> tanh(dot(join(slide(1, E, window)), weights)),
    slide(E * (B - 1) + 1, 1, pad(P, P, 0.0, row))), rows)
"""
SUMS, ALONE = (CHANNELS, RESIDUAL, GROUPS, ROWS), (DEPTHWISE, FILTER)


def drawn_sizes(rng: Random, text: str) -> str:
    """Random sizes of a program, as text: taps lie up to five apart, in each dimension on its own;
    phases may have fewer results than a tile."""
    a, b, p = rng.choice((1, 2, 3)), rng.choice((2, 3)), rng.choice((0, 1, 3))
    d, e = rng.choice((1, 2, 3)), rng.choice((2, 2, 3, 5))
    reach = [max(1, d * (a - 1) + 1 - 2 * p), max(1, e * (b - 1) + 1 - 2 * p)]
    h, w = (least + rng.randrange(12) for least in reach)
    sizes = {
        "A": a, "B": b, "P": p, "D": d, "E": e, "H": h, "W": w,
        "N": rng.choice((1, 2, 3)), "C": rng.choice((2, 3, 4)), "M": rng.choice((2, 5, 8)),
        "I": h + 2 * p - d * (a - 1), "J": w + 2 * p - e * (b - 1),
    }  # fmt: skip
    return ", ".join(f"{name} = {n}" for name, n in sizes.items() if name in text)


@pytest.mark.parametrize("seed", range(36))
def test_convolutions_whose_taps_lie_apart_are_right(seed: int, session: Session) -> None:
    rng = Random(seed)
    text = (SUMS * 2 + ALONE)[seed % 10]
    p = parse(f"{text} where {drawn_sizes(rng, text)}")
    applies = [f for f in forms(p, "winograd") if not f.instructions]
    applies = [f for f in applies if ("elementwise" in f.name) == (text in ALONE)]
    form = rng.choice(
        [f for f in applies if text not in (GROUPS, RESIDUAL) or "fused" not in f.name]
    )
    lowering = lower(p, form)
    inputs = {name: np.asarray(x) for name, x in random_inputs(p, seed).items()}
    (made,) = drawn(lowering, 1)
    out = session.build(made.plan, checking=True)(inputs)
    assert expected(p, inputs).agrees(out, lowering.derivation.rounding)


def squares(side: int, apart: int) -> Program:
    sizes = f"A = 3, B = 3, C = 8, M = 8, N = 1, H = {side}, W = {side}"
    return parse(f"{CHANNELS} where {sizes}, D = {apart}, E = {apart}, P = {apart}")


@pytest.mark.parametrize("apart", [1, 2, 4])
def test_they_take_as_few_products_as_taps_that_are_neighbours(apart: int) -> None:
    """F(2 × 2, 3 × 3) takes 16 products where 36 are summed up, if phases are whole tiles."""
    lowering = lower(squares(8, apart), next(iter(forms(squares(8, apart), "winograd"))))
    one = {"k": 1, "tr": 1, "tx": 1, "v": 4, "vi": 4, "vo": 4}
    kernels = generate(bound(lowering.program, one)).kernels
    assert multiplications(kernels[-2:-1]) == 8 * 8 * 9 * 8 * 8 * 16 // 36


def test_windows_further_apart_are_refused() -> None:
    steps = CHANNELS.replace(", 1, pad2d", ", 2, pad2d")
    p = parse(f"{steps} where A = 3, B = 3, C = 8, M = 8, N = 1, H = 9, W = 9, D = 2, E = 2, P = 2")
    with pytest.raises(Refused, match="apart"):
        lower(p, next(iter(forms(p, "winograd"))))
