"""Tests of the layouts of tensors between layers: any of them mean the same."""

from collections.abc import Callable

import numpy as np
import pytest
from onnx import helper

from codegen.runtime.session import Device
from explore.network_graph.arranged_layers import arranged
from explore.network_graph.interpret_network import interpreted
from explore.network_graph.layer_layouts import layers_in_layouts
from explore.network_graph.network_layers import layers_of
from explore.networks.open_network import network
from explore.onnx_model.read_model import read_model
from explore.operators.layouts import Layout
from tests.support.drawn_layouts import drawn_layouts
from tests.support.onnx_models import Array, classifier, expected, model, whole
from tests.support.quick_builds import quick_builds as quick_builds


def of_wide_images(random: np.random.Generator) -> object:
    """A model of every kind of layer that reads or makes 32 or 48 channels: convolutions (with
    groups, transposed, with another tensor added), pools, sums that are broadcast, an activation,
    concatenations, a part, padding, repeated pixels, a softmax, and a pool over whole images."""
    make = helper.make_node
    nodes = [
        make("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]),
        make("MaxPool", ["a"], ["b"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        make("Conv", ["b", "u"], ["c0"], pads=[1, 1, 1, 1], group=32),
        make("Add", ["c0", "a"], ["c"]),
        make("Conv", ["c", "v"], ["d0"], group=2),
        make("Add", ["d0", "b"], ["d1"]),
        make("Relu", ["d1"], ["d"]),
        make("Add", ["d", "each"], ["e0"]),
        make("Mul", ["e0", "plane"], ["e"]),
        make("Slice", ["e", "from", "to", "axes"], ["f"]),
        make("Concat", ["f", "e", "more"], ["g"], axis=1),
        make("Pad", ["g", "amounts"], ["h"]),
        make("ConvTranspose", ["h", "t"], ["i"], strides=[2, 2]),
        make("AveragePool", ["i"], ["j"], kernel_shape=[2, 2], strides=[2, 2]),
        make("Resize", ["j", "", "scales"], ["k"], mode="nearest"),
        make("ReduceMax", ["k"], ["l"], axes=[2], keepdims=1),
        make("Sub", ["k", "l"], ["m"]),
        make("GlobalAveragePool", ["m"], ["n"]),
        make("Flatten", ["n"], ["y"]),
    ]
    weights = {
        "w": whole(random, 32, 3, 3, 3),
        "u": whole(random, 32, 1, 3, 3),
        "v": whole(random, 32, 16, 1, 1),
        "each": whole(random, 1, 32, 1, 1),
        "plane": whole(random, 1, 1, 5, 6),
        "from": np.array([8], np.int64),
        "to": np.array([24], np.int64),
        "axes": np.array([1], np.int64),
        "more": whole(random, 1, 16, 5, 6),
        "amounts": np.array([0, 0, 1, 0, 0, 0, 0, 1], np.int64),
        "t": whole(random, 64, 48, 2, 2),
        "scales": np.array([1, 1, 2, 1], np.float32),
    }
    return model(nodes, {"x": [1, 3, 5, 6]}, ["y"], weights)


def of_lists_and_volumes(random: np.random.Generator) -> object:
    """A model of convolutions and pools in one dimension, of two images, whose results become
    volumes."""
    make = helper.make_node
    nodes = [
        make("Conv", ["x", "w"], ["a"], pads=[1, 1]),
        make("MaxPool", ["a"], ["b"], kernel_shape=[2]),
        make("Softmax", ["b"], ["c0"], axis=1),
        make("Mul", ["c0", "zero"], ["c1"]),
        make("Add", ["c1", "b"], ["c"]),
        make("Reshape", ["c", "sizes"], ["d"]),
        make("Conv", ["d", "v"], ["e"], pads=[0, 1, 0, 0, 1, 0]),
        make("Clip", ["e", "low", "high"], ["f0"]),
        make("Mul", ["f0", "zero"], ["f1"]),
        make("Add", ["f1", "e"], ["y"]),
    ]
    weights = {
        "w": whole(random, 48, 3, 3),
        "zero": np.zeros(1, np.float32),
        "low": np.array(-3.0, np.float32),
        "high": np.array(5.0, np.float32),
        "sizes": np.array([2, 48, 2, 2, 3], np.int64),
        "v": whole(random, 32, 48, 1, 3, 1),
    }
    return model(nodes, {"x": [2, 3, 13]}, ["y"], weights)


@pytest.mark.parametrize(
    ("made_of", "shape", "layouts"),
    [
        (classifier, (1, 3, 9, 7), {Layout.ONNX, Layout.LAST}),
        (of_wide_images, (1, 3, 5, 6), {*Layout}),
        (of_lists_and_volumes, (2, 3, 13), {*Layout}),
    ],
)
def test_layers_mean_the_same_in_any_layouts(
    made_of: Callable[[np.random.Generator], object], shape: tuple[int, ...], layouts: set[Layout]
) -> None:
    random = np.random.default_rng()
    made, x = made_of(random), whole(random, *shape)
    layers = layers_in_layouts(read_model(made))
    (right,) = expected(made, {"x": x})
    met = set[Layout]()
    for _ in range(8):
        several = drawn_layouts(layers)
        np.testing.assert_allclose(interpreted(several, {"x": x})["y"], right, rtol=1e-6)
        met |= {t.layout for t in several.tensors.values()}
    assert met == layouts


def test_the_usual_layouts_are_those_of_a_network_without_others() -> None:
    graph = read_model(classifier(np.random.default_rng()))
    both, usual = layers_in_layouts(graph), layers_of(graph)
    assert both.texts[: len(usual.texts)] == usual.texts
    assert [x.program for x in both.layers] == [x.program for x in usual.layers]
    again = arranged(both, both.layers, ())
    assert {n: t.layout for n, t in again.tensors.items()} == {
        n: t.layout for n, t in usual.tensors.items()
    }


@pytest.mark.parametrize(("axes", "keep"), [([1, 2, 3], 0), ([1], 0), ([2, 3], 0), ([2], 1)])
def test_reductions_of_images_mean_the_same_whatever_axes_are_left(
    axes: list[int], keep: int
) -> None:
    random, make = np.random.default_rng(), helper.make_node
    nodes = [
        make("Conv", ["x", "w"], ["c"]),
        make("ReduceMax", ["c"], ["d"], axes=axes, keepdims=keep),
        make("Neg", ["d"], ["y"]),
    ]
    made = model(nodes, {"x": [2, 3, 5, 6]}, ["y"], {"w": whole(random, 32, 3, 2, 2)})
    x = whole(random, 2, 3, 5, 6)
    (right,) = expected(made, {"x": x})
    found = interpreted(layers_in_layouts(read_model(made)), {"x": x})["y"]
    np.testing.assert_array_equal(found, right)


def after_a_convolution(rank: int, operator: str) -> tuple[object, dict[str, Array]]:
    """A model in which an operator that needs ONNX's order reads a convolution's result, of `rank`
    dimensions, and its inputs."""
    random, make = np.random.default_rng(), helper.make_node
    sizes = (5, 7, 3)[:rank]
    given = {"x": whole(random, 2, 2, *sizes)}
    weights = {"w": whole(random, 32, 2, *(1,) * rank)}
    match operator:
        case "MatMul on the left":
            nodes = [make("MatMul", ["c", "m"], ["y"])]
            weights["m"] = whole(random, sizes[-1], 4)
        case "MatMul on the right":
            nodes = [make("MatMul", ["m", "c"], ["y"])]
            weights["m"] = whole(random, 3, (32, *sizes)[-2])
        case "MatMul of both":
            turned = [*range(rank), rank + 1, rank]
            nodes = [make("Relu", ["c"], ["r"]), make("Transpose", ["r"], ["t"], perm=turned)]
            nodes.append(make("MatMul", ["r", "t"], ["y"]))
        case "MatMul of a vector":
            nodes = [make("MatMul", ["c", "m"], ["d"]), make("Neg", ["d"], ["y"])]
            weights["m"] = whole(random, sizes[-1])
        case "a sum with more axes":
            nodes = [make("Add", ["t", "c"], ["y"])]
            given["t"] = whole(random, 3, 2, 32, *sizes)
        case _:
            nodes = [make("Mul", ["c", "t"], ["y"])]
            weights["t"] = whole(random, 2, 1, 32, *sizes)
    shapes = {name: x.shape for name, x in given.items()}
    return model([make("Conv", ["x", "w"], ["c"]), *nodes], shapes, ["y"], weights), given


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize(
    "operator",
    [*(f"MatMul {where}" for where in ("on the left", "on the right", "of both", "of a vector")),
     "a sum with more axes", "a product with more axes"],
)  # fmt: skip
def test_operators_that_need_onnx_order_read_it_in_any_layout(rank: int, operator: str) -> None:
    made, given = after_a_convolution(rank, operator)
    (right,) = expected(made, given)
    usual, every = (layers_in_layouts(read_model(made), way) for way in (False, True))
    assert usual.tensors[usual.layers[0].output].layout is Layout.LAST
    for found in (usual, *(drawn_layouts(every) for _ in range(6))):
        y = interpreted(found, given)["y"]
        np.testing.assert_array_equal(found.tensors["y"].in_onnx_order(y), right)


@pytest.mark.parametrize("operator", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize("axis", [0, 1, 2, 3])
def test_a_softmax_of_several_axes_reads_any_layout(operator: str, axis: int) -> None:
    random, make = np.random.default_rng(), helper.make_node
    w, x = whole(random, 32, 2, 1, 1), whole(random, 2, 2, 5, 3)
    nodes = [make("Conv", ["x", "w"], ["c"]), make(operator, ["c"], ["s"], axis=axis)]
    nodes += [make("MaxPool", ["s"], ["y"], kernel_shape=[1, 1])]
    layers = layers_in_layouts(read_model(model(nodes, {"x": x.shape}, ["y"], {"w": w}, 11)))
    c = np.einsum("mc,bchw->bmhw", w[:, :, 0, 0], x).astype(np.float64)
    e = np.exp(c - c.max())
    right = e / e.sum(tuple(range(axis, 4)), keepdims=True)  # ONNX's reference has one axis here
    for _ in range(4):
        y = interpreted(drawn_layouts(layers), {"x": x})["y"]
        found = np.exp(y) if operator == "LogSoftmax" else y
        np.testing.assert_allclose(found, right, 1e-6, 1e-9)


def test_a_product_of_images_runs_on_a_device(device: Device) -> None:
    for layouts in (False, True):
        made, given = after_a_convolution(2, "MatMul of both")
        net = network(made, device=device, layouts=layouts, checking=True)
        np.testing.assert_array_equal(net(given["x"]), expected(made, given)[0])


def test_results_that_are_inputs_or_constants_stay_as_they_are_in_any_layouts() -> None:
    random, make = np.random.default_rng(), helper.make_node
    nodes = [make("Conv", ["x", "w"], ["y"]), make("Relu", ["y"], ["z"])]
    weights = {"w": whole(random, 32, 32, 2, 2), "k": whole(random, 1, 32, 3, 5)}
    names = ["x", "y", "k"]
    made, x = model(nodes, {"x": [1, 32, 4, 5]}, names, weights), whole(random, 1, 32, 4, 5)
    layers = layers_in_layouts(read_model(made))
    for _ in range(4):
        found = interpreted(drawn_layouts(layers), {"x": x})
        for name, right in zip(layers.outputs, expected(made, {"x": x}), strict=True):
            np.testing.assert_array_equal(found[name].reshape(right.shape), right)
