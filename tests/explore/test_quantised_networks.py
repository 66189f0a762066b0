"""Tests of quantised operators in networks: constant scales are rounded as exact numbers would be,
and layers pass bytes to each other."""

from random import Random
from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import explore
from codegen.runtime.session import Device
from explore.network_graph.interpret_network import interpreted
from explore.network_graph.network_layers import layers_of
from explore.onnx_model.read_model import read_model
from ir.errors import Unsupported
from tests.support.quantised import Quantised, drawn
from tests.support.quick_builds import quick_builds as quick_builds


def qlinear(case: Quantised) -> Any:
    """The ONNX model of one QLinearConv whose inputs are constants, except the image."""
    s, (xs, ws, ys), (xz, yz) = case.sizes, case.scales, case.zeros
    kind = case.x.dtype
    constants = {
        "xs": np.float32(xs), "xz": np.asarray(xz, kind), "w": case.w,
        "ws": ws.astype(np.float32), "wz": case.w_zero, "ys": np.float32(ys),
        "yz": np.asarray(yz, case.y), "b": case.bias,
    }  # fmt: skip
    node = helper.make_node(
        "QLinearConv",
        ["x", *constants],
        ["y"],
        pads=[s["T"], s["L"], s["B"], s["R"]],
        strides=[s["SH"], s["SW"]],
        dilations=[s["DH"], s["DW"]],
        group=s["G"],
    )
    return quantised_model([node], constants, case.x[None], "y", case.y)


def quantised_model(
    nodes: list[Any], constants: dict[str, Any], x: Any, out: str, dtype: "np.dtype[Any]"
) -> Any:
    """The ONNX model of these nodes and constants, with an input `x` of the shape and type of the
    array `x`, and a result `out` of the type `dtype`."""
    kinds = [helper.np_dtype_to_tensor_dtype(np.dtype(d)) for d in (x.dtype, dtype)]
    graph = helper.make_graph(
        nodes,
        "quantised",
        [helper.make_tensor_value_info("x", kinds[0], x.shape)],
        [helper.make_tensor_value_info(out, kinds[1], None)],
        [numpy_helper.from_array(np.asarray(a), name) for name, a in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)


def test_a_convolution_with_known_scales_is_exact() -> None:
    for _ in range(12):
        case = drawn(Random())
        layers = layers_of(read_model(qlinear(case)))
        found = interpreted(layers, {"x": case.x[None]})["y"]
        made = layers.tensors["y"].in_onnx_order(found)[0].transpose(1, 2, 0)
        np.testing.assert_array_equal(made, case.by_onnx())


def test_bytes_go_through_a_network(device: Device) -> None:
    random = np.random.default_rng()
    make = helper.make_node
    scales = {
        "s1": np.float32(0.02), "z1": np.uint8(131), "s2": np.float32(0.5), "z2": np.uint8(7),
        "s3": random.uniform(0.1, 0.4, 6).astype(np.float32), "z3": np.zeros(6, np.int8),
        "w": random.integers(-128, 128, (6, 3, 3, 3)).astype(np.int8),
    }  # fmt: skip
    nodes = [
        make("QuantizeLinear", ["x", "s1", "z1"], ["q"]),
        make("QLinearConv", ["q", "s1", "z1", "w", "s3", "z3", "s2", "z2"], ["c"], pads=[1] * 4),
        make("MaxPool", ["c"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        make("DequantizeLinear", ["p", "s2", "z2"], ["y"]),
    ]
    x = random.uniform(-2, 2, (1, 3, 7, 6)).astype(np.float32)
    made = quantised_model(nodes, scales, x, "y", np.dtype(np.float32))
    right = ReferenceEvaluator(made).run(None, {"x": x})[0]
    net = explore.network(made, device=device, checking=True)
    np.testing.assert_allclose(net(x), right, atol=0.51)  # a byte more or less is 0.5
    assert np.mean(net(x) != right) < 0.02


@pytest.mark.parametrize("scale", [1e-2, 1e-5, 1e-8])
def test_results_saturate_whatever_their_scale(device: Device, scale: float) -> None:
    """Also where a sum, scaled, is more than an int holds."""
    random = np.random.default_rng()
    x = random.integers(0, 256, (3, 80), np.uint8)
    w = random.integers(-128, 128, (80, 2)).astype(np.int8)
    given = {
        "xs": np.float32(1), "xz": np.uint8(128), "w": w, "ws": np.float32(1), "wz": np.int8(0),
        "ys": np.float32(scale), "yz": np.uint8(3),
    }  # fmt: skip
    node = helper.make_node("QLinearMatMul", ["x", *given], ["y"])
    made = quantised_model([node], given, x, "y", np.dtype(np.uint8))
    right = ReferenceEvaluator(made).run(None, {"x": x})[0]
    np.testing.assert_array_equal(explore.network(made, device=device)(x), right)


def sums_of_bytes(n: int, zeros: dict[str, Any]) -> Any:
    """The model of a ConvInteger that adds n products of unsigned by signed bytes."""
    w, x = np.zeros((1, n, 1, 1), np.int8), np.zeros((1, n, 1, 1), np.uint8)
    node = helper.make_node("ConvInteger", ["x", "w", *zeros], ["y"], name="large")
    return quantised_model([node], {"w": w, **zeros}, x, "y", np.dtype(np.int32))


@pytest.mark.parametrize(
    ("zeros", "fit"),
    [
        ({}, 255 * 128),
        ({"xz": np.uint8(128), "wz": np.int8(0)}, 128 * 128),
        ({"xz": np.uint8(0), "wz": np.array([-128], np.int8)}, 255 * 255),
    ],
)
def test_sums_that_an_int_may_not_hold_are_refused(zeros: dict[str, Any], fit: int) -> None:
    most = (2**31 - 1) // fit
    layers_of(read_model(sums_of_bytes(most, zeros)))
    with pytest.raises(Unsupported, match=rf"'large': .* sums of {most + 1} products"):
        layers_of(read_model(sums_of_bytes(most + 1, zeros)))
