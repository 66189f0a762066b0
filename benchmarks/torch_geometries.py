"""Random transposed convolutions, each computed by the prelude, by the adjoint of a convolution,
and by PyTorch."""

# key: r random numbers, d dimensions, c channels, m results of a group, x image, w weights

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import numpy as np
import onnx.backend.test.case.node.convtranspose  # noqa: F401  (it adds its cases)
import torch
from onnx import helper
from onnx.backend.test.case.node import _NodeTestCases

from benchmarks.torch_chain import CONVOLVE_BACK, MAPS, SUFFIX, array_type, each_side, sides, taps
from ir.meaning.interpret import evaluate
from ir.parse import parse
from rewrites.adjoint.program import adjoint


@dataclass(frozen=True, eq=False)
class Geometry:
    """A transposed convolution of an image x [c][sides] by weights w [c][m][sides], as PyTorch lays
    them out, in `groups` groups. For each dimension, `steps` has the stride, `pads` how much is
    cropped at both ends, `more` how much is added at the end, and `apart` the dilation."""

    steps: list[int]
    pads: list[tuple[int, int]]
    more: list[int]
    apart: list[int]
    groups: int
    x: np.ndarray
    w: np.ndarray

    @property
    def d(self) -> int:
        return len(self.steps)

    @property
    def kernels(self) -> np.ndarray:
        """The weights laid out for the prelude's function: [g][m][sides][c/g]."""
        by_group = self.w.reshape(self.groups, -1, *self.w.shape[1:])
        return np.ascontiguousarray(np.moveaxis(by_group, 1, -1))

    @property
    def pixels(self) -> np.ndarray:
        return np.ascontiguousarray(np.moveaxis(self.x, 0, -1))

    def by_prelude(self) -> np.ndarray:
        """The interpreter's result of the prelude's transposed convolution; channels come last."""
        amounts = ", ".join(map(sides, (self.steps, _flat(self.pads), self.more, self.apart)))
        weights, image = array_type(self.kernels.shape), array_type(self.pixels.shape)
        program = parse(
            f"""up(weights : {weights}, image : {image}) =
  grouped{self.d}d((kernels, part) -> conv_transpose{self.d}d({amounts}, kernels, part),
    weights, image)"""
        )
        return _numbers(evaluate(program, {"weights": self.kernels, "image": self.pixels}))

    def by_adjoint(self) -> np.ndarray:
        """The interpreter's result of the adjoint of the convolution that has these strides, pads,
        dilations and groups; channels come last."""
        kernel = self.w.shape[2:]
        by_group = self.w.reshape(self.groups, -1, *self.w.shape[1:])
        own_kernels = np.ascontiguousarray(np.moveaxis(by_group, 2, -1))
        spans = [a * (k - 1) + 1 for a, k in zip(self.apart, kernel, strict=True)]
        full = [
            (n - 1) * s + span + more
            for n, s, span, more in zip(self.x.shape[1:], self.steps, spans, self.more, strict=True)
        ]
        own = [n - sum(p) for n, p in zip(full, self.pads, strict=True)]
        image = (*own, self.groups * self.w.shape[1])
        window = "window" if self.d == 1 else f"dilate2d({sides(self.apart)}, window)"
        if self.d == 1:
            window = f"join(slide(1, {self.apart[0]}, window))"
        if self.d == 3:
            window = _dilated3d(self.apart)
        border = f"({each_side(self.pads)})" if self.d > 1 else each_side(self.pads)
        windows = (
            f"slide{SUFFIX[self.d]}({sides(spans)}, {sides(self.steps)},"
            f" pad{SUFFIX[self.d]}({border}, 0.0, image))"
        )
        parts = f"transpose(map(p -> split({self.w.shape[1]}, p), {taps(self.d, window)}))"
        program = parse(
            f"""down(weights : {array_type(own_kernels.shape)}, image : {array_type(image)}) =
  {MAPS[self.d]}(window ->
      join(map((part, kernels) ->
          map(kernel -> dot(flatten(part), flatten(kernel)), kernels), zip({parts}, weights))),
    {windows})"""
        )
        back = adjoint(program, "image")
        # the windows that the result's last places begin are none of the transposed convolution
        counts = [
            (n + sum(p) - span) // s + 1
            for n, p, span, s in zip(own, self.pads, spans, self.steps, strict=True)
        ]
        spare = [(0, n - was) for n, was in zip(counts, self.x.shape[1:], strict=True)]
        cotangent = np.pad(self.pixels, [*spare, (0, 0)])
        return _numbers(evaluate(back, {"weights": own_kernels, "cotangent": cotangent}))

    def by_torch(self) -> np.ndarray:
        """PyTorch's result; channels come last. PyTorch crops equally many elements at both ends of
        a dimension, so those that `pads` asks for beyond that are cropped afterwards."""
        least = [max(0, min(pair)) for pair in self.pads]
        out = CONVOLVE_BACK[self.d](
            torch.tensor(self.x)[None],
            torch.tensor(self.w),
            stride=self.steps,
            padding=least,
            output_padding=self.more,
            dilation=self.apart,
            groups=self.groups,
        )[0]
        rest = [least[k] - p for k in reversed(range(self.d)) for p in self.pads[k]]
        out = torch.nn.functional.pad(out, rest)
        return np.ascontiguousarray(out.movedim(0, -1).numpy())


