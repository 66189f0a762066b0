"""Tests of small ONNX graphs whose nodes meet in unusual ways, against ONNX's reference: the
network means the same, or is refused by name."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from explore.network_graph.interpret_network import interpreted
from explore.network_graph.network_layers import layers_of
from explore.onnx_model.read_model import read_model
from ir.errors import Unsupported, UserError
from tests.support.onnx_models import Array, expected, model

RANDOM = np.random.default_rng(20261130)
OPSET = 19


def real(*shape: int) -> Array:
    return RANDOM.uniform(-1, 1, shape).astype(np.float32)


def sizes(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


def node(operator: str, inputs: str, output: str, **given: Any) -> Any:
    """A node that reads the tensors in `inputs`, with commas between: an empty name is none."""
    return helper.make_node(operator, inputs.split(","), [output], **given)


def model_of(
    nodes: Sequence[Any], given: dict[str, Any], constants: dict[str, Any], opset: int = OPSET
) -> Any:
    """The model of these nodes, whose result is that of the last one."""
    shapes = {name: x.shape for name, x in given.items()}
    return model(nodes, shapes, nodes[-1].output, constants, opset)


CONV = node("Conv", "x,w", "c", pads=[1, 1, 1, 1])
W = real(3, 2, 3, 3)
MEANS: dict[str, tuple[list[Any], dict[str, Any], dict[str, Any]]] = {
    **{
        f"softmax along an axis of one, {shape} {axis}": (
            [node("Softmax", "x", "y", axis=axis)],
            {"x": real(*shape)},
            {},
        )
        for shape, axis in (((1, 5), 0), ((2, 1, 3, 3), 1), ((1, 1), 1), ((4, 1), -1), ((1,), 0))
    },
    "a convolution plus a row": (
        [CONV, node("Add", "c,t", "y")],
        {"x": real(1, 2, 5, 5), "t": real(5)},
        {"w": W},
    ),
    "a convolution plus channels": (
        [CONV, node("Add", "c,t", "s"), node("Relu", "s", "y")],
        {"x": real(1, 2, 5, 5), "t": real(1, 3, 1, 1)},
        {"w": W},
    ),
    "a convolution repeated along a batch": (
        [CONV, node("Add", "t,c", "y")],
        {"x": real(1, 2, 5, 5), "t": real(2, 3, 5, 5)},
        {"w": W},
    ),
    "a convolution plus an image of fewer axes": (
        [CONV, node("Add", "c,t", "y")],
        {"x": real(1, 2, 5, 5), "t": real(3, 5, 5)},
        {"w": W},
    ),
    "a convolution that has fewer axes than what is added": (
        [node("Conv", "x,w", "c", pads=[1, 1]), node("Add", "c,t", "y")],
        {"x": real(1, 2, 5), "t": real(1, 1, 3, 5)},
        {"w": real(3, 2, 3)},
    ),
    "a sum that is negated": (
        [node("Add", "x,t", "s"), node("Neg", "s", "y")],
        {"x": real(4), "t": real(4)},
        {},
    ),
    "a convolution that is negated": (
        [CONV, node("Neg", "c", "y")],
        {"x": real(1, 2, 5, 5)},
        {"w": W},
    ),
    "weights that are stored as bytes": (
        [node("DequantizeLinear", "k,scales,zeros", "w", axis=0), CONV],
        {"x": real(1, 2, 5, 5)},
        {
            "k": RANDOM.integers(-128, 128, (3, 2, 3, 3), np.int8),
            "scales": np.abs(real(3)),
            "zeros": np.array([0, 3, -5], np.int8),
        },
    ),
    "what is negated twice": ([node("Neg", "x", "n"), node("Neg", "n", "y")], {"x": real(4)}, {}),
    "a constant sliced along its first axes": (
        [node("Slice", "k,starts,ends,,steps", "d"), node("Add", "x,d", "y")],
        {"x": real(1)},
        {"k": real(2, 6, 6), "starts": sizes(0, 0), "ends": sizes(2, 6), "steps": sizes(1, 2)},
    ),
    "a function of a shape": (
        [
            node("Shape", "x", "n"),
            node("Cast", "n", "f", to=TensorProto.FLOAT),
            node("Gather", "f,zero", "h"),
            node("Gather", "f,one", "g"),
            node("Mul", "h,g", "p"),
            node("Sqrt", "p", "q"),
            node("Div", "x,q", "y"),
        ],
        {"x": real(4, 5)},
        {"zero": sizes(0), "one": sizes(1)},
    ),
}


@pytest.mark.parametrize("case", MEANS)
def test_a_graph_means_what_onnx_says(case: str) -> None:
    nodes, given, constants = MEANS[case]
    made = model_of(nodes, given, constants)
    (right,) = expected(made, given)
    layers = layers_of(read_model(made))
    (name,) = layers.outputs
    t, found = layers.tensors[name], interpreted(layers, given)
    assert t.shape == right.shape
    np.testing.assert_allclose(found[layers.root(name)].reshape(t.shape), right, 1e-5, 1e-5)


STATISTICS = {"s": real(3) + 2, "b": real(3), "m": real(3), "v": real(3) + 2}
EACH = {name: np.broadcast_to(x[:, None, None], (3, 5, 5)) for name, x in STATISTICS.items()}
REFUSED: dict[str, tuple[list[Any], dict[str, Any], dict[str, Any], int, str]] = {
    "a normalisation that is being trained": (
        [CONV, node("BatchNormalization", "c,s,b,m,v", "y", training_mode=1)],
        {"x": real(1, 2, 5, 5)},
        {"w": W, **STATISTICS},
        OPSET,
        "training_mode",
    ),
    "a normalisation of each number": (
        [CONV, node("BatchNormalization", "c,s,b,m,v", "y", spatial=0)],
        {"x": real(1, 2, 5, 5)},
        {"w": W, **EACH},
        7,
        "spatial = 0",
    ),
    "sides that are not those of the weights": (
        [node("Conv", "x,w", "y", kernel_shape=[5, 5])],
        {"x": real(1, 2, 5, 5)},
        {"w": W},
        OPSET,
        "kernel_shape",
    ),
    "a second result alone": (
        [helper.make_node("TopK", ["x", "k"], ["", "n"]), node("Cast", "n", "y", to=1)],
        {"x": real(2, 5)},
        {"k": sizes(2)},
        OPSET,
        "TopK .*first result",
    ),
    "a policy of sizes": (
        [node("Resize", "x,,,sizes", "y", keep_aspect_ratio_policy="not_larger")],
        {"x": real(1, 1, 2, 2)},
        {"sizes": sizes(1, 1, 4, 6)},
        OPSET,
        "not_larger",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_graph_is_refused_by_name(case: str) -> None:
    nodes, given, constants, opset, words = REFUSED[case]
    with pytest.raises(Unsupported, match=words):
        layers_of(read_model(model_of(nodes, given, constants, opset)))


def test_a_malformed_node_is_named() -> None:
    nodes = [node("Clip", "x,low,high", "y")]
    many = {"low": real(2), "high": real(2)}
    with pytest.raises(UserError, match=r"Clip.*malformed"):
        layers_of(read_model(model_of(nodes, {"x": real(4)}, many)))
