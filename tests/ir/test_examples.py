"""Tests that the examples compute what they say: their results equal those of NumPy and SciPy to
1e-12 in double precision."""

# key: w weights, b biases, x the image; taps: which rows and columns of a window

import re
import resource
import sys
import tomllib
from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from scipy.ndimage import correlate, correlate1d

from ir.core.nodes import Program
from ir.core.type_rules import type_of
from ir.core.types import NARROW_REALS
from ir.meaning.inputs import STORED, parts_of, random_inputs, scalar_of
from ir.meaning.interpret import evaluate
from ir.parse import parse_file
from tests.support.narrowed import one
from tests.support.quantised import tflite_twice

EXAMPLES = Path(__file__).parents[2] / "examples"
LAYERS = tomllib.loads((EXAMPLES / "layers.toml").read_text())
MOST_CALLS = 1_000_000  # of functions in Python: a layer has more than 80 million products

Array = np.ndarray
Sizes = dict[str, int]


def load(file: str, sizes: Sizes) -> Program:
    return parse_file(EXAMPLES / file, sizes)


def convolution(
    x: Array, w: Array, b: Array | float = 0.0, *, step: int = 1, pad: int = 0, apart: int = 1
) -> Array:
    """The convolution of an image x by kernels w, plus b, computed without windows: a sum over taps
    of shifted images times matrices. `step` is the stride, `pad` the zeros at each border, `apart`
    the dilation."""
    x = np.pad(x, ((pad, pad), (pad, pad), (0, 0)))
    rows, columns = w.shape[1:3]
    high = (x.shape[0] - apart * (rows - 1) - 1) // step + 1
    wide = (x.shape[1] - apart * (columns - 1) - 1) // step + 1
    total: Array = np.zeros((high, wide, w.shape[0])) + b
    for r, c in product(range(rows), range(columns)):
        top, left = r * apart, c * apart
        shifted = x[top : top + step * high : step, left : left + step * wide : step]
        total += shifted[:high, :wide] @ w[:, r, c].T
    return total


def relu(x: Array) -> Array:
    result: Array = np.maximum(x, 0)
    return result


def depthwise(weights: Array, image: Array) -> Array:
    planes = [correlate(image[:, :, c], weights[c], mode="constant") for c in range(image.shape[2])]
    return np.stack(planes, axis=-1)


def separable(kernels: Array, shifts: Array, weights: Array, biases: Array, image: Array) -> Array:
    pixels: Array = relu(depthwise(kernels, image) + shifts) @ weights.T + biases
    return pixels


def inverted_residual(
    wide: Array, kernels: Array, narrow: Array, image: Array, S: int = 2
) -> Array:
    pixels: Array = relu(depthwise(kernels, relu(image @ wide.T))[::S, ::S]) @ narrow.T
    return pixels


def grouped(weights: Array, image: Array) -> Array:
    parts = np.split(image, len(weights), axis=2)
    return np.concatenate(
        [convolution(x, w, pad=1) for x, w in zip(parts, weights, strict=True)], axis=2
    )


def transposed(
    weights: Array, biases: Array, image: Array, S: int, P: int, R: int, D: int
) -> Array:
    """The transposed convolution in NumPy: each pixel times each kernel, added where the kernel's
    taps are; windows are `S` apart and taps `D`; `P` pixels of each border are cropped, after `R`
    were added at the end of each side."""
    (h, w, _), (m, k, _, _) = image.shape, weights.shape
    high, wide = ((n - 1) * S + D * (k - 1) + 1 + R for n in (h, w))
    sums = np.zeros((high, wide, m))
    for i, j, a, b in np.ndindex(h, w, k, k):
        sums[i * S + a * D, j * S + b * D] += weights[:, a, b] @ image[i, j]
    return np.asarray(sums[P : high - P, P : wide - P] + biases)


def larger(x: Array, times: int) -> Array:
    """The image x made `times` times as high and wide, by bilinear interpolation between the
    centres of pixels; beyond the outermost centres, the outermost pixel is repeated."""
    for side in (0, 1):
        n = x.shape[side]
        at = np.clip((np.arange(n * times) + 0.5) / times - 0.5, 0, n - 1)
        low = np.floor(at).astype(int)
        near = (at - low).reshape([-1 if d == side else 1 for d in range(3)])
        x = x.take(low, side) * (1 - near) + x.take(np.minimum(low + 1, n - 1), side) * near
    return x


def pooled(f: Callable[..., Array], x: Array, size: int, step: int) -> Array:
    return f(sliding_window_view(x, (size, size), (0, 1))[::step, ::step], axis=(-2, -1))


def qlinear(
    weights: Array, zeros: Array, biases: Array, qs: Array, shifts: Array, image: Array,
    XZ: int, YZ: int,
) -> Array:  # fmt: skip
    kernels = weights - zeros[:, None, None, None]
    sums = convolution(image - XZ, kernels, biases, pad=1)
    return np.asarray(np.clip(np.round(sums * qs * 2.0 ** (shifts - 31) + YZ), 0, 255))


