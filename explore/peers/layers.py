"""A program seen as a layer of other libraries, by its shapes: its operands in a library's order of
axes.

Several layers may fit the shapes of a program; `recognise` finds the right one by computing.
"""

# key: x input, w weights, b biases, m output channels

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Literal

import numpy as np

from explore.measure.reference import Array, relative_error
from ir.core.frozen import frozen

Kind = Literal["linear", "convolution", "transposed convolution", "max pooling", "average pooling"]


@frozen
class Geometry:
    """The geometry of windows over an image, the same on all sides: their steps (`stride`), the
    padding, the steps inside a window (`dilation`), and the number of groups of channels. `window`
    is a pooling's size, `behind` the number of elements that a transposed convolution adds at the
    end of each side."""

    stride: int
    padding: int
    dilation: int = 1
    groups: int = 1
    window: tuple[int, ...] = ()
    behind: int = 0  # elements that a transposed convolution adds at the end of each side


@frozen
class Layer:
    """A layer of a library: its operation in words, and its operands in the library's order of
    axes. `back` permutes the library's output to the program's order of axes, `given` tells that of
    the program's image in words, and `batched` that the program has the axis N.

    Convolutions have x [N][C][…] and w [M][C/groups][…], transposed ones w [C][M/groups][…], each
    with one to three sides; poolings have no w; linear layers x […][K] and w [M][K].
    """

    operation: str  # in words
    kind: Kind
    x: Array
    w: Array | None
    b: Array | None
    geometry: Geometry | None  # None is a linear layer
    back: tuple[int, ...]  # its output's axes as the program has them
    batched: bool = True  # the program has the axis N too
    given: str = ""  # the order of the image's axes in the program
    relu: bool = False

    @property
    def words(self) -> str:
        """The layer in words: `conv2d stride 1 padding 1 + relu, given channels last`."""
        given = f", given {self.given}" if self.given else ""
        return f"{self.operation}{' + relu' * self.relu}{given}"

    @property
    def sides(self) -> int:
        """The number of spatial dimensions of the image."""
        return self.x.ndim - 2

    def as_written(self, out: Array) -> Array:
        """A library's output `out` in the shape and order of axes of the program's output."""
        return np.transpose(out if self.batched else out[0], self.back)

    def meant(self, out: Array, wanted: Array, same: float) -> "Layer | None":
        """This layer, or the same with a ReLU, whichever has a relative error below `same` against
        `wanted`; None if neither has. `out` is the layer's output without a ReLU."""
        made = self.as_written(out)
        if made.shape != wanted.shape:
            return None
        if relative_error(made, wanted) < same:
            return self
        return replace(self, relu=True) if relative_error(made.clip(0), wanted) < same else None


def linear_layers(inputs: Mapping[str, Array], out: tuple[int, ...]) -> Iterator[Layer]:
    """The linear layers of a program's inputs that give an output of the shape `out`."""
    for x, w, b in operands(inputs):
        if w.ndim != 2 or x.ndim > 4:
            continue
        for words, weights in (("linear", w), ("linear, transposed", w.T)):
            m, k = weights.shape
            if x.shape[-1] == k and out == (*x.shape[:-1], m) and fits(b, m):
                yield Layer(words, "linear", x, weights, b, None, tuple(range(x.ndim)))


def operands(inputs: Mapping[str, Array]) -> Iterator[tuple[Array, Array, Array | None]]:
    """The ways to take inputs as an image, weights and biases; the biases are None if there is no
    third input."""
    for x, w in itertools.permutations(inputs.values(), 2):
        rest = [a for a in inputs.values() if a is not x and a is not w]
        if len(rest) <= 1 and all(a.ndim == 1 for a in rest):
            yield x, w, rest[0] if rest else None


def fits(b: Array | None, m: int) -> bool:
    """True if b is None, or has one bias for each of m channels."""
    return b is None or len(b) == m
