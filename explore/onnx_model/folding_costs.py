"""The operators that are computed on constants when a model is read, and estimates of how long
ONNX's reference takes for them: a small file can ask for much."""

from collections.abc import Sequence
from math import ceil, prod
from typing import Any

from explore.onnx_model.onnx_graph import Array, Kind, Node
from explore.onnx_model.prepared_nodes import einsum_sizes

NUMBER_BY_NUMBER = (
    "Abs", "Acos", "Acosh", "Add", "And", "Asin", "Asinh", "Atan", "Atanh", "BatchNormalization",
    "BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Cast", "CastLike", "Ceil",
    "Celu", "Clip", "Cos", "Cosh", "DequantizeLinear", "Div", "Dropout", "Elu", "Equal", "Exp",
    "Floor", "Greater", "GreaterOrEqual", "HardSigmoid", "HardSwish", "Identity", "IsInf",
    "IsNaN", "LeakyRelu", "Less", "LessOrEqual", "Log", "Max", "Mean", "Min", "Mish", "Mod",
    "Mul", "Neg", "Not", "Or", "PRelu", "Pow", "QuantizeLinear", "Reciprocal", "Relu", "Round",
    "Selu", "Shrink", "Sigmoid", "Sign", "Sin", "Sinh", "Softsign", "Sqrt", "Sub", "Sum", "Tan",
    "Tanh", "ThresholdedRelu", "Where", "Xor",
)  # fmt: skip
MOVES = (
    "Compress", "Concat", "ConstantOfShape", "DepthToSpace", "Expand", "EyeLike", "Flatten",
    "Gather", "GatherElements", "NonZero", "OneHot", "Pad", "Range", "Reshape", "Shape", "Size",
    "Slice", "SpaceToDepth", "Split", "Squeeze", "Tile", "Transpose", "Trilu", "Unsqueeze",
)  # fmt: skip
ALONG_AXES = (
    "ArgMax", "ArgMin", "CumSum", "GlobalAveragePool", "GlobalMaxPool", "Hardmax",
    "InstanceNormalization", "LayerNormalization", "LogSoftmax", "ReduceL1", "ReduceL2",
    "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
    "ReduceSum", "ReduceSumSquare", "Softmax",
)  # fmt: skip
PRODUCTS = ("Gemm", "MatMul", "MatMulInteger")
CONVOLUTIONS = ("Conv", "ConvInteger")
IN_TURN = {"Erf": 400, "Gelu": 400, "TopK": 400} | dict.fromkeys(
    ("GatherND", "ScatterElements", "ScatterND"), 3_000
)
"""Operators that the reference computes number after number, with the nanoseconds for each."""

FOLDED = frozenset(
    ("Einsum", *NUMBER_BY_NUMBER, *MOVES, *ALONG_AXES, *PRODUCTS, *CONVOLUTIONS, *IN_TURN)
)
"""The operators that are computed: their results depend on their inputs alone, and their time on
the numbers that they read and make, and on windows. Not among them are those that draw random
numbers, read files, or have a body of other nodes, nor those that the reference of some version of
onnx does not compute right: pools with `ceil_mode`, `ConvTranspose` in groups, quantised sums that
saturate, `Softplus` of large numbers."""

AT_ONCE_NS, PRODUCT_NS, TERM_NS = 10, 2, 5  # for a number, a product, a number in a window


def most_elements(node: Node, arrays: Sequence[Array]) -> int | None:
    """The most elements that a node makes of `arrays`, where ONNX does not tell the result's shape
    before, or tells a wrong one, as for a long range of int32; None for other operators."""
    match node.operator:
        case "NonZero":
            return arrays[0].ndim * arrays[0].size
        case "Compress":
            return arrays[0].size
        case "Einsum":
            return einsum_sizes(node, arrays)[1]
        case "Range":
            start, limit, delta = (a.item() for a in arrays)
            count: int = ceil((limit - start) / delta)
            return max(0, count)
    return None


def nanoseconds(node: Node, arrays: Sequence[Array], made: Sequence[Kind]) -> int:
    """About how long ONNX's reference takes to compute what a node makes (`made`) of arrays."""
    results = sum(kind.elements for kind in made)
    numbers = results * max(1, len(arrays)) + sum(a.size for a in arrays)
    match node.operator:
        case name if name in IN_TURN:
            return numbers * IN_TURN[name]
        case "Einsum":
            products = einsum_sizes(node, arrays)[0]
            return numbers * AT_ONCE_NS + products * len(arrays) * PRODUCT_NS
        case name if name in PRODUCTS:
            return numbers * AT_ONCE_NS + results * max(arrays[0].shape, default=1) * PRODUCT_NS
        case name if name in CONVOLUTIONS:
            weights: tuple[int, ...] = arrays[1].shape
            return numbers * weights[1] * _window(node, weights[2:]) * TERM_NS
    return numbers * AT_ONCE_NS


def _window(node: Node, sides: Sequence[int]) -> int:
    """The places in a node's window of these sides, spread out as its dilations say, and in the
    padding of the image."""
    count = len(sides)
    pads: Any = node.attributes.get("pads") or (0,) * 2 * count
    apart: Any = node.attributes.get("dilations") or (1,) * count
    return prod(
        abs(pads[n]) + abs(pads[n + count]) + (side - 1) * apart[n] + 1
        for n, side in enumerate(sides)
    )
