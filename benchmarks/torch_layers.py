"""Random convolution-like programs, each with the function of PyTorch that computes the same."""

# key: d dimensions, x chain, t tensor, k sides of a kernel, m results of a group

from collections.abc import Callable
from random import Random

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.torch_chain import (
    CONVOLVE,
    CONVOLVE_BACK,
    EDGES,
    MAPS,
    Chain,
    counted,
    dilated,
    each_side,
    geometry,
    padded,
    sides,
    spans,
    taps,
    torch_padded,
    windows,
)

NUMBERS: dict[str, tuple[str, Callable[[Tensor], Tensor]]] = {
    "relu": ("relu(x)", F.relu),
    "tanh": ("tanh(x)", torch.tanh),
    "exp": ("exp(0.5 * x)", lambda t: torch.exp(0.5 * t)),
    "sigmoid": ("1.0 / (1.0 + exp(-x))", torch.sigmoid),
    "abs": ("abs(x)", torch.abs),
    "square": ("square(x)", torch.square),
    "softplus": ("log(1.0 + exp(x))", F.softplus),
    "root": ("sqrt(x * x + 1.0)", lambda t: torch.sqrt(t * t + 1)),
    "softsign": ("x / (1.0 + abs(x))", F.softsign),
    "leaky": ("max(x, 0.1 * x)", lambda t: F.leaky_relu(t, 0.1)),
    "hardswish": ("x * min(max(x + 3.0, 0.0), 6.0) / 6.0", F.hardswish),
    "clipped": ("min(max(x, -0.5), 0.5)", F.hardtanh),
    "gelu": (
        "0.5 * x * (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))",
        lambda t: F.gelu(t, approximate="tanh"),
    ),
    "cosine": ("cospi(0.3 * x)", lambda t: torch.cos(0.3 * torch.pi * t)),
    "less": ("-(x - 2.0) / 3.0", lambda t: -(t - 2) / 3),
}
CUT = {"clipped": lambda t: torch.clamp(t, -0.5, 0.5)}


def convolution(x: Chain) -> None:
    """Add a random convolution to a program: perhaps in groups, with a bias, with strides and
    dilations, and with any kind of padding."""
    r, d = x.r, x.d
    k, steps, apart, pads = geometry(x, 3 if d < 3 else 2)
    edge = r.choice(("pad", "pad", *EDGES)) if d < 3 else "pad"
    g = r.choice([n for n in range(1, x.c + 1) if x.c % n == 0])
    m, own = r.randint(1, 3), x.c // g
    w, bias = x.parameter(g, m, *k, own), r.random() < 0.5
    b = x.parameter(g * m) if bias else ""
    parts = f"transpose(map(p -> split({own}, p), {taps(d, dilated(x, apart))}))"
    sums = (
        "join(map((part, kernels) -> map(kernel -> dot(flatten(part), flatten(kernel)), kernels),"
        f" zip({parts}, {w})))"
    )
    if g == 1 and r.random() < 0.8:
        seen = f"flatten({dilated(x, apart)})"
        sums = f"map(kernel -> dot({seen}, flatten(kernel)), at(0, {w}))"
    if bias:
        sums = f"map((s, b) -> s + b, zip({sums}, {b}))"

    def step(t: Tensor, given: dict[str, Tensor]) -> Tensor:
        kernels = given[w].reshape(g * m, *k, own).movedim(-1, 1)
        t = torch_padded(t, pads, edge)[None]
        out: Tensor = CONVOLVE[d](
            t, kernels, given[b] if bias else None, stride=steps, dilation=apart, groups=g
        )
        return out[0]

    x.add(x.each(f"window -> {sums}", windows(x, k, steps, apart, padded(x, pads, edge))), step)
    x.sides = [counted(*n) for n in zip(x.sides, pads, spans(k, apart), steps, strict=True)]
    x.c = g * m


