"""Quantised convolutions as programs of ours, and their results by ONNX's reference and by TFLite's
arithmetic."""

from dataclasses import dataclass
from random import Random

import numpy as np
from onnx import ModelProto, TensorProto, helper
from onnx.backend.test.case.node import _NodeTestCases as ONNX_CASES
from onnx.backend.test.case.node import convinteger, qlinearconv  # noqa: F401  (they add theirs)
from onnx.reference import ReferenceEvaluator

from ir.core.nodes import Program
from ir.meaning.inputs import Numbers
from ir.parse import parse

TEXT = """
qconv(const weights : [[[[[{w}]{C}]{KW}]{KH}]{M}]{G}, const zeros : [[{w}]{M}]{G},
      const biases : [[int]{M}]{G}, const qs : [[int]{M}]{G}, const shifts : [[int]{M}]{G},
      image : [[[{x}]({C} * {G})]{W}]{H}) =
  map2d(window ->
      join(map((part, kernels, zs, bs, qs, ss) ->
          map((kernel, zero, bias, q, shift) ->
              let acc = reduce(bias, (acc, (v, w)) -> acc + (v - {xz}) * (w - zero),
                               zip(flatten(part), flatten(kernel)))
              {result},
            zip(kernels, zs, bs, qs, ss)),
        zip(transpose(map(pixel -> split({C}, pixel), join(window))),
            weights, zeros, biases, qs, shifts))),
    map2d(window -> dilate2d(({DH}, {DW}), window),
      slide2d((({KH} - 1) * {DH} + 1, ({KW} - 1) * {DW} + 1), ({SH}, {SW}),
        pad2d(({T}, {B}, {L}, {R}), {xz}, image))))
"""
ONNX_RESULT = "{y}_sat(requantise_even(acc, q, shift, {yz}) + {yz})"


