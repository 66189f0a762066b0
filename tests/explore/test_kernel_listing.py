"""Tests of the titles of exported kernels: a title tells what the kernel makes, of what, and
whether at every run or once."""

import pytest

from codegen.compile import generate
from constraints.devices import PROFILES
from explore.export.kernel_listing import listing, titles_of
from explore.space.legal_point import lowered_at
from ir.parse import parse

CONV = """
conv(const weights : [[[[float]4]3]3]8, const biases : [float]8, image : [[[float]4]8]8) =
  map2d(window -> map((kernel, bias) -> bias + dot(flatten(window), flatten(kernel)),
      zip(weights, biases)),
    slide2d(3, 1, pad2d(1, 0.0, image)))
"""
TITLES = {
    "winograd": [
        "input transform: image_transformed from image",
        "weights transform: weights_transformed from weights",
        "product: partial from image_transformed, weights_transformed",
        "output transform: out from biases, partial",
    ],
    "toeplitz": [
        "weights packing: weights_packed from weights",
        "result: out from biases, image, weights_packed",
    ],
    "naive": ["result: out from weights, biases, image"],
}


def test_what_is_stored_between_is_an_intermediate_result_if_nothing_was_transformed() -> None:
    text = """p(xs : [float]8) =
      let! ys = store(mapGlobal(0)(x -> x * x, xs))
      mapGlobal(0)(w -> sum(w), slide(3, 1, ys))"""
    titles = titles_of(generate(parse(text)).plan)
    assert list(titles.values()) == ["intermediate result: ys from xs", "result: out from ys"]


@pytest.mark.parametrize("family", TITLES)
def test_each_kernel_stands_under_its_title(family: str) -> None:
    concrete, _ = lowered_at(parse(CONV), family, None, {}, PROFILES["h200"])
    plan = generate(concrete).plan
    assert list(titles_of(plan).values()) == TITLES[family]
    text = listing(plan, ["the first line */ \\", "another"])
    assert text.startswith("// the first line */ /\n// another\n//\n")
    for kernel, title in zip(plan.kernels, TITLES[family], strict=True):
        assert f"// {title}\n{kernel.text}" in text
        assert (f"{kernel.name}: once, {title}" in text) == kernel.prepack
