"""The table of operators: for each ONNX operator, the function that makes the step of a node."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from explore.operators import (
    along_axes,
    convolution_layers,
    matrix_layers,
    number_by_number,
    pooling_layers,
    quantised_layers,
    rearrangements,
)
from explore.operators.activations import ACTIVATIONS
from explore.operators.site import Site, Step
from ir.errors import Unsupported

Operator: TypeAlias = Callable[[Site], Step]

OPERATORS: Mapping[str, Operator] = {
    "Conv": convolution_layers.conv,
    "ConvTranspose": convolution_layers.conv_transpose,
    "Gemm": matrix_layers.gemm,
    "MatMul": matrix_layers.mat_mul,
    "QLinearConv": quantised_layers.qlinear_conv,
    "ConvInteger": quantised_layers.conv_integer,
    "QLinearMatMul": quantised_layers.qlinear_mat_mul,
    "MatMulInteger": quantised_layers.mat_mul_integer,
    "QuantizeLinear": quantised_layers.quantise,
    "DequantizeLinear": quantised_layers.dequantise,
    "MaxPool": pooling_layers.max_pool,
    "AveragePool": pooling_layers.average_pool,
    "GlobalAveragePool": pooling_layers.global_pool,
    "GlobalMaxPool": pooling_layers.global_pool,
    "BatchNormalization": number_by_number.batch_normalisation,
    **dict.fromkeys(ACTIVATIONS, number_by_number.activation),
    **dict.fromkeys(number_by_number.BINARY, number_by_number.several),
    "Function": number_by_number.function,
    "Clip": number_by_number.clip,
    "PRelu": number_by_number.prelu,
    "LRN": along_axes.local_response,
    "Softmax": along_axes.softmax,
    "LogSoftmax": along_axes.softmax,
    **dict.fromkeys(along_axes.REDUCTIONS, along_axes.reduction),
    "Concat": rearrangements.concatenated,
    "Transpose": rearrangements.transposed,
    "Pad": rearrangements.padded,
    "Slice": rearrangements.sliced,
    "Resize": rearrangements.resized,
    "Upsample": rearrangements.resized,
    "Identity": rearrangements.unchanged,
    "Dropout": rearrangements.unchanged,
    "Reshape": rearrangements.reshape,
    "Flatten": rearrangements.flatten,
    "Squeeze": rearrangements.squeeze,
    "Unsqueeze": rearrangements.unsqueeze,
}
"""The operators with one result that counts."""


def step_of(site: Site, which: int) -> Step:
    """The step of the result number `which` of a node."""
    operator = site.node.operator
    if operator == "Split":
        return rearrangements.split_parts(site, which)
    if operator not in OPERATORS:
        raise Unsupported(
            f"{site.node.title}: expected an operator that is covered (docs/networks.md lists "
            f"them), found {operator}"
        )
    if which:
        raise site.refused(
            "expected that only its first result is used, found that another is, too"
        )
    return OPERATORS[operator](site)
