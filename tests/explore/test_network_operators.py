"""Tests of the operators of networks against the cases of `onnx.backend.test`, by the interpreter:
each passes, or is refused with its node's name; none is wrong. `benchmarks/onnx_cases.py` tries all
of them on a device."""

import warnings
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from explore.network_graph.interpret_network import interpreted
from explore.network_graph.network_layers import layers_of
from explore.onnx_model.read_model import read_model
from ir.errors import Unsupported

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


def cases(operator: str) -> list[Any]:
    """The cases of `onnx.backend.test` whose only node is the operator `operator`. To have them,
    the module that computes them is imported."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import_module(f"onnx.backend.test.case.node.{operator.lower()}")
        from onnx.backend.test.case.node import _NodeTestCases as ONNX_CASES
    return [c for c in ONNX_CASES if {node.op_type for node in c.model.graph.node} == {operator}]


def agrees(case: Any) -> None:
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
    found = cases(operator)
    assert found
    for case in found:
        if case.name in REFUSED:
            with pytest.raises(Unsupported, match=f"({operator} |input ).*{REFUSED[case.name]}"):
                agrees(case)
        else:
            agrees(case)
