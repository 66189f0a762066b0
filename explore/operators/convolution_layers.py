"""Convolutions in one to three dimensions, and transposed ones, as steps."""

# key: m results of a pixel, c channels, g groups

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from explore.onnx_model.onnx_graph import Kind
from explore.operators.activations import IDENTITY, function_of
from explore.operators.program_text import Order, array_type, permuted, sizes
from explore.operators.site import Parameter, Site, Step, Tensor
from explore.operators.window_places import Windows, image_text, over_images, windows_of
from ir.errors import Unsupported


def epilogue(site: Site) -> str:
    """The text of the function that is applied to each result of a node: the operators that were
    folded into it."""
    return function_of(site.attribute("epilogue", ()))


def _image_and_weights(site: Site) -> tuple[Tensor, Tensor]:
    """The image and the weights of a convolution of floats in one to three dimensions; refused
    where they are others."""
    site.demand_floats(0, 1, 2)
    x, w = site.tensor(0), site.tensor(1)
    if not 3 <= len(x.shape) <= 5 or len(w.shape) != len(x.shape):
        raise site.refused(
            f"expected an array of 3 to 5 axes and weights of as many, found {len(x.shape)} and "
            f"{len(w.shape)}"
        )
    return x, w


def _other_groups(site: Site, groups: int) -> Unsupported:
    c, shape = site.tensor(0).shape[1], list(site.tensor(1).shape)
    return site.refused(
        f"expected weights of {c} channels in {groups} groups, found the shape {shape}"
    )


def conv(site: Site) -> Step:
    """The step of a `Conv`, with or without another tensor that is added to its result (input
    3)."""
    x, w = _image_and_weights(site)
    batch, c, *spatial = x.shape
    m, groups = w.shape[0], int(site.attribute("group", 1))
    if groups < 1 or c != w.shape[1] * groups or m % groups:
        raise _other_groups(site, groups)
    sides = [int(k) for k in site.attribute("kernel_shape", w.shape[2:])]
    if sides != [*w.shape[2:]]:
        raise site.refused(f"its kernel_shape is {sides}, but its weights are {list(w.shape)}")
    windows = windows_of(site, spatial, w.shape[2:], ceil=False)
    image, many = image_text(site, 0)
    depthwise = groups == c == m
    kernels = weights_text(site, 1, groups, depthwise)
    biases = biases_text(site, 2, m, 1 if depthwise else groups)
    kind = Kind("float32", (batch, m, *windows.counts[-len(spatial) :]))
    way = _way(groups, depthwise, windows.rank)
    f = epilogue(site)
    if site.has(3):
        return _with_another(site, (f, windows, kernels, biases, image), kind)

    def of(image: str) -> str:
        padded = windows.padded(image, "0.0")
        return f"{way}({f}, {windows.taps}, {windows.text}, {kernels}, {biases}, {padded})"

    return site.as_stored(kind, over_images(site, image, many, windows.rank, of))


def _way(groups: int, depthwise: bool, rank: int) -> str:
    prefix = "depthwise_" if depthwise else "grouped_" if groups > 1 else ""
    return f"{prefix}conv{rank}d"


def _with_another(site: Site, parts: tuple[str, Windows, str, str, str], kind: Kind) -> Step:
    """The step of a convolution to whose result another tensor (input 3) is added before the node's
    epilogue is applied. `parts` are the convolution's: the epilogue, the windows, the kernels, the
    biases and the image. If the other tensor has the result's layout, the step can also be
    taken in two parts: the convolution, then the sum."""
    f, windows, kernels, biases, image = parts
    x, other, rank = site.tensor(0), site.tensor(3), windows.rank
    alone = tuple(site.parameters)
    added, many = image_text(site, 3)
    taken = f"{windows.taps}, {windows.text}, {kernels}, {biases}"

    def both(one: str, more: str) -> str:
        padded = windows.padded(x.layout.pixels(one, rank), "0.0")
        more = other.layout.pixels(more, rank)
        return site.layout.image(f"conv{rank}d_and({f}, {taken}, {more}, {padded})", rank)

    def first(one: str) -> str:
        return f"conv{rank}d({IDENTITY}, {taken}, {windows.padded(one, '0.0')})"

    e = both(image, added)
    if many:
        e = f"map((one, more) -> {both('one', 'more')}, zip({image}, {added}))"
    step = site.as_stored(kind, e)
    if other.layout is not site.layout:
        return step
    made = Step(kind, site.layout, alone, over_images(site, image, many, rank, first))
    return replace(step, parts=(made, _sum(site, f, kind)))


SUMS = "sums"


def _sum(site: Site, f: str, kind: Kind) -> Step:
    """The step that adds another tensor to a convolution's results, both read as flat lists, and
    applies the function f (a text) to each sum: the second part of a convolution taken in two
    parts."""
    flat = array_type("float32", (kind.elements,))
    given = replace(site.parameters[-1], type=flat)
    sums = Parameter(SUMS, flat, "")
    body = f"map((a, b) -> let y = a + b\n{f.removeprefix('y -> ')}, zip({SUMS}, {given.name}))"
    return Step(kind, site.layout, (sums, given), body)


