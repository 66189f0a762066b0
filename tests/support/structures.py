"""The texts of small programs of every structure that families lower, each written in a random one
of many ways."""

# key: r random numbers, d dimensions, c channels, m kernels, e text of a term

from collections.abc import Callable
from random import Random

from ir.core.nodes import Program
from ir.parse import parse

MAPS = {1: "map", 2: "map2d", 3: "map3d"}


def drawn(structure: str, r: Random) -> Program:
    """A random program of the structure with the name `structure`."""
    return parse(STRUCTURES[structure](r), structure)


def sizes(r: Random, **chosen: int) -> str:
    """The text of a program's sizes: random sizes of an image, from 3 to 8, and the sizes
    `chosen`."""
    found = {"C": r.randint(1, 5), "M": r.randint(1, 7), "N": 2, "L": 2, **chosen}
    sides = {name: r.randint(3, 8) for name in "DHW"}
    return "where " + ", ".join(f"{name} = {n}" for name, n in (sides | found).items())


def array(elem: str, *sides: object) -> str:
    """The text of the type of an array with elements `elem`; the first of `sides` is the outermost
    dimension."""
    for n in reversed(sides):
        elem = f"[{elem}]{n}"
    return elem


def image(d: int, first: bool) -> str:
    """The text of the type of an image in d dimensions, whose channels are the first dimension or
    the last."""
    sides = "DHW"[-d:]
    return array("float", "C", *sides) if first else array("float", *sides, "C")


def nested(f: str, d: int, e: str) -> str:
    """The text of d nested maps over e; the innermost applies the function f."""
    return f"{MAPS[d]}({f}, {e})"


def windows(r: Random, d: int, e: str, k: int, gap: int = 1) -> str:
    """The text of windows over e, in d dimensions: of k elements a side that lie `gap` apart, at
    random steps; e may be padded."""
    name, span = {1: "", 2: "2d", 3: "3d"}[d], gap * (k - 1) + 1
    pad, step = max(r.randrange(3), span - 3), r.choice((1, 1, 2))
    edge = r.choice(("pad", "pad", "pad_clamp", "pad_wrap"))
    if edge == "pad_wrap" and d == 1 and r.random() < 0.3:
        pad = r.randint(4, 12)  # more often than once round
    if pad and (edge == "pad" or d == 3):
        e = f"pad({pad}, {pad}, 0.0, {e})" if d == 1 else f"pad{name}({pad}, 0.0, {e})"
    elif pad:
        flat = edge.replace("pad", "pad2d")
        e = f"{edge}({pad}, {pad}, {e})" if d == 1 else f"{flat}({pad}, {e})"
    return f"slide{name}({span}, {step}, {e})"


def inward(d: int, e: str) -> str:
    """The text of the array e with its outermost dimension moved inward by d dimensions."""
    if d == 1:
        return f"transpose({e})"
    return f"map(r -> {inward(d - 1, 'r')}, transpose({e}))"


def total(r: Random, depth: int, start: str, a: str, b: str) -> str:
    """The text of `start` plus the sum of the products of numbers of a and b, arrays of `depth`
    dimensions: by one reduction over all, or one for each dimension."""
    flat = r.random() < 0.6
    if flat:
        xs, ys = (f"flatten({e})" if depth > 1 else e for e in (a, b))
        return f"reduce({start}, (acc, (x, w)) -> acc + x * w, zip({xs}, {ys}))"
    return by_dimension(depth, start, a, b)


def by_dimension(depth: int, start: str, a: str, b: str) -> str:
    acc, x, w = f"acc{depth}", f"x{depth}", f"w{depth}"
    step = f"{acc} + {x} * {w}" if depth == 1 else by_dimension(depth - 1, acc, x, w)
    return f"reduce({start}, ({acc}, ({x}, {w})) -> {step}, zip({a}, {b}))"


def constant(r: Random) -> str:
    return r.choice(("const ", "const ", ""))


def with_bias(r: Random, product: Callable[[str], str]) -> str:
    """The text of product(start), where a bias is that start, or is added before or after the
    product; a ReLU may follow."""
    e = r.choice((product("bias"), f"{product('0.0')} + bias", f"bias + {product('0.0')}"))
    return f"relu({e})" if r.random() < 0.5 else e