def tflite(
    weights: Array, biases: Array, qs: Array, shifts: Array, image: Array, XZ: int, YZ: int
) -> Array:
    sums = convolution(image - XZ, weights, biases, pad=1)
    scaled = np.vectorize(lambda *numbers: tflite_twice(*map(int, numbers)))(sums, qs, shifts)
    return np.asarray(np.clip(scaled + YZ, -128, 127))


def volume(weights: Array, biases: Array, volume: Array) -> Array:
    planes = np.pad(volume, ((1, 1), (0, 0), (0, 0), (0, 0)))
    result: Array = biases + np.stack(
        [
            sum(convolution(planes[d + k], weights[:, k], pad=1) for k in range(3))
            for d in range(len(volume))
        ]
    )
    return result


def softmax(xs: Array) -> Array:
    powers = np.exp(xs)
    shares: Array = powers / powers.sum(axis=-1, keepdims=True)
    return shares


# what each example computes from its inputs and sizes, and the sizes it is checked at
CHECKS: dict[str, tuple[Callable[..., Array], list[Sizes]]] = {
    "dot.lift": (lambda xs, ys: xs @ ys, [{}, {"N": 7}]),
    "matmul.lift": (lambda a, b: a @ b, [{}, {"M": 3, "N": 5, "K": 1}]),
    "conv1d.lift": (
        lambda weights, biases, signal, S, P: convolution(
            np.pad(signal, ((P, P), (0, 0)))[None], weights[:, None], biases, step=S
        )[0],
        [{}, {"N": 50, "S": 3, "P": 4, "K": 7, "C": 1}],
    ),
    "stencil5.lift": (
        lambda grid: correlate(
            grid, 0.2 * np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]]), mode="nearest"
        ),
        [{}, {"W": 3, "H": 4}],
    ),
    "blur.lift": (lambda weights, image: correlate(image, weights, mode="nearest"), [{}]),
    "blur_separable.lift": (
        lambda across, down, image: correlate1d(
            correlate1d(image, across, 1, mode="nearest"), down, 0, mode="nearest"
        ),
        [{}, {"W": 5, "H": 9}],
    ),
    "conv2d.lift": (
        lambda weights, biases, image, S, P: convolution(image, weights, biases, step=S, pad=P),
        [{}, {"S": 1, "P": 0}, {"S": 3, "P": 2, "K": 5, "W": 20, "H": 31, "M": 3}],
    ),
    "quickstart.lift": (
        lambda weights, biases, image: relu(convolution(image, weights, biases, pad=1)),
        [{}],
    ),
    "vgg.lift": (
        lambda weights, biases, image: relu(convolution(image, weights, biases, pad=1)),
        [{"W": 14}, {"W": 9, "C": 3, "M": 5}],
    ),
    "alexnet.lift": (
        lambda weights, biases, image, S, P: relu(
            convolution(image, weights, biases, step=S, pad=P)
        ),
        [{}, {"C": 6, "W": 27, "K": 5, "S": 1, "P": 2, "M": 7}],
    ),
    "resnet.lift": (
        lambda weights, biases, image: relu(convolution(image, weights, biases, step=2, pad=3)),
        [{}, {"W": 21}],
    ),
    "conv1x1.lift": (
        lambda weights, biases, image: image @ weights.T + biases,
        [{}, {"W": 3, "C": 5}],
    ),
    "depthwise.lift": (depthwise, [{}, {"C": 3, "W": 6, "H": 9}]),
    "separable.lift": (separable, [{"W": 9}, {"C": 3, "W": 6, "H": 9, "M": 4}]),
    "inverted_residual.lift": (inverted_residual, [{"W": 8, "E": 5}, {"C": 3, "W": 7, "S": 1}]),
    "grouped.lift": (grouped, [{}, {"G": 2, "C": 6, "M": 4, "W": 5}]),
    "conv_transpose2d.lift": (
        transposed,
        [
            {"C": 5, "W": 7, "H": 6, "M": 3},
            {"C": 2, "W": 4, "H": 3, "K": 3, "S": 3, "P": 0, "R": 2, "D": 2, "M": 3},
        ],
    ),
    "dilated.lift": (
        lambda weights, image, D, P: convolution(image, weights, apart=D, pad=P),
        [{}, {"D": 3, "P": 0, "W": 12, "H": 10, "C": 2}],
    ),
    "resize_conv.lift": (
        lambda weights, image, S: convolution(larger(image, S), weights, pad=1),
        [{}, {"C": 2, "W": 3, "H": 1, "S": 3, "M": 2}],
    ),
    "batched.lift": (
        lambda weights, biases, images: np.stack(
            [relu(convolution(x, weights, biases, pad=1)) for x in images]
        ),
        [{}, {"N": 2, "W": 5}],
    ),
    "half_conv.lift": (
        lambda weights, biases, image: convolution(image, weights, biases, pad=1),
        [{}, {"C": 3, "W": 5, "M": 2}],
    ),
    "half_depthwise.lift": (
        lambda weights, image: depthwise(weights, image).astype(np.float16),
        [{}, {"C": 3, "W": 5}],
    ),
    "qlinear_conv.lift": (qlinear, [{}, {"C": 2, "W": 5, "M": 3, "XZ": 2, "YZ": 1}]),
    "tflite_conv.lift": (tflite, [{}, {"C": 3, "H": 4, "M": 2}]),
    "maxpool.lift": (
        lambda image, K, S: pooled(np.max, image, K, S),
        [{}, {"K": 2}, {"W": 7, "H": 8, "S": 3}],
    ),
    "avgpool.lift": (
        lambda image, K, S: pooled(np.mean, image, K, S),
        [{}, {"K": 3, "S": 1}],
    ),
    "fully_connected.lift": (
        lambda weights, biases, xs: relu(weights @ xs + biases),
        [{}, {"N": 1, "M": 3}],
    ),
    "softmax.lift": (softmax, [{}, {"M": 1, "N": 3}]),
    "attention.lift": (
        lambda queries, keys, values, D: softmax(queries @ keys.T / np.sqrt(D)) @ values,
        [{}, {"N": 3, "L": 5, "D": 2, "E": 7}],
    ),
    "causal_attention.lift": (
        lambda queries, keys, values, D: (
            softmax(
                np.where(np.tri(len(queries), dtype=bool), queries @ keys.T / np.sqrt(D), -np.inf)
            )
            @ values
        ),
        [{}, {"N": 5, "D": 2, "E": 7}],
    ),
    "conv3d.lift": (volume, [{}, {"C": 1, "W": 4, "H": 5, "D": 3, "M": 2}]),
    "mec.lift": (
        lambda weights, images, S: np.stack([convolution(x, weights, step=S) for x in images]),
        [{}, {"N": 3, "W": 23, "C": 3, "K": 11, "S": 4, "M": 5}],
    ),
}