def transposed(x: Chain) -> None:
    """Add a random transposed convolution to a program, by the prelude's function."""
    r, d = x.r, x.d
    k, steps, apart, _ = geometry(x, 3 if d < 3 else 2)
    more = [r.randrange(max(s, a)) for s, a in zip(steps, apart, strict=True)]
    wide = spans(k, apart)
    full = [(n - 1) * s + w + m for n, s, w, m in zip(x.sides, steps, wide, more, strict=True)]
    cut = [
        r.randint(0, min(1, w - 1, (n - m - 1) // 2))
        for w, n, m in zip(wide, full, more, strict=True)
    ]
    m = r.randint(1, 3)
    w = x.parameter(m, *k, x.c)
    pads = f"({each_side([(p, p) for p in cut])})"
    x.add(
        f"conv_transpose{d}d({sides(steps)}, {pads}, {sides(more)}, {sides(apart)}, {w}, {x.last})",
        lambda t, given: CONVOLVE_BACK[d](
            t[None],
            given[w].movedim(0, -1).movedim(-2, 0).movedim(-1, 1),
            stride=steps,
            padding=cut,
            output_padding=more,
            dilation=apart,
        )[0],
    )
    x.sides = [n - 2 * p for n, p in zip(full, cut, strict=True)]
    x.c = m


def numbers(x: Chain) -> None:
    """Add a random operation that is applied to each number of the last term."""
    name = x.r.choice(sorted(NUMBERS))
    text, f = NUMBERS[name]
    f = CUT.get(name, f)
    x.add(x.each(f"pixel -> map(x -> {text}, pixel)"), lambda t, _: f(t))


def pooling(x: Chain) -> None:
    """Add a random pooling to a program: the largest, the least, or the mean number of each
    window."""
    k, steps, apart, pads = geometry(x, 3 if x.d < 3 else 2)
    apart = [1] * x.d
    kind = x.r.choice(("maximum", "minimum", "average"))
    pads = [p if sum(p) < n else (0, 0) for p, n in zip(pads, k, strict=True)]
    k = [min(n, side + sum(p)) for n, side, p in zip(k, x.sides, pads, strict=True)]
    count = int(np.prod(k))
    fill = {"maximum": "-inf", "minimum": "inf", "average": "0.0"}[kind]
    seen = windows(x, k, steps, apart, padded(x, pads, "pad", fill))
    d = x.d

    def pool(t: Tensor, _: dict[str, Tensor]) -> Tensor:
        t = torch_padded(t, pads, "pad", float(fill))
        for i in range(d):
            t = t.unfold(i + 1, k[i], steps[i])
        t = t.reshape(*t.shape[: d + 1], count)
        return {"maximum": t.amax, "minimum": t.amin, "average": t.mean}[kind](-1)

    x.add(x.each(f"window -> map(c -> {kind}(c), transpose({taps(x.d, 'window')}))", seen), pool)
    x.sides = [counted(*n) for n in zip(x.sides, pads, k, steps, strict=True)]


def softmax(x: Chain) -> None:
    """Add a softmax over the channels of each pixel to a program."""
    x.add(
        x.each(
            "pixel -> (let powers = (let most = maximum(pixel)\n map(c -> exp(c - most), pixel))\n"
            " let all = sum(powers)\n map(p -> p / all, powers))"
        ),
        lambda t, _: torch.softmax(t, 0),
    )


def normalised(x: Chain) -> None:
    """Add a normalisation of each pixel to a program: its channels less their mean, divided by
    their deviation, times a learned scale."""
    g = x.parameter(x.c)
    x.add(
        x.each(
            "pixel -> (let mean = average(pixel)\n"
            " let deviation = sqrt(average(map(c -> square(c - mean), pixel)) + 0.01)\n"
            f" map((c, scale) -> (c - mean) / deviation * scale, zip(pixel, {g})))"
        ),
        lambda t, given: (
            F.layer_norm(t.movedim(0, -1), (t.shape[0],), eps=0.01) * given[g]
        ).movedim(-1, 0),
    )


def excited(x: Chain) -> None:
    """Add squeeze and excitation to a program: each channel is multiplied by a gate, which is
    computed from the means of the channels over the image."""
    w = x.parameter(x.c, x.c)
    image, whole = x.last, "join(" * (x.d - 1) + x.last + ")" * (x.d - 1)
    x.add(
        f"(let means = map(c -> average(c), transpose({whole}))\n"
        f" let gates = map(row -> 1.0 / (1.0 + exp(-dot(row, means))), {w})\n"
        f" {MAPS[x.d]}(pixel -> map((c, gate) -> c * gate, zip(pixel, gates)), {image}))",
        lambda t, given: (
            t * torch.sigmoid(given[w] @ t.flatten(1).mean(1)).reshape(-1, *[1] * (t.dim() - 1))
        ),
    )


def residual(x: Chain) -> None:
    """Add a residual block to a program: the last term plus a 1×1 convolution of it."""
    w = x.parameter(x.c, x.c)
    x.add(
        x.each(f"pixel -> map((row, c) -> c + dot(row, pixel), zip({w}, pixel))"),
        lambda t, given: t + torch.tensordot(given[w], t, 1),
    )


def upsampled(x: Chain) -> None:
    """Add a random upsampling to a program: pixels are repeated, or made as weighted means of their
    neighbours."""
    if x.d != 2:
        numbers(x)
        return
    times, kind = [x.r.randint(1, 3), x.r.randint(1, 3)], x.r.choice(("nearest", "bilinear"))
    f = {"nearest": "repeat2d", "bilinear": "resize2d"}[kind]
    corners = {} if kind == "nearest" else {"align_corners": False}
    x.add(
        f"{f}({sides(times)}, {x.last})",
        lambda t, _: F.interpolate(t[None], scale_factor=tuple(times), mode=kind, **corners)[0],
    )
    x.sides = [n * s for n, s in zip(x.sides, times, strict=True)]


LAYERS = (numbers, pooling, softmax, normalised, excited, residual, upsampled, transposed)


def chain(r: Random) -> Chain:
    """A random program with its function of PyTorch: a convolution, up to two more layers, perhaps
    another convolution."""
    d = r.choice((1, 2, 2, 2, 3))
    sides = [r.randint(3, 7) if d < 3 else r.randint(2, 4) for _ in range(d)]
    x = Chain(d, sides, r.randint(1, 4), r)
    for layer in (
        r.choice((convolution, convolution, transposed)),
        *(r.choice(LAYERS) for _ in range(r.randrange(3))),
        *((convolution,) if r.random() < 0.3 else ()),
    ):
        layer(x)
    return x
