"""Tests of `strassen`: matrix products are right, and at each level of the method take 7/8 of the
multiplications."""

import numpy as np
import pytest

from codegen.compile import generate
from codegen.proof.prove import prove
from codegen.runtime.session import Session
from constraints.devices import profile
from explore.building.operations import multiplications, scalings
from explore.measure.reference import expected
from explore.space.derive_form import points
from explore.space.lowering import bound
from ir.core.nodes import Program
from ir.meaning.inputs import random_inputs
from ir.parse import parse
from rewrites.engine.refused import Refused
from rewrites.families.all_families import forms
from rewrites.fast_algorithms.bilinear_algorithms import (
    Bilinear,
    block_product,
    complex_product,
    gauss,
    strassen,
)
from rewrites.tuning.lower import lower
from rewrites.tuning.prepared_forms import PREPARATIONS

MATMUL = """
matmul(a : [[float]K]M, b : [[float]N]K) =
  map(row -> map(column -> dot(row, column), transpose(b)), a)
where M = {m}, N = {n}, K = {k}
"""


CONV1X1 = """
conv1x1(const weights : [[float]C]M, const biases : [float]M, image : [[[float]C]W]H) =
  map2d(pixel -> map((kernel, bias) ->
      relu(reduce(bias, (acc, (x, w)) -> acc + x * w, zip(pixel, kernel))), zip(weights, biases)),
    image)
where C = 5, W = 7, H = 3, M = 6
"""
BATCHED = """
batched(a : [[[float]K]M]B, b : [[[float]N]K]B) =
  map((x, y) -> map(row -> map(column -> dot(row, column), transpose(y)), x), zip(a, b))
where B = 3, M = 6, N = 10, K = 7
"""
GROUPED = """
grouped(const weights : [[[[[float](C / G)]K]K](M / G)]G, image : [[[float]C]W]H) =
  map2d(window ->
      join(map((part, kernels) -> map(kernel -> dot(flatten(part), flatten(kernel)), kernels),
        zip(transpose(map(pixel -> split(C / G, pixel), join(window))), weights))),
    slide2d(K, 1, pad2d(1, 0.0, image)))
where C = 6, W = 5, H = 4, K = 3, M = 9, G = 3
"""
SUMS = "sums(xs : [[float]K]M) = map(row -> sum(row), xs) where K = 8, M = 8"


@pytest.mark.parametrize(("form", "left"), [("once", 7 / 8), ("twice", 49 / 64)])
@pytest.mark.parametrize(
    ("way", "m", "n", "k"), [("registers", 32, 64, 16), ("blocked", 64, 32, 8)]
)
def test_products_are_seven_eighths_a_level(
    form: str, left: float, way: str, m: int, n: int, k: int, session: Session
) -> None:
    p = parse(MATMUL.format(m=m, n=n, k=k))
    counts = right_everywhere(p, f"{form} {way}", 8, session)
    assert min(counts) == m * n * k * left


def right_everywhere(p: Program, form: str, count: int, session: Session) -> list[int]:
    """The number of multiplications at each of `count` points of a form, after asserting that the
    kernels are proved and right there."""
    lowering = lower(p, next(f for f in forms(p, "strassen") if f.name == form))
    inputs = {name: np.asarray(x) for name, x in random_inputs(p, 3).items()}
    meant = expected(p, inputs)
    counts = []
    for point in points(lowering, profile("cpu"), count, 1)[1]:
        made = generate(bound(lowering.program, point))
        assert all(prove(kernel).ok for kernel in made.kernels)
        out = session.build(made.plan, checking=True)(inputs)
        assert meant.agrees(out, lowering.derivation.rounding)
        counts.append(multiplications(made.kernels))
        assert scalings(made.kernels) == 0
    assert counts
    return counts


@pytest.mark.parametrize("form", ["once registers", "twice registers", "once blocked"])
@pytest.mark.parametrize(
    "text",
    [MATMUL.format(m=13, n=7, k=9), MATMUL.format(m=1, n=2, k=1), CONV1X1, BATCHED, GROUPED],
    ids=["odd", "small", "conv1x1", "batched", "grouped"],
)
def test_any_sides_batches_and_convolutions_are_products(
    text: str, form: str, session: Session
) -> None:
    right_everywhere(parse(text), form, 1, session)


BATCHES = """
batches(a : [[[[float]4]8]3]2, b : [[[[float]4]6]3]2) =
  map((x, y) -> map((p, q) -> map(r -> map(c -> dot(r, c), q), p), zip(x, y)), zip(a, b))
"""
LAST = """
last(a : [[float]8]8, b : [[float]8]4) =
  map(r -> map(c -> reduce(0.0, (acc, (x, y)) -> y * x + acc, zip(r, c)), b), a)
"""
LAYERS = """
layers(const a : [[float]8]8, const b : [[float]8]4, xs : [[float]8]16) =
  let mid = map(x -> map(r -> relu(dot(r, x)), a), xs)
  map(x -> map(r -> dot(r, x), b), mid)
"""