def convolution(r: Random, d: int, gap: int = 1, batch: bool = False) -> str:
    """The text of a random convolution in d dimensions, with taps `gap` apart, of an image or (with
    `batch`) several: kernels outermost or innermost, channels first or last, a bias in one of three
    places or none."""
    k, first, outside = r.randint(1, 3) if d < 3 else r.randint(1, 2), maybe(r), maybe(r)
    whole = "image"
    inside = array("float", "C", *"K" * d) if first else array("float", *"K" * d, "C")
    if first:
        seen = inward(d, f"map(plane -> {windows(r, d, 'plane', k, gap)}, image)")
        dilated = f"map(p -> {dilate(d, gap, 'p')}, window)" if gap > 1 else "window"
    else:
        seen = windows(r, d, whole, k, gap)
        dilated = dilate(d, gap, "window")
    bias = r.choice(("none", "own", "apart"))

    def product(start: str) -> str:
        return total(r, d + 1, start, dilated, "kernel")

    body = with_bias(r, product) if bias == "own" else product("0.0")
    kernels = "zip(weights, biases)" if bias == "own" else "weights"
    kernel = "(kernel, bias)" if bias == "own" else "kernel"
    if outside:
        e = f"map({kernel} -> {nested(f'window -> {body}', d, 'windows')}, {kernels})"
    else:
        e = nested(f"window -> map({kernel} -> {body}, {kernels})", d, "windows")
    if bias == "apart" and outside:
        f = f"(plane, bias) -> {nested('s -> max(s + bias, 0.0)', d, 'plane')}"
        e = f"map({f}, zip({e}, biases))"
    elif bias == "apart":
        e = nested("sums -> map((s, bias) -> s + bias, zip(sums, biases))", d, e)
    e = f"(let windows = {seen}\n {e})"
    params = f"{constant(r)}weights : {array(inside, 'M')}"
    if bias != "none":
        params += ", const biases : [float]M"
    t = image(d, first)
    if batch:
        return (
            f"conv({params}, images : {array(t, 'N')}) =\n map(image -> {e}, images)\n"
            f"{sizes(r, K=k)}"
        )
    return f"conv({params}, image : {t}) =\n {e}\n{sizes(r, K=k)}"


def maybe(r: Random) -> bool:
    return r.random() < 0.5


def dilate(d: int, gap: int, e: str) -> str:
    if gap == 1:
        return e
    return f"join(slide(1, {gap}, {e}))" if d == 1 else f"dilate2d({gap}, {e})"


def one_by_one(r: Random) -> str:
    """The text of a random program that makes each pixel from one pixel, at the same place, of each
    input."""
    product = with_bias(r, lambda start: total(r, 1, start, "pixel", "kernel"))
    biased = f"map((kernel, bias) -> {product}, zip(weights, biases))"
    if maybe(r):
        e, t = f"map2d(pixel -> {biased}, image)", image(2, False)
    else:
        planes = f"map((kernel, bias) -> map2d(pixel -> {product}, {inward(2, 'image')})"
        e, t = f"{planes}, zip(weights, biases))", image(2, True)
    weights = f"{constant(r)}weights : [[float]C]M, const biases : [float]M"
    return f"conv({weights}, image : {t}) =\n {e}\n{sizes(r, C=r.randint(2, 9))}"


def grouped(r: Random) -> str:
    """The text of a random convolution in groups of channels, each with kernels of its own."""
    k = r.randint(1, 3)
    product = total(r, 2, "0.0", "part", "taps")
    parts = "transpose(map(pixel -> split(C, pixel), join(window)))"
    own = "map((part, kernels) -> map(taps -> {}, kernels), zip({}, weights))"
    if maybe(r):
        e = f"map2d(window -> join({own.format(product, parts)}), {windows(r, 2, 'image', k)})"
        t = array("float", "H", "W", "L * C")
        weights = array("float", "L", "M", "K * K", "C")
    else:
        body = total(r, 3, "0.0", "window", "taps")
        seen = windows(r, 2, "part", k)
        e = (
            f"map((part, kernels) -> map(taps -> map2d(window -> {body}, {seen}), kernels),"
            " zip(image, weights))"
        )
        t = array("float", "L", "H", "W", "C")
        weights = array("float", "L", "M", "K", "K", "C")
    return f"conv({constant(r)}weights : {weights}, image : {t}) =\n {e}\n{sizes(r, K=k)}"


