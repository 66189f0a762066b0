"""The places of windows: where they lie and how many there are, by the attributes of an ONNX
node."""

from collections.abc import Callable, Sequence

from explore.operators.program_text import sizes
from explore.operators.site import Site
from ir.core.frozen import frozen


@frozen
class Windows:
    """Windows over an array, axis by axis: how many elements a window takes (`kernel`), the
    distance from one window to the next (`steps`) and from one element to the next (`apart`), how
    much padding is put before and after the array, the number of windows (`counts`), and how much
    of the padding behind is there only for a partial last window (`beyond`)."""

    kernel: tuple[int, ...]
    steps: tuple[int, ...]
    apart: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    counts: tuple[int, ...]  # of windows
    beyond: tuple[int, ...]  # of what is put after, so much is for a partial last window alone

    @property
    def span(self) -> tuple[int, ...]:
        """The number of places from a window's first element to its last, for each axis."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.kernel, self.apart, strict=True))

    @property
    def rank(self) -> int:
        return len(self.kernel)

    @property
    def taps(self) -> str:
        """The text of the function that takes the elements of a dilated window out of the places it
        spans."""
        if all(d == 1 for d in self.apart):
            return "w -> w"
        return f"w -> dilate{self.rank}d({sizes(self.apart)}, w)"

    def padded(self, e: str, value: str) -> str:
        """The text of the image or volume e, padded with `value` as these windows need it."""
        if not any(self.before) and not any(self.after):
            return e
        amounts = [n for pair in zip(self.before, self.after, strict=True) for n in pair]
        return f"pad{self.rank}d({sizes(amounts)}, {value}, {e})"

    @property
    def text(self) -> str:
        """The text of two arguments of a function that slides windows: their spans and steps."""
        return f"{sizes(self.span)}, {sizes(self.steps)}"


def windows_of(site: Site, given: Sequence[int], kernel: Sequence[int], ceil: bool) -> Windows:
    """The windows of a node over an array of the sizes `given`, where a window takes `kernel`
    elements along each axis. A list is treated as an image of one row. With `ceil`, a last window
    that is only partly inside counts. Refused if the attributes do not fit."""
    n = len(given)
    steps = _each(site, "strides", n, 1)
    apart = _each(site, "dilations", n, 1)
    if len(kernel) != n or min((*kernel, *steps, *apart)) < 1:
        raise site.refused(
            f"expected {n} numbers from 1 on as kernel_shape, strides and dilations, found "
            f"{list(kernel)}, {steps} and {apart}"
        )
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, apart, strict=True)]
    before, after = _pads(site, given, spans, steps)
    counts, beyond = [], [0] * n
    for i in range(n):
        whole = given[i] + before[i] + after[i] - spans[i]
        if whole < 0:
            raise site.refused(
                f"expected windows of at most {whole + spans[i]} elements, those of the padded "
                f"array; found windows of {spans[i]}"
            )
        count = whole // steps[i] + 1
        if ceil and whole % steps[i] and count * steps[i] < given[i] + before[i]:
            beyond[i] = steps[i] - whole % steps[i]  # else it would begin beyond the array
            after[i] += beyond[i]
            count += 1
        counts.append(count)
    whole_of = tuple(map(tuple, (kernel, steps, apart, before, after, counts, beyond)))
    return Windows(*whole_of) if n > 1 else _of_a_row(*whole_of)


def _of_a_row(*each: tuple[int, ...]) -> Windows:
    kernel, steps, apart, before, after, counts, beyond = each
    row = ((1, *kernel), (1, *steps), (1, *apart), (0, *before), (0, *after), (1, *counts))
    return Windows(*row, (0, *beyond))


def _each(site: Site, name: str, n: int, usual: int) -> list[int]:
    found = [int(x) for x in site.attribute(name, (usual,) * n)]
    if len(found) != n:
        raise site.refused(f"expected {n} numbers as {name}, found {len(found)}")
    return found


def _pads(
    site: Site, given: Sequence[int], spans: Sequence[int], steps: Sequence[int]
) -> tuple[list[int], list[int]]:
    """The numbers of elements of padding before each axis, and those after each, by the node's
    attributes, for windows that span `spans` elements and are `steps` apart, over an array of the
    sizes `given`."""
    n, way = len(given), site.auto_pad
    if way in ("SAME_UPPER", "SAME_LOWER"):
        counts = [-(-x // s) for x, s in zip(given, steps, strict=True)]
        every = [
            max(0, (c - 1) * s + span - x)
            for c, s, span, x in zip(counts, steps, spans, given, strict=True)
        ]
        small, large = [p // 2 for p in every], [p - p // 2 for p in every]
        return (small, large) if way == "SAME_UPPER" else (large, small)
    if way == "VALID":
        return [0] * n, [0] * n
    pads = [int(x) for x in site.attribute("pads", (0,) * (2 * n))]
    if len(pads) != 2 * n or min(pads, default=0) < 0:
        raise site.refused(f"expected {2 * n} numbers from 0 on as pads, found {pads}")
    return pads[:n], pads[n:]


def image_text(site: Site, n: int) -> tuple[str, bool]:
    """A pair: the text of input n as an image, and True if there are several images, along the
    first axis. An image has its axes as they lie; a list becomes an image of one row."""
    x = site.tensor(n)
    shape = (*x.shape[:2], 1, *x.shape[2:]) if len(x.shape) == 3 else x.shape
    stored = x.layout.stored(shape)
    many = shape[0] > 1
    return site.parameter(x.kind.dtype, stored if many else stored[1:], x.given), many


def over_images(site: Site, e: str, many: bool, rank: int, f: Callable[[str], str]) -> str:
    """The text of f applied to the image e of `rank` dimensions, or (`many`) to each of several; f
    takes and gives channels last, and the result is stored as the site asks."""

    def one(image: str) -> str:
        return site.layout.image(f(site.tensor(0).layout.pixels(image, rank)), rank)

    return f"map(one -> {one('one')}, {e})" if many else one(e)
