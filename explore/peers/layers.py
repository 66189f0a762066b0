"""Programs seen as layers that libraries have, a convolution or a linear layer, by the shapes of
their inputs.

Several readings may fit the shapes of one program; which of them it computes is found by computing.
"""

# key: x input, w weights, b biases, m output channels, s stride, p padding, d dilation

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from explore.measure.reference import Array

STRIDES, DILATIONS = range(1, 9), range(1, 5)
IMAGES = {"channels last": (0, 3, 1, 2), "channels first": (0, 1, 2, 3)}
KERNELS = ((0, 3, 1, 2), (0, 1, 2, 3), (3, 2, 0, 1))  # [M][K][K][C], [M][C][K][K], [K][K][C][M]
OUTPUTS = ((0, 2, 3, 1), (0, 1, 2, 3))


@dataclass(frozen=True, slots=True)
class Geometry:
    """The stride, padding, dilation and groups of a convolution, equal on all sides."""

    stride: int
    padding: int
    dilation: int
    groups: int


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer in words, with its operands in the order of axes that libraries use.

    Convolutions have x [N][C][H][W] and w [M][C/groups][K][K], linear layers x […][K] and w [M][K].
    """

    words: str
    x: Array
    w: Array
    b: Array | None
    relu: bool
    geometry: Geometry | None  # None is a linear layer
    back: tuple[int, ...]  # its output's axes as the program has them
    batched: bool = True  # the program has the axis N too

    def as_written(self, out: Array) -> Array:
        """The library's output in the shape of the program's output."""
        return np.transpose(out if self.batched else out[0], self.back)


def layers(inputs: Mapping[str, Array], out: tuple[int, ...]) -> Iterator[Layer]:
    """The layers whose operands fit a program's inputs, and whose result fits its output."""
    for x, w in itertools.permutations(inputs.values(), 2):
        rest = [a for a in inputs.values() if a is not x and a is not w]
        if len(rest) > 1 or any(a.ndim != 1 for a in rest):
            continue
        b = rest[0] if rest else None
        yield from _linear(x, w, b, out)
        yield from _convolutions(x, w, b, out)


def _linear(x: Array, w: Array, b: Array | None, out: tuple[int, ...]) -> Iterator[Layer]:
    if w.ndim != 2 or x.ndim > 4:
        return
    for words, weights in (("linear", w), ("linear, transposed", w.T)):
        m, k = weights.shape
        if x.shape[-1] != k or out != (*x.shape[:-1], m) or (b is not None and len(b) != m):
            continue
        axes = tuple(range(x.ndim))
        for relu in (False, True):
            yield Layer(words + relu * " + relu", x, weights, b, relu, None, axes)


def _convolutions(x: Array, w: Array, b: Array | None, out: tuple[int, ...]) -> Iterator[Layer]:
    """The two-dimensional convolutions for every reading of the axes that fits the shapes."""
    batched = x.ndim == 4
    shape = out if batched else (1, *out)
    if w.ndim != 4 or x.ndim not in (3, 4) or len(shape) != 4:
        return
    for (name, order), kernel, back in itertools.product(IMAGES.items(), KERNELS, OUTPUTS):
        image = np.transpose(x if batched else x[None], order)
        weights = np.transpose(w, kernel)
        m, per_group, kh, kw = weights.shape
        channels = image.shape[1]
        if channels % per_group or m % (channels // per_group) or (b is not None and len(b) != m):
            continue
        made, features, tall, wide = (shape[back.index(axis)] for axis in range(4))
        if (made, features) != (len(image), m):
            continue
        axes = back if batched else tuple(axis - 1 for axis in back[1:])
        for (s, p, d), relu in itertools.product(
            _geometries(image.shape[2:], (kh, kw), (tall, wide)), (True, False)
        ):
            words = f"conv2d stride {s} padding {p}" + (d > 1) * f" dilation {d}" + relu * " + relu"
            geometry = Geometry(s, p, d, channels // per_group)
            found = f"{words}, given {name}"
            yield Layer(found, image, weights, b, relu, geometry, axes, batched)


def _geometries(
    image: tuple[int, ...], kernel: tuple[int, int], out: tuple[int, int]
) -> Iterator[tuple[int, int, int]]:
    """The triples (stride, padding, dilation) that give an output of this size."""
    for d, s in itertools.product(DILATIONS, STRIDES):
        reach = [d * (k - 1) + 1 for k in kernel]
        for p in range(max(reach)):
            made = [(n + 2 * p - r) // s + 1 for n, r in zip(image, reach, strict=True)]
            if made == list(out):
                yield s, p, d