def depthwise(r: Random) -> str:
    """The text of a random convolution with one kernel for each channel, in one dimension or
    two."""
    k, d, first = r.randint(1, 3), r.choice((1, 2)), maybe(r)
    weights = f"{constant(r)}weights : {array('float', 'C', *'K' * d)}"
    if first:
        body = total(r, d, "0.0", "window", "kernel")
        each = nested(f"window -> {body}", d, windows(r, d, "plane", k))
        e = f"map((plane, kernel) -> {each}, zip(image, weights))"
    else:
        taps, pixels = ("kernel", "window") if d == 1 else ("flatten(kernel)", "join(window)")
        body = total(r, 1, "0.0", "channel", taps)
        f = f"map((channel, kernel) -> {body}, zip(transpose({pixels}), weights))"
        e = nested(f"window -> {f}", d, windows(r, d, "image", k))
    return f"conv({weights}, image : {image(d, first)}) =\n {e}\n{sizes(r, K=k)}"


def product(r: Random) -> str:
    """The text of a random matrix product, perhaps in a batch; one operand may be transposed."""
    columns, batch = maybe(r), maybe(r)
    body = total(r, 1, "0.0", "row", "column")
    ys, sides = ("y", "MK") if columns else ("transpose(y)", "KM")
    t = array("float", *sides)
    rows = f"map(row -> map(column -> {body}, {ys}), x)"
    if maybe(r):
        rows = f"map(column -> map(row -> {body}, x), {ys})"
    made = sizes(r, K=r.randint(1, 12), M=r.randint(1, 12), H=r.randint(1, 12))
    x = array("float", "H", "K")
    if batch:
        types = f"xs : {array(x, 'N')}, {constant(r)}ys : {array(t, 'N')}"
        return f"product({types}) =\n map((x, y) -> {rows}, zip(xs, ys))\n{made}"
    return f"product(x : {x}, {constant(r)}y : {t}) =\n {rows}\n{made}"


def pooling(r: Random) -> str:
    """The text of a random pooling: the largest number, the least or the mean of each window,
    channel by channel."""
    k, d, first = r.randint(1, 3), r.choice((1, 2)), maybe(r)
    f = r.choice(("maximum({})", "minimum({})", "sum({})", "sum({}) / K"))
    if first:
        own = "window" if d == 1 else "flatten(window)"
        each = nested(f"window -> {f.format(own)}", d, windows(r, d, "plane", k))
        e = f"map(plane -> {each}, image)"
    else:
        pixels = "window" if d == 1 else "join(window)"
        body = f"map(channel -> {f.format('channel')}, transpose({pixels}))"
        e = nested(f"window -> {body}", d, windows(r, d, "image", k))
    return f"pool(image : {image(d, first)}) =\n {e}\n{sizes(r, K=k)}"


def stencil(r: Random) -> str:
    """The text of a random stencil in one dimension or two: sums of neighbours, with weights that
    are parameters or literals."""
    k, d = r.randint(2, 3), r.choice((1, 2))
    given = maybe(r)
    if given:
        body = total(r, d, "0.0", "p", "weights")
    else:
        picked = ("at({}, p)",) * 3 if d == 1 else ("at({}, at(1, p))", "at(0, at({}, p))") * 2
        terms = [f"{r.choice((1.0, 2.0, 0.5))} * {e.format(r.randrange(k))}" for e in picked]
        body = r.choice((" + ", " - ")).join(terms)
    weights = f"const weights : {array('float', *'K' * d)}, " if given else ""
    grid = array("float", *"HW"[-d:])
    e = nested(f"p -> {body}", d, windows(r, d, "grid", k))
    return f"stencil({weights}grid : {grid}) =\n {e}\n{sizes(r, K=k)}"


STRUCTURES: dict[str, Callable[[Random], str]] = {
    "conv 1d": lambda r: convolution(r, 1),
    "conv 2d": lambda r: convolution(r, 2),
    "conv 3d": lambda r: convolution(r, 3),
    "batched": lambda r: convolution(r, r.choice((1, 2)), batch=True),
    "dilated": lambda r: convolution(r, r.choice((1, 2)), gap=2),
    "one by one": one_by_one,
    "grouped": grouped,
    "depthwise": depthwise,
    "product": product,
    "pooling": pooling,
    "stencil": stencil,
}