@dataclass(frozen=True)
class Quantised:
    """A quantised convolution: the `sizes` of its program, images x, weights w and their zero
    points, biases, scales (of x, of w for each output channel, of the results), zero points `zeros`
    (of x and of the results), and y, the type of the results."""

    sizes: dict[str, int]
    x: Numbers  # [channel][row][column]
    w: Numbers  # [output channel][channel of its group][row][column]
    w_zero: Numbers
    bias: Numbers
    scales: tuple[float, Numbers, float]  # of x, w and y
    zeros: tuple[int, int]  # of x and y
    y: "np.dtype[np.generic]"

    def program(self, result: str) -> Program:
        """The program for this convolution whose result is the text `result`, a term of acc (the
        sum), q and shift (the multiplier's two numbers)."""
        xz, yz = self.zeros
        result = result.format(y=_scalar(self.y), yz=yz)
        kinds = {"x": _scalar(self.x.dtype), "w": _scalar(self.w.dtype)}
        return parse(TEXT.format(**kinds, **self.sizes, xz=xz, yz=yz, result=result))

    def inputs(self) -> dict[str, Numbers]:
        """The program's inputs by name: images with channels last, kernels by group, and scales as
        the multipliers that `multipliers` gives."""
        groups = self.sizes["G"]
        qs, shifts = self.multipliers()
        kernels = self.w.transpose(0, 2, 3, 1)
        return {
            "weights": kernels.reshape(groups, -1, *kernels.shape[1:]),
            **{
                name: np.asarray(values).reshape(groups, -1)
                for name, values in (
                    ("zeros", self.w_zero),
                    ("biases", self.bias),
                    ("qs", qs),
                    ("shifts", shifts),
                )
            },
            "image": self.x.transpose(1, 2, 0),
        }

    def multipliers(self) -> tuple[Numbers, Numbers]:
        """The scale of each output channel as whole numbers (q, shift): q * 2^(shift - 31) is
        exactly the scale in single precision."""
        x, w, y = self.scales
        scale = np.float32(x) * w.astype(np.float32) / np.float32(y)
        fraction, exponent = np.frexp(scale)
        return (fraction.astype(np.float64) * 2**31).astype(np.int32), exponent.astype(np.int32)

    def by_onnx(self) -> Numbers:
        """The result of QLinearConv by `onnx.reference`, channels last."""
        x_scale, w_scale, y_scale = self.scales
        xz, yz = self.zeros
        given = {
            "x": self.x[None],
            "xs": np.asarray(x_scale, np.float32),
            "xz": np.asarray(xz, self.x.dtype),
            "w": self.w,
            "ws": w_scale,
            "wz": self.w_zero,
            "ys": np.asarray(y_scale, np.float32),
            "yz": np.asarray(yz, self.y),
            "b": self.bias,
        }
        return self._by_onnx("QLinearConv", given)

    def sums_by_onnx(self) -> Numbers:
        """The result of ConvInteger by `onnx.reference`, channels last; it has no bias."""
        xz = np.asarray(self.zeros[0], self.x.dtype)
        given = {"x": self.x[None], "w": self.w, "xz": xz, "wz": self.w_zero}
        return self._by_onnx("ConvInteger", given)

    def _by_onnx(self, op: str, given: dict[str, Numbers]) -> Numbers:
        s = self.sizes
        node = helper.make_node(
            op,
            list(given),
            ["out"],
            pads=[s["T"], s["L"], s["B"], s["R"]],
            strides=[s["SH"], s["SW"]],
            dilations=[s["DH"], s["DW"]],
            group=s["G"],
        )
        out: Numbers = ReferenceEvaluator(_model(node, list(given))).run(None, given)[0]
        return np.asarray(out[0].transpose(1, 2, 0))

    def sums(self) -> Numbers:
        """The sums of products, with zero points taken off and biases added, channels last;
        computed in NumPy with 64 bits."""
        s = self.sizes
        padded = np.pad(
            self.x.astype(np.int64) - self.zeros[0],
            ((0, 0), (s["T"], s["B"]), (s["L"], s["R"])),
        )
        high = (padded.shape[1] - (s["KH"] - 1) * s["DH"] - 1) // s["SH"] + 1
        wide = (padded.shape[2] - (s["KW"] - 1) * s["DW"] - 1) // s["SW"] + 1
        out = np.zeros((high, wide, len(self.w)), np.int64)
        for (i, j, m), _ in np.ndenumerate(out):
            group = m // s["M"]
            rows = i * s["SH"] + np.arange(s["KH"]) * s["DH"]
            columns = j * s["SW"] + np.arange(s["KW"]) * s["DW"]
            part = padded[group * s["C"] : (group + 1) * s["C"]][:, rows][:, :, columns]
            kernel = self.w[m].astype(np.int64) - int(self.w_zero[m])
            out[i, j, m] = (part * kernel).sum() + int(self.bias[m])
        return out


def of_onnx(name: str) -> tuple[Quantised, Numbers]:
    """A test case of the onnx package, of QLinearConv or ConvInteger, by its name; and the result
    that the package states for it."""
    (case,) = [t for t in ONNX_CASES if t.name == name]
    (node,) = case.model.graph.node
    ((read, (right,)),) = case.data_sets
    if node.op_type == "ConvInteger":
        x, w, xz, *zeros = read
        wz, yz = (*zeros, np.zeros(1, w.dtype))[0], np.zeros(1, np.uint8)
        xs, ws, ys = np.ones((3, 1), np.float32)
    else:
        x, xs, xz, w, ws, wz, ys, yz = read
    t, l, b, r = next((a.ints for a in node.attribute if a.name == "pads"), (0, 0, 0, 0))
    outputs, channels, high, wide = w.shape
    sizes = dict.fromkeys(("G", "DH", "DW", "SH", "SW"), 1) | {"T": t, "L": l, "B": b, "R": r}
    sizes |= {"C": channels, "M": outputs, "KH": high, "KW": wide}
    sizes |= {"H": x.shape[2], "W": x.shape[3]}
    made = Quantised(
        sizes,
        x[0],
        w,
        np.broadcast_to(wz.ravel(), outputs),
        np.zeros(outputs, np.int32),
        (float(xs.ravel()[0]), np.broadcast_to(ws.ravel(), outputs), float(ys.ravel()[0])),
        (int(xz.ravel()[0]), int(yz.ravel()[0])),
        yz.dtype,
    )
    return made, right[0].transpose(1, 2, 0)


