"""The convolutions, and transposed convolutions, over one to three dimensions that a program may
be, judged by its shapes."""

# key: x input, w weights, b biases, m output channels, s stride, p padding, d dilation, k taps

import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from explore.measure.reference import Array
from explore.peers.layers import Geometry, Layer, fits, operands

STRIDES, DILATIONS = range(1, 9), range(1, 5)
SIDES = (1, 2, 3)

Orders = Mapping[str, tuple[int, ...]]


def images(sides: int) -> Orders:
    """The orders of an image's axes, channels last or first, each as a permutation to [N][C][…]."""
    last = (0, sides + 1, *range(1, sides + 1))
    return {"channels last": last, "channels first": tuple(range(sides + 2))}


def outputs(sides: int) -> tuple[tuple[int, ...], ...]:
    """The orders of an output's axes, channels last or first, each as a permutation of
    [N][M][…]."""
    return (0, *range(2, sides + 2), 1), tuple(range(sides + 2))


def as_batch(x: Array, sides: int) -> tuple[Array, bool] | None:
    """The image x with the axis N, which is added if it is missing, and True if it was there; None
    if x has not `sides` spatial dimensions."""
    if x.ndim == sides + 2:
        return x, True
    return (x[None], False) if x.ndim == sides + 1 else None


def readings(
    x: Array, out: tuple[int, ...], sides: int
) -> Iterator[tuple[str, Array, bool, tuple[int, ...], tuple[int, ...]]]:
    """The ways to read an image and an output: the order of axes in words, the image as [N][C][…],
    True if it has the axis N, the output's shape as [N][M][…], and the permutation to the program's
    order."""
    batch = as_batch(x, sides)
    if batch is None or len(out) != x.ndim:
        return
    image, batched = batch
    shape = out if batched else (1, *out)
    for (name, order), back in itertools.product(images(sides).items(), outputs(sides)):
        made = tuple(shape[back.index(axis)] for axis in range(sides + 2))
        axes = back if batched else tuple(axis - 1 for axis in back[1:])
        if made[0] == image.shape[0]:
            yield name, np.transpose(image, order), batched, made, axes


def convolutions(inputs: Mapping[str, Array], out: tuple[int, ...]) -> Iterator[Layer]:
    """The convolutions of a program's inputs that give an output of the shape `out`, in any order
    of the operands and their axes."""
    for (x, w, b), sides in itertools.product(operands(inputs), SIDES):
        for given, image, batched, made, back in readings(x, out, sides):
            for weights in _weights(w, sides):
                yield from _of(given, image, weights, b, made, back, batched)


def _weights(w: Array, sides: int) -> Iterator[Array]:
    """The ways to read weights with `sides` spatial dimensions as [M][C/groups][…]: of one group,
    of groups with an axis of their own, depthwise."""
    taps = range(1, sides + 1)
    if w.ndim == sides + 2:
        yield np.transpose(w, (0, sides + 1, *taps))
        yield w
        yield np.transpose(w, (sides + 1, sides, *range(sides)))
    elif w.ndim == sides + 3:
        joined = w.reshape(w.shape[0] * w.shape[1], *w.shape[2:])
        yield np.transpose(joined, (0, sides + 1, *taps))
        yield joined
    elif w.ndim == sides + 1:
        yield w[:, None]
        yield np.moveaxis(w, -1, 0)[:, None]


def _of(
    given: str,
    image: Array,
    weights: Array,
    b: Array | None,
    made: tuple[int, ...],
    back: tuple[int, ...],
    batched: bool,
) -> Iterator[Layer]:
    """The convolutions of an image by weights that make an output of the shape `made`, one for each
    geometry; none if channels, groups or biases (b) do not fit.

    `given` is the image's order of axes in words, `back` the permutation of the output to the
    program's order; `batched` tells whether the program's image has the axis N.
    """
    (m, per_group, *taps), channels, sides = weights.shape, image.shape[1], image.ndim - 2
    groups = channels // per_group
    if channels % per_group or m % groups or made[1] != m or not fits(b, m):
        return
    for s, p, d in _geometries(image.shape[2:], taps, made[2:]):
        words = f"conv{sides}d stride {s} padding {p}" + (d > 1) * f" dilation {d}"
        words += (groups > 1) * (" depthwise" if per_group == 1 else f" groups {groups}")
        geometry = Geometry(s, p, d, groups)
        yield Layer(words, "convolution", image, weights, b, geometry, back, batched, given)


def _geometries(
    image: Sequence[int], taps: Sequence[int], out: Sequence[int]
) -> Iterator[tuple[int, int, int]]:
    """The (stride, padding, dilation) triples with which windows of size `taps` over an image of
    this size give an output of size `out`. There are none for windows that reach beyond the image
    on both sides: kernels read as an image, an image as kernels, would take minutes to compute."""
    for d, s in itertools.product(DILATIONS, STRIDES):
        if d > 1 and max(taps) == 1:
            continue
        reach = [d * (k - 1) + 1 for k in taps]
        if any(r > 2 * n + 1 for n, r in zip(image, reach, strict=True)):
            continue
        for p in range(max(reach)):
            if [(n + 2 * p - r) // s + 1 for n, r in zip(image, reach, strict=True)] == list(out):
                yield s, p, d


def transposed_convolutions(inputs: Mapping[str, Array], out: tuple[int, ...]) -> Iterator[Layer]:
    """The transposed convolutions of a program's inputs, with strides above one, that give an
    output of the shape `out`.

    A program may slide its kernel over an image with zeros between pixels, or add its kernel at
    each pixel; libraries take a kernel of the second kind. So a layer is yielded with the kernel
    reversed, and one with the kernel as it is.
    """
    for (x, w, b), sides in itertools.product(operands(inputs), SIDES):
        for given, image, batched, made, back in readings(x, out, sides):
            for weights in _weights(w, sides) if w.ndim == sides + 2 else ():
                m, channels, *taps = weights.shape
                if image.shape[1] != channels or made[1] != m or not fits(b, m):
                    continue
                for s, p, behind in _growing(image.shape[2:], taps, made[2:]):
                    words = f"transposed conv{sides}d stride {s} padding {p}"
                    geometry = Geometry(s, p, behind=behind)
                    for turned in (np.flip(weights, tuple(range(2, sides + 2))), weights):
                        swapped = np.ascontiguousarray(np.swapaxes(turned, 0, 1))
                        yield Layer(
                            words,
                            "transposed convolution",
                            *(image, swapped, b, geometry, back, batched, given),
                        )


def _growing(
    image: Sequence[int], taps: Sequence[int], out: Sequence[int]
) -> Iterator[tuple[int, int, int]]:
    """The triples with which a transposed convolution of an image of this size, by kernels of size
    `taps`, gives an output of size `out`: the stride, the padding, and the number of elements added
    at the end of each side."""
    for s in STRIDES[1:]:
        for p, behind in itertools.product(range(max(taps)), range(s)):
            made = [(n - 1) * s - 2 * p + k + behind for n, k in zip(image, taps, strict=True)]
            if made == list(out):
                yield s, p, behind