def weights_text(site: Site, n: int, groups: int, depthwise: bool = False) -> str:
    """The text of input n as the kernels of a convolution: for each output channel, its taps, each
    with a number per input channel (just a number, if `depthwise`); with several groups, in a list
    for each group. Kernels of one dimension become kernels with one row."""
    w = site.tensor(n)
    m, c, *spatial = w.shape
    dims = [1, *spatial] if len(spatial) == 1 else spatial
    rank = len(dims)
    if w.array is not None:
        kernels = np.moveaxis(w.array.reshape(m, c, *dims), 1, -1)
        if depthwise:
            return site.constant(kernels[..., 0])
        return site.constant(
            kernels if groups == 1 else kernels.reshape(groups, m // groups, *dims, c)
        )
    order: Order = (*range(1, rank + 1), 0)
    if depthwise:
        return site.parameter(w.kind.dtype, [m, *dims], w.name)
    e = site.parameter(w.kind.dtype, [m, c, *dims], w.name)
    e = permuted(e, (0, *(axis + 1 for axis in order)))
    return e if groups == 1 else f"split({m // groups}, {e})"


def biases_text(site: Site, n: int, m: int, groups: int, dtype: str = "float32") -> str:
    """The text of input n as biases of the type `dtype`, a number for each of the m output
    channels, in a list for each group if there are several; zeros if the node has no input n."""
    dims = [m] if groups == 1 else [groups, m // groups]
    if not site.has(n):
        return site.constant(np.zeros(dims, dtype))
    b = site.tensor(n)
    if b.kind.elements != m:
        raise site.refused(f"expected a bias for each of {m} channels, found {b.kind.elements}")
    if b.array is not None:
        return site.constant(b.array.reshape(dims))
    return site.parameter(b.kind.dtype, dims, b.name)


def conv_transpose(site: Site) -> Step:
    """The step of a `ConvTranspose` in one to three dimensions."""
    x, w = _image_and_weights(site)
    groups = int(site.attribute("group", 1))
    batch, c, *spatial = x.shape
    n = len(spatial)
    if groups < 1 or w.shape[0] != c or c % groups:
        raise _other_groups(site, groups)
    steps = [int(s) for s in site.attribute("strides", (1,) * n)]
    apart = [int(s) for s in site.attribute("dilations", (1,) * n)]
    more = [int(s) for s in site.attribute("output_padding", (0,) * n)]
    pads = _transposed_pads(site, spatial, (steps, apart, more))
    m, dims = w.shape[1] * groups, w.shape[2:]
    counts = [
        (x - 1) * s + (k - 1) * d + 1 + r - before - after
        for x, s, k, d, r, before, after in zip(
            spatial, steps, dims, apart, more, pads[:n], pads[n:], strict=True
        )
    ]
    if min(counts) < 1:
        raise site.refused(f"expected a result of sizes from 1 on, found the sizes {counts}")
    if n == 1:
        steps, apart, more, dims = [1, *steps], [1, *apart], [0, *more], (1, *dims)
        pads = [0, pads[0], 0, pads[1]]
    rank = max(n, 2)
    image, many = image_text(site, 0)
    kernels = _transposed_weights(site, groups, dims)
    biases = biases_text(site, 2, m, 1)
    sides = [p for pair in zip(pads[:rank], pads[rank:], strict=True) for p in pair]
    numbers = ", ".join(map(sizes, (steps, sides, more, apart)))
    way = f"conv_transpose{rank}d({numbers}"

    def of(image: str) -> str:
        made = f"{way}, {kernels}, {image})"
        if groups > 1:
            made = f"grouped{rank}d((part, few) -> {way}, part, few), {kernels}, {image})"
        f = epilogue(site).removeprefix("y -> ")
        return (
            f"map{rank}d(pixel -> map((sum_of, bias) -> let y = sum_of + bias\n{f}, "
            f"zip(pixel, {biases})), {made})"
        )

    kind = Kind("float32", (batch, m, *counts))
    return site.as_stored(kind, over_images(site, image, many, rank, of))


def _transposed_pads(
    site: Site, given: list[int], attributes: tuple[list[int], list[int], list[int]]
) -> list[int]:
    """The numbers of elements that a transposed convolution crops at the beginning of each axis,
    then those at the end of each, by the node's attributes. `given` are the image's sizes
    along the axes of the window, and `attributes` the strides, the dilations, and the elements that
    are added at the end of each axis. The list of these is changed in place where the node asks for
    a result that is larger than the transposed convolution's."""
    steps, apart, more = attributes
    n = len(given)
    way, wanted = site.auto_pad, site.attribute("output_shape", None)
    if wanted is None and way == "NOTSET":
        return [int(p) for p in site.attribute("pads", (0,) * (2 * n))]
    if way == "VALID" and wanted is None:
        return [0] * (2 * n)
    w = site.tensor(1).shape[2:]
    wanted = list(wanted or [x * s for x, s in zip(given, steps, strict=True)])[-n:]
    every = [
        (x - 1) * s + (k - 1) * d + 1 + r - int(out)
        for x, s, k, d, r, out in zip(given, steps, w, apart, more, wanted, strict=True)
    ]
    for axis, p in enumerate(every):  # a result larger than all sums has zeros behind them
        more[axis] += max(0, -p)
        every[axis] = max(0, p)
    small, large = [p // 2 for p in every], [p - p // 2 for p in every]
    return [*small, *large] if way == "SAME_UPPER" else [*large, *small]


def _transposed_weights(site: Site, groups: int, dims: Sequence[int]) -> str:
    """The text of the weights of a transposed convolution, as kernels of the sides `dims`: for each
    output channel, its taps, each with a number per input channel; with several groups, in a list
    for each group. ONNX has the input channels outermost."""
    w, rank = site.tensor(1), len(dims)
    c, m = w.shape[:2]
    shape = (c, m, *dims) if groups == 1 else (groups, c // groups, m, *dims)
    first = len(shape) - rank - 2
    order = (*range(first), first + 1, *range(first + 2, len(shape)), first)
    if w.array is not None:
        return site.constant(np.transpose(w.array.reshape(shape), order))
    return permuted(site.parameter("float32", shape, w.name), order)