def drawn(r: Random, *, tflite: bool = False) -> Quantised:
    """A random quantised convolution: strides, dilations, groups, different padding at each side, a
    scale for each channel, sometimes so large that ints would not hold what is to saturate; with
    `tflite`, one that TFLite allows."""
    rng = np.random.default_rng(r.randrange(1 << 30))
    s = {"C": r.randint(1, 4), "M": r.randint(1, 4), "G": r.choice((1, 1, 2, 3))}
    for side, edges in (("H", "TB"), ("W", "LR")):
        s[f"K{side}"], s[f"D{side}"] = r.randint(1, 3), r.randint(1, 2)
        s[f"S{side}"] = r.randint(1, 3)
        s[edges[0]], s[edges[1]] = r.randint(0, 2), r.randint(0, 2)
        s[side] = r.randint(max(1, (s[f"K{side}"] - 1) * s[f"D{side}"] + 1), 8)
    x_type = np.dtype(np.int8 if tflite else r.choice((np.int8, np.uint8)))
    w_type = np.dtype(np.int8 if tflite else r.choice((np.int8, np.uint8)))
    outputs = s["M"] * s["G"]
    w_least = -127 if tflite else np.iinfo(w_type).min
    w = rng.integers(w_least, np.iinfo(w_type).max + 1, (outputs, s["C"], s["KH"], s["KW"]))
    zero = np.zeros(outputs) if tflite else _any(rng, w_type, outputs)
    return Quantised(
        s,
        _any(rng, x_type, (s["C"] * s["G"], s["H"], s["W"])),
        w.astype(w_type),
        zero.astype(w_type),
        rng.integers(-5000, 5000, outputs).astype(np.int32),
        (
            rng.uniform(0.001, 0.1),
            _scales(rng, outputs, powers=r.random() < 0.3),
            r.choice((0.5, 1.0, rng.uniform(0.01, 2), 1.0 if tflite else 10.0 ** -r.randint(3, 8))),
        ),
        (int(_any(rng, x_type, 1)[0]), int(_any(rng, x_type, 1)[0])),
        x_type,
    )


def _scales(rng: np.random.Generator, n: int, powers: bool) -> Numbers:
    """Random scales for n channels. If `powers`, they are powers of two, so that some results lie
    exactly halfway between two whole numbers."""
    return (2.0 ** rng.integers(-7, 2, n) if powers else rng.uniform(0.001, 2, n)).astype(
        np.float32
    )


def _any(
    rng: np.random.Generator, dtype: "np.dtype[np.generic]", shape: int | tuple[int, ...]
) -> Numbers:
    info = np.iinfo(str(dtype))
    return rng.integers(info.min, info.max + 1, shape).astype(dtype)


def _scalar(dtype: "np.dtype[np.generic]") -> str:
    return "char" if dtype == np.int8 else "uchar"


def _model(node: object, names: list[str]) -> ModelProto:
    infos = [helper.make_tensor_value_info(n, TensorProto.UNDEFINED, None) for n in names]
    out = [helper.make_tensor_value_info("out", TensorProto.UNDEFINED, None)]
    graph = helper.make_graph([node], "g", infos, out)
    return helper.make_model(graph)


# ---- TFLite's arithmetic, from its definition, in Python's integers


def tflite_once(acc: int, q: int, shift: int) -> int:
    """The sum acc times q * 2^(shift - 31), as TFLite's MultiplyByQuantizedMultiplier with single
    rounding computes it."""
    return (acc * q + (1 << (30 - shift))) >> (31 - shift)


def tflite_twice(acc: int, q: int, shift: int) -> int:
    """The sum acc times q * 2^(shift - 31), as TFLite's MultiplyByQuantizedMultiplier with double
    rounding computes it."""
    product = (acc << max(shift, 0)) * q
    nudged = product + (1 << 30 if product >= 0 else 1 - (1 << 30))
    high = abs(nudged) // (1 << 31) * (1 if nudged >= 0 else -1)
    power = max(-shift, 0)
    mask = (1 << power) - 1
    threshold = (mask >> 1) + (high < 0)
    return (high >> power) + ((high & mask) > threshold)
