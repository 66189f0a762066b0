"""Programs that are built layer by layer, each with the function of PyTorch that computes the same,
and helpers to write layers.

A layer adds a term to the program's text, and a step to PyTorch's function. Arrays have their
channels last in the program, and first in PyTorch."""

# key: r random numbers, d dimensions, c channels, n size, e text of a term, t tensor

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from ir.core.nodes import Program
from ir.parse import parse

MAPS = {1: "map", 2: "map2d", 3: "map3d"}
SUFFIX = {1: "", 2: "2d", 3: "3d"}
CONVOLVE = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
CONVOLVE_BACK = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}
EDGES = {"pad_clamp": "edge", "pad_mirror": "symmetric", "pad_wrap": "wrap"}

Step = Callable[[Tensor, dict[str, Tensor]], Tensor]


@dataclass
class Chain:
    """A program on an image in d dimensions, built layer by layer by choices of `r`: the image's
    sizes after the layers so far (`sides`, and c channels), the shapes of its parameters by name,
    the texts of its terms, and PyTorch's steps."""

    d: int
    sides: list[int]
    c: int
    r: Random
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    terms: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.shapes["image"] = (*self.sides, self.c)

    @property
    def last(self) -> str:
        return f"x{len(self.terms)}" if self.terms else "image"

    def parameter(self, *shape: int) -> str:
        """Add a parameter of this shape; returns its name."""
        name = f"w{len(self.shapes)}"
        self.shapes[name] = shape
        return name

    def add(self, term: str, step: Step) -> None:
        self.terms.append(term)
        self.steps.append(step)

    def each(self, f: str, e: str | None = None) -> str:
        """The text that applies the function f to each pixel of e (None: of the last term)."""
        return f"{MAPS[self.d]}({f}, {e or self.last})"

    def program(self) -> Program:
        """The program of all terms so far; its result is the last one."""
        params = ", ".join(f"{name} : {array_type(shape)}" for name, shape in self.shapes.items())
        lets = "".join(f"  let x{k + 1} = {e}\n" for k, e in enumerate(self.terms))
        return parse(f"chain({params}) =\n{lets}  {self.last}")

    def by_torch(self, given: dict[str, Tensor]) -> Tensor:
        """PyTorch's result for these inputs of the program, with channels last, as in the program's
        result."""
        t = given["image"].movedim(-1, 0)
        for step in self.steps:
            t = step(t, given)
        return t.movedim(0, -1)


def array_type(shape: tuple[int, ...]) -> str:
    e = "float"
    for n in reversed(shape):
        e = f"[{e}]{n}"
    return e


def sides(numbers: list[int]) -> str:
    return str(numbers[0]) if len(numbers) == 1 else f"({', '.join(map(str, numbers))})"


def each_side(pads: list[tuple[int, int]]) -> str:
    return ", ".join(str(n) for pair in pads for n in pair)


# ---- what layers are made of


def padded(x: Chain, pads: list[tuple[int, int]], edge: str, value: str = "0.0") -> str:
    """The text of the last term with borders of the widths `pads`, before and after in each
    dimension: of `value` if `edge` is `pad`, else of the elements that the function called `edge`
    takes."""
    if not any(n for pair in pads for n in pair):
        return x.last
    amounts = each_side(pads) if x.d == 1 else f"({each_side(pads)})"
    name = f"pad{SUFFIX[x.d]}{edge[3:]}" if x.d > 1 else edge
    given = f"{amounts}, {value}" if edge == "pad" else amounts
    return f"{name}({given}, {x.last})"


def torch_padded(t: Tensor, pads: list[tuple[int, int]], edge: str, value: float = 0.0) -> Tensor:
    if edge == "pad":
        return F.pad(t, [n for pair in reversed(pads) for n in pair], value=value)
    for k, pair in enumerate(pads):
        at = np.pad(np.arange(t.shape[k + 1]), pair, mode=EDGES[edge])  # type: ignore[call-overload]
        t = t.index_select(k + 1, torch.from_numpy(at))
    return t


def geometry(x: Chain, most: int) -> tuple[list[int], list[int], list[int], list[tuple[int, int]]]:
    """Random numbers for each dimension of windows that fit into the image of x: sides (at most
    `most`), strides, dilations, and paddings before and after."""
    r = x.r
    k = [r.randint(1, most) for _ in x.sides]
    apart = [r.choice((1, 1, 2)) if x.d < 3 else 1 for _ in x.sides]
    pads = [(r.randrange(2), r.randrange(2)) for _ in x.sides]
    for i, n in enumerate(x.sides):
        if apart[i] * (k[i] - 1) + 1 > n + sum(pads[i]):
            k[i], apart[i] = 1, 1
    return k, [r.choice((1, 1, 2, 3)) for _ in x.sides], apart, pads


def spans(k: list[int], apart: list[int]) -> list[int]:
    """The width of windows along each dimension, where they have k taps that lie `apart` from each
    other."""
    return [a * (n - 1) + 1 for a, n in zip(apart, k, strict=True)]


def windows(x: Chain, k: list[int], steps: list[int], apart: list[int], e: str) -> str:
    return f"slide{SUFFIX[x.d]}({sides(spans(k, apart))}, {sides(steps)}, {e})"


def dilated(x: Chain, apart: list[int]) -> str:
    if set(apart) == {1}:
        return "window"
    if x.d == 1:
        return f"join(slide(1, {apart[0]}, window))"
    return f"dilate2d({sides(apart)}, window)"


def taps(d: int, window: str) -> str:
    """The text of the array of all pixels of a window, where `window` is the window's text and d
    its number of dimensions."""
    return "join(" * (d - 1) + window + ")" * (d - 1)


def counted(n: int, pair: tuple[int, int], span: int, step: int) -> int:
    return (n + sum(pair) - span) // step + 1
