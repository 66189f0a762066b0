"""Steps of poolings: over windows, and over whole images."""

from collections.abc import Callable
from math import prod

import numpy as np

from explore.onnx_model.onnx_graph import Array, Kind
from explore.onnx_model.tensor_data import demand_small
from explore.operators.layouts import Layout
from explore.operators.program_text import number
from explore.operators.site import Site, Step, Tensor
from explore.operators.window_places import Windows, image_text, over_images, windows_of

LOWEST = {"float32": float("-inf"), "int8": -128, "uint8": 0}


def max_pool(site: Site) -> Step:
    """The step of a `MaxPool`."""
    dtype = site.tensor(0).kind.dtype
    if len([name for name in site.node.outputs if name]) > 1:
        raise site.refused(
            "expected that only its first result is used, found that its second result, the places "
            "of the largest, is, too"
        )
    if dtype not in LOWEST:
        raise site.refused(
            f"expected numbers of the types {', '.join(LOWEST)}, found numbers of the type {dtype}"
        )
    lowest = number(LOWEST[dtype])
    f = f"channel -> reduce({lowest}, (acc, x) -> max(acc, x), channel)"
    windows = _windows(site)
    if dtype != "float32":  # a written number has a type of its own, and takes no part here
        f = "channel -> reduce(at(0, channel), (acc, x) -> max(acc, x), channel)"
    return _pooled(site, windows, lowest, lambda e: f"pool{_how(windows, f)}, {e})")


def average_pool(site: Site) -> Step:
    """The step of an `AveragePool`."""
    site.demand_floats(0)
    windows = _windows(site)
    counts = _counted(
        windows, site.tensor(0).shape[2:], bool(site.attribute("count_include_pad", 0))
    )
    if counts.min() == counts.max():
        f = f"channel -> sum(channel) / {number(float(counts.flat[0]))}"
        return _pooled(site, windows, "0.0", lambda e: f"pool{_how(windows, f)}, {e})")
    image, many = image_text(site, 0)
    scales = site.constant((1 / counts).astype(np.float32))

    def of(one: str) -> str:
        padded = windows.padded(one, "0.0")
        return f"scaled_pool{_how(windows, scales)}, {padded})"

    return site.as_stored(_kind(site, windows), over_images(site, image, many, windows.rank, of))


def _how(windows: Windows, f: str) -> str:
    return f"{windows.rank}d({f}, {windows.taps}, {windows.text}"


def _windows(site: Site) -> Windows:
    shape = site.tensor(0).shape
    if not 3 <= len(shape) <= 5:
        raise site.refused(f"expected an array of 3 to 5 axes, found one of {len(shape)}")
    kernel = [int(k) for k in site.attribute("kernel_shape", ())]
    windows = windows_of(site, shape[2:], kernel, bool(site.attribute("ceil_mode", 0)))
    demand_small(f"{site.node.title}: its result", _kind(site, windows))
    return windows


def _kind(site: Site, windows: Windows) -> Kind:
    x = site.tensor(0)
    n = len(x.shape) - 2
    return Kind(x.kind.dtype, (*x.shape[:2], *windows.counts[-n:]))


def _pooled(site: Site, windows: Windows, value: str, f: Callable[[str], str]) -> Step:
    image, many = image_text(site, 0)

    def of(one: str) -> str:
        return f(windows.padded(one, value))

    return site.as_stored(_kind(site, windows), over_images(site, image, many, windows.rank, of))


def _counted(windows: Windows, given: tuple[int, ...], pads_count: bool) -> Array:
    """The number by which an average pooling divides its sum, for each window: how many of its
    elements lie in the array of sizes `given` or, with `pads_count`, in the padding that the node
    asks for."""
    counts = np.ones(windows.counts)
    given = given if len(given) > 1 else (1, *given)
    for axis, n in enumerate(windows.counts):
        b, end = windows.before[axis], windows.before[axis] + given[axis]
        asked = end + windows.after[axis] - windows.beyond[axis]
        inside = range(0, asked) if pads_count else range(b, end)
        k, d = windows.kernel[axis], windows.apart[axis]
        begin = np.arange(n) * windows.steps[axis]
        first = np.maximum(0, -((begin - inside.start) // d))
        behind = np.minimum(k, (inside.stop - 1 - begin) // d + 1)
        met = np.maximum(0, behind - first)
        counts *= np.reshape(met, [-1 if i == axis else 1 for i in range(counts.ndim)])
    return np.asarray(counts)


def global_pool(site: Site) -> Step:
    """The step of a `GlobalAveragePool` or `GlobalMaxPool`: the mean or largest number of each
    channel."""
    site.demand_floats(0)
    x = site.tensor(0)
    if len(x.shape) < 3:
        raise site.refused(f"expected an array of 3 axes or more, found one of {len(x.shape)}")
    batch, c, *spatial = x.shape
    many = batch > 1
    stored = x.layout.stored((batch, c, prod(spatial)))
    e = site.parameter("float32", stored if many else stored[1:], x.given)
    f = "average" if site.node.operator == "GlobalAveragePool" else "maximum"

    def one(image: str) -> str:
        return f"map(channel -> {f}(channel), {_channels(x, image)})"

    kind = Kind("float32", (batch, c, *(1 for _ in spatial)))
    return site.as_stored(kind, f"map(one -> {one('one')}, {e})" if many else one(e))


def _channels(x: Tensor, image: str) -> str:
    """The text of the channels, each a list, of one image of x, whose dimensions count as one."""
    match x.layout:
        case Layout.LAST:
            return f"transpose({image})"
        case Layout.BLOCKS:
            return f"join(map(block -> transpose(block), {image}))"
    return image
