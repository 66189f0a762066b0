"""Tests of the operators of networks against the cases of `onnx.backend.test`, by the interpreter:
each passes, or is refused with its node's name; none is wrong. `benchmarks/onnx_cases.py` tries all
of them on a device."""

import re

import numpy as np
import pytest
from onnx import helper

from explore.network_graph.interpret_network import interpreted
from explore.network_graph.network_layers import layers_of
from explore.onnx_model.read_model import read_model
from ir.errors import Unsupported, UserError
from tests.support.onnx_cases import Case, folder_cases, node_cases, with_constants
from tests.support.onnx_models import model

REFUSED = {
    "test_maxpool_with_argmax_2d_precomputed_pads": "its second result",
    "test_maxpool_with_argmax_2d_precomputed_strides": "its second result",
    **dict.fromkeys(
        [f"test_clip_default_int8_{part}" for part in ("inbounds", "max", "min")],
        "numbers of the type int8",
    ),
    **{
        f"test_{way}linear_{kind}": "numbers of the type (u?int[24]|float[48])"
        for way in ("dequantize", "quantize")
        for kind in ("e4m3fn", "e5m2", "uint4", "int4", "uint2", "int2", "float4e2m1")
    },
    "test_dequantizelinear_e4m3fn_float16": "numbers of the type float8",
    "test_dequantizelinear_e4m3fn_zero_point": "numbers of the type float8",
    **dict.fromkeys(
        [
            "test_dequantizelinear_blocked",
            *(f"test_quantizelinear_blocked_{way}" for way in ("asymmetric", "symmetric")),
        ],
        "a scale for each block",
    ),
    **{
        f"test_qlinearmatmul_{dims}D_{kind}_float16": "scales of the type float16"
        for dims in (2, 3)
        for kind in ("uint8", "int8")
    },
}
"""The cases that are refused, with words of the reason."""


def agrees(case: Case) -> None:
    """Assert that the network of a case of `onnx.backend.test` gives the case's results."""
    layers = layers_of(read_model(case.model))
    for given, right in case.data_sets:
        inputs = dict(zip(layers.inputs, map(np.asarray, given), strict=False))
        found = interpreted(layers, inputs)
        for name, want in zip(layers.outputs, right, strict=True):
            t = layers.tensors[name]
            assert t.shape == want.shape, case.name
            out = found[layers.root(name)].reshape(t.shape)
            np.testing.assert_allclose(
                out, want, case.rtol, max(case.atol, 1e-5), err_msg=case.name
            )


@pytest.mark.parametrize(
    "operator",
    [
        "Conv", "ConvTranspose", "Gemm", "MaxPool", "AveragePool", "GlobalAveragePool", "Clip",
        "LeakyRelu", "HardSigmoid", "Elu", "Selu", "Concat", "Transpose", "LRN", "QLinearConv",
        "ConvInteger", "QLinearMatMul", "MatMulInteger", "QuantizeLinear", "DequantizeLinear",
    ],
)  # fmt: skip
def test_cases_of_onnx_pass_or_are_refused(operator: str) -> None:
    found = [*node_cases(operator)]
    assert found
    for case in found:
        if case.name in REFUSED:
            with pytest.raises(Unsupported, match=f"({operator} |input ).*{REFUSED[case.name]}"):
                agrees(case)
        else:
            agrees(case)


def refusal(case: Case) -> str:
    """The reason for which a case is refused; an empty text if it passes."""
    try:
        agrees(case)
    except (Unsupported, UserError) as error:
        return str(error)
    return ""


NOT_OF_WEIGHTS = {
    "Resize": "whole numbers as scales|the mode nearest|repeat each element|policy stretch",
    "Slice": "steps from 1 on",
    "Split": "sizes from 1 on",
    "Pad": "nothing",
    "Reshape": "sizes from 1 on",
    "ReduceSum": "axes to reduce along|sizes from 1 on",
    "Upsample": "nothing",
    "Unsqueeze": "nothing",
}
"""Operators whose axes, sizes or limits are inputs, with the reasons for which cases are refused in
which these are weights."""


@pytest.mark.parametrize("operator", NOT_OF_WEIGHTS)
def test_cases_whose_axes_and_sizes_are_weights_pass_or_are_refused(operator: str) -> None:
    found = [refusal(c) for c in map(with_constants, node_cases(operator)) if c is not None]
    assert "" in found
    assert [r for r in found if r and not re.search(NOT_OF_WEIGHTS[operator], r)] == []


@pytest.mark.parametrize("pads", [[0, 3, 0, 0], [0, 0, 0, 3], [0, -1, 0, 1]])
def test_a_pad_that_reflects_more_than_there_is_is_refused(pads: list[int]) -> None:
    node = helper.make_node("Pad", ["x"], ["y"], "pad", mode="reflect", pads=pads)
    with pytest.raises(Unsupported, match="Pad 'pad': expected less than 3 to be reflected"):
        layers_of(read_model(model([node], {"x": [2, 3]}, ["y"], {}, 10)))


NOT_OF_FOLDERS = (
    "an operator that is covered|has no numbers of the type|leaves sizes open|broadcast to one|"
    "of the type int64"
)
"""Reasons for which larger models of `onnx.backend.test` are refused."""


@pytest.mark.parametrize(
    ("folder", "passed"), [("simple", 1), ("pytorch-converted", 77), ("pytorch-operator", 25)]
)
def test_cases_of_larger_models_pass_or_are_refused(folder: str, passed: int) -> None:
    found = [refusal(case) for case in folder_cases(folder)]
    assert found.count("") >= passed
    assert [r for r in found if r and not re.search(NOT_OF_FOLDERS, r)] == []
