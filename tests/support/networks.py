"""Random small programs of one to three layers: convolutions, pooling, biases, skip connections."""

# key: r random numbers, xs text of an array [h][w][c] and its sides

from dataclasses import dataclass, field
from random import Random

from ir.core.nodes import Program
from ir.parse import parse


@dataclass(slots=True)
class Network:
    """A program in the making: its parameters, and the lines that name its layers."""

    params: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def named(self, e: str) -> str:
        self.lines.append(f"  let layer{len(self.lines)} = {e}")
        return f"layer{len(self.lines) - 1}"

    def param(self, name: str, type_: str, const: bool) -> str:
        full = f"{name}{len(self.params)}"
        self.params.append(f"{'const ' * const}{full} : {type_}")
        return full


@dataclass(frozen=True, slots=True)
class Plane:
    """An array that a layer makes: its name, its height, its width and its number of channels."""

    name: str
    h: int
    w: int
    c: int


def network(seed: int) -> Program:
    """A random program of one to three layers, drawn with `seed`; a window may be larger than the
    image, or lie in padding alone."""
    r, n = Random(seed), Network()
    h, w, c = r.choice((1, 1, 2, 3, 5)), r.choice((1, 2, 4, 5)), r.randint(1, 3)
    xs = first = Plane(n.param("image", f"[[[float]{c}]{w}]{h}", False), h, w, c)
    for _ in range(r.choice((1, 1, 2, 2, 3))):
        layer = r.choice((convolution, convolution, convolution, pooling, scaled))
        xs = layer(r, n, xs)
        if (xs.h, xs.w, xs.c) == (first.h, first.w, first.c) and r.random() < 0.5:
            both = "map2d((x, y) -> map((a, b) -> a + b, zip(x, y)), zip2d({}, {}))"
            xs = Plane(n.named(both.format(xs.name, first.name)), xs.h, xs.w, xs.c)
    lines = [*n.lines[:-1], "  " + n.lines[-1].split(" = ", 1)[1]]
    return parse("\n".join([f"net({', '.join(n.params)}) =", *lines]), f"network {seed}")


def windows(r: Random, n: Network, xs: Plane) -> tuple[str, int, Plane]:
    """The text of windows over xs, which is padded at random; the side of a window; and a plane
    (still without a layer of its own) with one pixel for each window."""
    k, p, s = r.choice((1, 2, 3, 3, 5)), r.randrange(4), r.choice((1, 1, 2, 3))
    p = max(p, -(-(k - min(xs.h, xs.w)) // 2))
    h, w = (n + 2 * p - k for n in (xs.h, xs.w))
    padded = f"pad2d({p}, 0.0, {xs.name})" if p else xs.name
    return f"slide2d({k}, {s}, {padded})", k, Plane("", h // s + 1, w // s + 1, xs.c)


def convolution(r: Random, n: Network, xs: Plane) -> Plane:
    over, k, made = windows(r, n, xs)
    m = r.choice((xs.c, 1, 2, 4))
    weights = n.param("weights", f"[[[[float]{xs.c}]{k}]{k}]{m}", r.random() < 0.7)
    total = "reduce({}, (acc, (x, w)) -> acc + x * w, zip(flatten(window), flatten(kernel)))"
    body, kernels = f"kernel -> {total.format('0.0')}", weights
    if r.random() < 0.4:
        biases = n.param("biases", f"[float]{m}", r.random() < 0.7)
        kernels, body = f"zip({weights}, {biases})", f"(kernel, bias) -> {total.format('bias')}"
    if r.random() < 0.3:
        body = body.replace("-> reduce", "-> relu(reduce") + ")"
    name = n.named(f"map2d(window -> map({body}, {kernels}), {over})")
    return Plane(name, made.h, made.w, m)


def pooling(r: Random, n: Network, xs: Plane) -> Plane:
    over, _, made = windows(r, n, xs)
    f = r.choice(("maximum", "average"))
    name = n.named(f"map2d(window -> map(column -> {f}(column), transpose(join(window))), {over})")
    return Plane(name, made.h, made.w, xs.c)


def scaled(r: Random, n: Network, xs: Plane) -> Plane:
    """The plane of a new layer, which multiplies the plane xs by two factors, or multiplies it by
    one and adds the other. The two are parameters with a number for each channel."""
    a, b = (n.param("by", f"[float]{xs.c}", r.random() < 0.7) for _ in range(2))
    f = r.choice(("x * a * b", "x * (a * b)", "x * a + b"))
    e = f"map2d(pixel -> map((x, a, b) -> {f}, zip(pixel, {a}, {b})), {xs.name})"
    return Plane(n.named(e), xs.h, xs.w, xs.c)
