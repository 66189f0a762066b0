"""The poolings over one to three dimensions that a program may be, judged by its shapes."""

# key: x input, s stride, p padding, k side of a window

import itertools
from collections.abc import Iterator, Mapping

from explore.measure.reference import Array
from explore.peers.convolutions import SIDES, STRIDES, readings
from explore.peers.layers import Geometry, Kind, Layer

LARGEST = 11  # side of a window; or the whole image
KINDS: tuple[Kind, ...] = ("max pooling", "average pooling")


def poolings(inputs: Mapping[str, Array], out: tuple[int, ...]) -> Iterator[Layer]:
    """The poolings of a program's one input that give an output of the shape `out`; none if it has
    several inputs."""
    if len(inputs) != 1:
        return
    (x,) = inputs.values()
    for sides in SIDES:
        for given, image, batched, made, back in readings(x, out, sides):
            if made[1] != image.shape[1]:
                continue
            for window, s, p in _windows(image.shape[2:], made[2:]):
                size = "×".join(map(str, window))
                for kind in KINDS:
                    words = f"{kind} {size} stride {s} padding {p}"
                    geometry = Geometry(s, p, window=window)
                    yield Layer(words, kind, image, None, None, geometry, back, batched, given)


def _windows(
    image: tuple[int, ...], out: tuple[int, ...]
) -> Iterator[tuple[tuple[int, ...], int, int]]:
    """The triples (window, stride, padding) with which a pooling of an image of this size gives an
    output of size `out`."""
    if set(out) == {1}:
        yield image, 1, 0
    for k, s in itertools.product(range(1, LARGEST + 1), STRIDES):
        for p in range(k // 2 + 1):
            if tuple((n + 2 * p - k) // s + 1 for n in image) == out:
                yield (k,) * len(image), s, p