def _flat(pads: list[tuple[int, int]]) -> list[int]:
    return [n for pair in pads for n in pair]


def _dilated3d(apart: list[int]) -> str:
    plane = f"map(plane -> dilate2d({sides(apart[1:])}, plane), window)"
    return f"join(slide(1, {apart[0]}, {plane}))"


def _numbers(found: object) -> np.ndarray:
    assert isinstance(found, np.ndarray)
    return found


def geometry(r: Random) -> Geometry:
    """A random transposed convolution in one, two or three dimensions: strides, pads, dilations,
    groups, and an image and weights of normally distributed numbers, all drawn from `r`."""
    d = r.choice((1, 2, 2, 3))
    groups, most = r.choice((1, 1, 2, 3)), 5 if d < 3 else 3
    at = [r.randint(1, most) for _ in range(d)]
    k = [r.randint(1, 4 if d < 3 else 3) for _ in range(d)]
    steps, apart = [r.randint(1, 4) for _ in at], [r.choice((1, 1, 2, 3)) for _ in at]
    more = [r.randrange(max(s, a)) for s, a in zip(steps, apart, strict=True)]
    pads = list[tuple[int, int]]()
    for n, s, a, side in zip(at, steps, apart, k, strict=True):
        room = (n - 1) * s + a * (side - 1)
        first = r.randint(0, min(3, room))
        pads.append((first, r.randint(0, min(3, room - first))))
    rng = np.random.default_rng(r.randrange(1 << 30))
    c = groups * r.randint(1, 3)
    x, w = rng.normal(size=(c, *at)), rng.normal(size=(c, r.randint(1, 3), *k))
    return Geometry(steps, pads, more, apart, groups, x, w)


def onnx_cases() -> Iterator[tuple[str, Geometry, np.ndarray]]:
    """The name, the geometry and the right result (channels last) of each ConvTranspose case of the
    onnx package."""
    for case in sorted(_NodeTestCases, key=lambda c: c.name):
        if case.name.startswith("test_convtranspose"):
            assert case.model is not None
            assert case.data_sets is not None
            (node,) = case.model.graph.node
            given = {a.name: helper.get_attribute_value(a) for a in node.attribute}
            ((x, w), (y,)) = case.data_sets[0]
            for image, expected in zip(x, y, strict=True):
                g = _of_onnx(given, image.astype(float), w.astype(float), expected.shape[1:])
                yield case.name, g, np.moveaxis(expected.astype(float), 0, -1)


def _of_onnx(
    given: dict[str, object], x: np.ndarray, w: np.ndarray, made: tuple[int, ...]
) -> Geometry:
    def each(key: str, least: int) -> list[int]:
        found = given.get(key, [least] * (x.ndim - 1))
        assert isinstance(found, list)
        return found

    steps, apart, more = each("strides", 1), each("dilations", 1), each("output_padding", 0)
    whole = [
        (n - 1) * s + a * (k - 1) + 1 + m
        for n, s, a, k, m in zip(x.shape[1:], steps, apart, w.shape[2:], more, strict=True)
    ]
    lost = [n - out for n, out in zip(whole, made, strict=True)]
    upper = given.get("auto_pad") == b"SAME_UPPER"
    first = [n // 2 if upper else n - n // 2 for n in lost]
    if "pads" in given:
        first = each("pads", 0)[: len(steps)]
    pads = [(f, n - f) for f, n in zip(first, lost, strict=True)]
    groups = given.get("group", 1)
    assert isinstance(groups, int)
    return Geometry(steps, pads, more, apart, groups, x, w)