def sizes_of(file: str, given: Sizes) -> Sizes:
    """The sizes that an example's file states as plain numbers, by name, but with the values in
    `given` instead where it has any."""
    text = (EXAMPLES / file).read_text().rsplit("where", 1)[1]
    return {name: int(n) for name, n in re.findall(r"(\w+) = (\d+)", text)} | given


SCALES = {"qs": (1 << 30, (1 << 31) - 1), "shifts": (-11, -6), "biases": (-9999, 9999)}


def scales(name: str, shape: tuple[int, ...]) -> Array:
    """Random numbers such as quantised layers have for a parameter of this name."""
    least, most = SCALES[name]
    return np.random.default_rng(0).integers(least, most, shape, np.int32, endpoint=True)


def check(file: str, sizes: Sizes) -> None:
    program = load(file, sizes)
    inputs = random_inputs(program, 0, integers=False)
    if "qs" in inputs:
        inputs |= {name: scales(name, one(inputs[name]).shape) for name in SCALES}
    doubles = {name: one(data).astype(np.float64) for name, data in inputs.items()}
    reference, _ = CHECKS[file]
    wanted = reference.__code__.co_varnames[: reference.__code__.co_argcount]
    extra = {k: v for k, v in sizes_of(file, sizes).items() if k in wanted}
    expected = reference(**doubles, **extra)
    found = one(evaluate(program, inputs))
    assert found.shape == expected.shape
    for t in {scalar_of(t) for _, t in parts_of(type_of(program.body))} & NARROW_REALS:
        expected = expected.astype(STORED[t.name]).astype(np.float64)  # as results are stored
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * scale)


@pytest.mark.parametrize(
    ("file", "sizes"),
    [
        pytest.param(file, sizes, id=" ".join([file, *(f"{k}={v}" for k, v in sizes.items())]))
        for file, (_, many) in CHECKS.items()
        for sizes in many
    ],
)
def test_example(file: str, sizes: Sizes) -> None:
    check(file, sizes)


def test_every_example_is_checked() -> None:
    assert sorted(p.name for p in EXAMPLES.glob("*.lift")) == sorted(CHECKS)


@pytest.mark.parametrize("name", LAYERS)
def test_named_layers_are_programs_of_the_shape_they_name(name: str) -> None:
    sizes = {k: v for k, v in LAYERS[name].items() if k != "file"}
    program = load(LAYERS[name]["file"], sizes)
    shapes = {name: one(data).shape for name, data in random_inputs(program, 0).items()}
    weights, images = shapes["weights"], next(s for n, s in shapes.items() if "image" in n)
    assert (weights[0], weights[-1]) == (sizes["M"], sizes["C"])
    assert images[-3:] == (sizes["W"], sizes["W"], sizes["C"])
    assert weights[1] == weights[2] == sizes.get("K", 7 if "resnet" in name else 3)


@pytest.mark.no_cover
@pytest.mark.parametrize("name", ["vgg-0", "vgg-7"])
def test_a_whole_layer_takes_few_calls_and_little_memory(name: str) -> None:
    sizes = {k: v for k, v in LAYERS[name].items() if k != "file"}
    calls = Counter[str]()
    sys.setprofile(lambda _, event, __: calls.update((event,)))
    try:
        check("vgg.lift", sizes)
    finally:
        sys.setprofile(None)
    assert calls["call"] < MOST_CALLS
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 4 << 20  # KiB