@pytest.mark.parametrize(
    ("text", "products"),
    [
        (BATCHES, 2 * 3 * 8 * 6 * 4 * 7 // 8),
        (LAST, 8 * 8 * 4 * 7 // 8),
        (LAYERS, 16 * (8 * 8 + 8 * 4) * 7 // 8),
    ],
    ids=["batches", "last", "layers"],
)
def test_each_product_of_a_program_is_one(text: str, products: int, session: Session) -> None:
    """The first form makes `products` multiplications, 7/8 of the usual number for each matrix
    product in the program. Products may be in batches of any dimensions, of sums in any order, or
    of another product's results."""
    p = parse(text)
    lowering = lower(p, next(iter(forms(p, "strassen"))))
    sizes = {"v": 2, "vi": 2, "vo": 2}
    point = {name: sizes.get(name, 1) for name in lowering.program.free}
    made = generate(bound(lowering.program, point))
    assert multiplications(made.kernels) == products
    right_everywhere(p, "once registers", 1, session)


def test_what_is_no_matrix_product_is_refused_with_a_reason() -> None:
    p = parse(SUMS)
    for form in forms(p, "strassen"):
        with pytest.raises(Refused, match="expected a matrix product"):
            lower(p, form)


@pytest.mark.parametrize("sizes", ["M = 8, N = 8, K = 8", "M = 7, N = 5, K = 3"])
def test_products_of_floats_with_whole_numbers_are_refused(sizes: str) -> None:
    """The sums of blocks would be of whole numbers, and padding of floats."""
    text = "f(a : [[float]K]M, b : [[ushort]K]N) = map(r -> map(c -> SUM, b), a) where " + sizes
    p = parse(text.replace("SUM", "reduce(0.0, (acc, (x, y)) -> acc + x * y, zip(r, c))"))
    plain = next(f for f in forms(p, "strassen") if "widened" not in f.name.split())
    with pytest.raises(Refused):
        lower(p, plain)


CONJUGATED = """
plus(a, b) = (a.0 + b.0, a.1 + b.1)
times(z, w) = (z.0 * w.0 + z.1 * w.1, z.1 * w.0 - z.0 * w.1)
spectra(const wr : [[[float]C]K]M, const wi : [[[float]C]K]M, xr : [[float]C]S, xi : [[float]C]S) =
  map((pr, pi) -> map((qr, qi) ->
      let s = reduce((0.0, 0.0), (acc, (z, w)) -> plus(acc, times(z, w)),
        zip(zip(flatten(pr), flatten(pi)), zip(flatten(qr), flatten(qi))))
      [s.0, abs(s.1)],
    zip(wr, wi)), zip(slide(K, 1, xr), slide(K, 1, xi)))
where C = 4, S = 10, K = 3, M = 8
"""
PAIRS = """
pairs(a : [[[[float]2]K]M]B, b : [[[[float]2]N]K]B) =
  map((x, y) -> map(row -> map(column ->
      let s = reduce((0.0, 0.0), (acc, (z, w)) ->
        (acc.0 + (at(0, z) * at(0, w) - at(1, z) * at(1, w)),
         acc.1 + (at(0, z) * at(1, w) + at(1, z) * at(0, w))), zip(row, column))
      [s.0, s.1],
    transpose(y)), x), zip(a, b))
where B = 3, M = 8, N = 8, K = 5
"""


@pytest.mark.parametrize("way", ["registers", "blocked"])
@pytest.mark.parametrize(
    ("text", "products"), [(CONJUGATED, 8 * 8 * 12), (PAIRS, 3 * 8 * 8 * 5)], ids=["conv", "batch"]
)
def test_products_of_complex_numbers_are_three_of_real_ones(
    text: str, products: int, way: str, session: Session
) -> None:
    """With `gauss`, a product of complex matrices is right, and takes 3 · `products`
    multiplications: three real products for one complex. It may be written with a conjugate, or
    with pairs of numbers in a batch."""
    counts = right_everywhere(parse(text), f"gauss {way}", 4, session)
    assert min(counts) == 3 * products


def test_sums_that_are_not_of_complex_products_are_no_three() -> None:
    wrong = PAIRS.replace("at(0, z) * at(1, w) + at", "at(0, z) * at(1, w) - at")
    for text in (wrong, MATMUL.format(m=8, n=8, k=8)):
        for form in (f for f in forms(parse(text), "strassen") if "gauss" in f.name):
            with pytest.raises(Refused, match="products of complex numbers"):
                lower(parse(text), form)


def test_the_algorithms_are_proved_and_a_wrong_one_is_not() -> None:
    assert strassen().computes(block_product)
    assert gauss().computes(complex_product)
    right = strassen()
    assert not Bilinear(right.a, right.g, (right.b[1], *right.b[1:])).computes(block_product)


FOLDED = "f(a : [[{t}]8]8, b : [[{t}]8]8) = map(r -> map(c -> {sum}, b), a)"
NESTED = "reduce(1.0, (acc, (x, h)) -> acc + (2.0 + dot(x, h)), zip(r, c))"
FOLD = "reduce(0.0, (acc, (x, h)) -> {}, zip(r, c))"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            FOLDED.format(t="float", sum=FOLD.format("max(acc, x * h)")),
            r"expected sums \(folds by \+\), found max",
        ),
        (
            FOLDED.format(t="float", sum=FOLD.format("acc - x * h")),
            r"expected sums \(folds by \+\), found no fold",
        ),
        (FOLDED.format(t="float", sum=FOLD.format("acc + relu(x * h)")), "products of two numbers"),
        (FOLDED.format(t="half", sum="dot(r, c)"), "expected floats"),
        (FOLDED.format(t="[float]2", sum=NESTED), "products of two numbers"),
    ],
)
def test_the_reason_says_what_a_product_of_matrices_lacks(text: str, reason: str) -> None:
    p = parse(text)
    for form in (f for f in forms(p, "strassen") if not {"gauss", *PREPARATIONS} & {*f.words}):
        with pytest.raises(Refused, match=reason):
            lower(p, form)
