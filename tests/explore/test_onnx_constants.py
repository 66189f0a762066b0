"""Tests of nodes whose inputs are constants: they are computed when a model is read, as ONNX says,
or refused by name if that would take too much."""

import time
import warnings
from collections.abc import Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from explore.network_graph.interpret_network import interpreted
from explore.network_graph.layer_layouts import layers_in_layouts
from explore.network_graph.network_layers import layers_of
from explore.onnx_model.fold_constants import Constants
from explore.onnx_model.folding_costs import FOLDED
from explore.onnx_model.read_model import read_model
from ir.errors import Unsupported, UserError
from tests.support.onnx_models import Array, expected, model, whole
from tests.support.quick_builds import quick_builds as quick_builds

RANDOM = np.random.default_rng()
make = helper.make_node


def computed(made: Any) -> dict[str, Array]:
    """The constants of the model `made`, its weights and what its nodes make of them."""
    graph = read_model(made)
    constants = Constants.of(graph)
    for node in graph.nodes:
        assert constants.take(node), node.title
    return constants.arrays


def cases() -> list[Any]:
    """The cases of `onnx.backend.test` with a single node whose operator is computed on constants.
    To have them, the modules that compute them are imported."""
    from onnx.backend.test.case import node as all_cases

    of = {operator.lower() for operator in FOLDED}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in iter_modules(all_cases.__path__):
            if module.name.replace("_", "").removesuffix("op") in of:
                import_module(f"{all_cases.__name__}.{module.name}")
    found = all_cases._NodeTestCases
    return [c for c in found if len(c.model.graph.node) == 1 and _is_computed(c.model)]


def _is_computed(made: Any) -> bool:
    (node,) = made.graph.node
    defined = any(entry.domain == "" and entry.version >= 7 for entry in made.opset_import)
    return defined and not node.domain and node.op_type in FOLDED


def _has_numbers(given: Any) -> bool:
    return not isinstance(given, list) and np.asarray(given).dtype != object


def with_constants(case: Any, arrays: Sequence[Array]) -> Any:
    """The model of a case with these arrays in place of its inputs."""
    made = type(case.model).FromString(case.model.SerializeToString())
    names = [i.name for i in made.graph.input]
    del made.graph.input[:]
    pairs = zip(names, arrays, strict=False)
    made.graph.initializer.extend(numpy_helper.from_array(np.asarray(a), n) for n, a in pairs)
    return made


def test_constants_are_what_onnx_says_in_its_own_cases() -> None:
    met = set[str]()
    for case in cases():
        (node,) = case.model.graph.node
        for given, right in case.data_sets:
            if "training_dropout" in case.name or not all(map(_has_numbers, (*given, *right))):
                continue
            found = computed(with_constants(case, given))
            for name, want in zip(filter(None, node.output), right, strict=True):
                kind = found[name].dtype, found[name].shape
                assert kind == (want.dtype, want.shape), case.name
                near = [a.astype(np.float64) for a in (found[name], want)]
                np.testing.assert_allclose(near[0], near[1], case.rtol, 1e-5, err_msg=case.name)
            met.add(node.op_type)
    assert len(met) > 100
    assert met >= {"Relu", "Exp", "Pow", "Range", "Slice", "Where", "Tile", "Expand", "ScatterND"}


def real(x: float | list[float]) -> Array:
    return np.array(x, np.float32)


def of_shapes(**sizes: Sequence[int]) -> dict[str, Array]:
    return {name: np.array(numbers, np.int64) for name, numbers in sizes.items()}


FLOATS = {"a": RANDOM.uniform(-2, 2, (3, 5, 7)).astype(np.float32)}
GRAPHS: dict[str, tuple[list[Any], dict[str, Array], int]] = {
    "functions": (
        [
            make("Relu", ["a"], ["r"]),
            make("Exp", ["r"], ["e"]),
            make("Sigmoid", ["a"], ["s"]),
            make("Pow", ["e", "s"], ["c"]),
        ],
        FLOATS,
        15,
    ),
    "a slice by attributes": (
        [make("Slice", ["a"], ["c"], axes=[0, 2], starts=[1, -4], ends=[3, 1 << 40])],
        FLOATS,
        9,
    ),
    "a choice": (
        [
            make("Less", ["a", "t"], ["l"]),
            make("Not", ["l"], ["n"]),
            make("Where", ["n", "a", "t"], ["c"]),
        ],
        {**FLOATS, "t": real(0.25)},
        15,
    ),
    "repeats": (
        [make("Tile", ["a", "times"], ["t"]), make("Expand", ["t", "shape"], ["c"])],
        {**FLOATS, **of_shapes(times=[1, 2, 1], shape=[2, 1, 10, 1])},
        15,
    ),
    "a range": (
        [
            make("Range", ["from", "to", "by"], ["r"]),
            make("Cast", ["r"], ["f"], to=TensorProto.FLOAT),
            make("Mod", ["f", "by_f"], ["c"], fmod=1),
        ],
        {**of_shapes(**{"from": (), "to": (), "by": ()}), "by_f": real(5)}
        | {"from": np.array(-7), "to": np.array(20), "by": np.array(3)},
        15,
    ),
    "scattered numbers": (
        [make("ScatterND", ["a", "at", "new"], ["s"]), make("Abs", ["s"], ["c"])],
        {**FLOATS, "at": np.array([[2, 1], [0, 4]]), "new": whole(RANDOM, 2, 7)},
        15,
    ),
    "parts": (
        [
            make("Split", ["a"], ["p", "", "q"], axis=0),
            make("TopK", ["p", "two"], ["v", "i"], axis=1),
            make("Cast", ["i"], ["f"], to=TensorProto.FLOAT),
            make("Concat", ["v", "f", "q"], ["c"], axis=1),
        ],
        {**FLOATS, **of_shapes(two=[2])},
        13,
    ),
    "places that are not 0": (
        [make("NonZero", ["a"], ["n"]), make("Cast", ["n"], ["c"], to=TensorProto.FLOAT)],
        {"a": whole(RANDOM, 3, 5)},
        15,
    ),
    "an image": (
        [
            make("Conv", ["i", "w"], ["k"], pads=[1, 0, 1, 2], strides=[2, 1], dilations=[1, 2]),
            make("GlobalMaxPool", ["k"], ["c"]),
        ],
        {"i": whole(RANDOM, 2, 3, 7, 9), "w": whole(RANDOM, 5, 3, 3, 2)},
        15,
    ),
    "what would be dropped": (
        [
            make("Dropout", ["a", "half", "no"], ["d", "kept"]),
            make("Where", ["kept", "d", "a"], ["c"]),
        ],
        {**FLOATS, "half": real(0.5), "no": np.array(False)},
        15,
    ),
}


@pytest.mark.parametrize("case", GRAPHS)
def test_constants_are_computed_before_a_network_runs(case: str) -> None:
    nodes, weights, opset = GRAPHS[case]
    (right,) = expected(model(nodes, {}, ["c"], weights, opset), {})
    found = computed(model(nodes, {}, ["c"], weights, opset))["c"]
    assert found.dtype == right.dtype
    np.testing.assert_array_equal(found, right)
    x = whole(RANDOM, *right.shape)
    last = make("Add", ["c", "x"], ["y"])
    layers = layers_of(read_model(model([*nodes, last], {"x": x.shape}, ["y"], weights, opset)))
    assert [layer.operator for layer in layers.layers] == ["Add"]
    np.testing.assert_allclose(interpreted(layers, {"x": x})["y"], right + x, 1e-6, 1e-6)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, np.int8])
def test_whole_numbers_are_computed_exactly(dtype: type) -> None:
    info = np.iinfo(dtype)
    weights = {
        "a": RANDOM.integers(info.min, info.max, (5, 3), dtype, endpoint=True),
        "b": RANDOM.integers(1, info.max, (3,), dtype, endpoint=True),
    }
    names = [*"cdef"]
    nodes = [
        make(o, ["a", "b"], [n]) for o, n in zip(("Add", "Sub", "Mul", "Div"), names, strict=True)
    ]
    made = model(nodes, {}, names, weights)
    found = computed(made)
    for name, right in zip(names, expected(made, {}), strict=True):
        assert found[name].dtype == right.dtype == dtype
        np.testing.assert_array_equal(found[name], right)
    quotient = [
        int(a) // int(b) + (a < 0 and int(a) % int(b) != 0)
        for a, b in np.broadcast(weights["a"], weights["b"])
    ]
    assert found["f"].ravel().tolist() == quotient


def test_what_depends_on_shapes_alone_is_computed_and_nothing_is_folded_into_it() -> None:
    nodes = [
        make("Conv", ["x", "w"], ["k"]),
        make("Shape", ["k"], ["s"]),
        make("ConstantOfShape", ["s"], ["z"], value=numpy_helper.from_array(real([0.5]))),
        make("Conv", ["z", "v"], ["l"], group=2),
        make("Relu", ["l"], ["r"]),
        make("Mul", ["r", "half"], ["h"]),
        make("Size", ["x"], ["n"]),
        make("Cast", ["n"], ["f"], to=TensorProto.FLOAT),
        make("Sqrt", ["f"], ["q"]),
        make("Div", ["h", "q"], ["d"]),
        make("Add", ["k", "d"], ["y"]),
    ]
    weights = {
        "w": whole(RANDOM, 4, 3, 2, 3), "v": whole(RANDOM, 4, 2, 1, 1), "half": real(0.5),
    }  # fmt: skip
    made, x = model(nodes, {"x": [1, 3, 6, 7]}, ["y"], weights), whole(RANDOM, 1, 3, 6, 7)
    layers = layers_of(read_model(made))
    assert [layer.operator for layer in layers.layers] == ["Conv", "Add"]
    found = interpreted(layers, {"x": x})["y"]
    t = layers.tensors["y"]
    np.testing.assert_allclose(t.in_onnx_order(found), expected(made, {"x": x})[0], 1e-5, 1e-5)


IMAGES: dict[str, tuple[Any, dict[str, Array], int]] = {
    "MaxPool": (
        make("MaxPool", ["i"], ["c"], kernel_shape=[2, 3], pads=[0, 1, 1, 0]),
        {"i": whole(RANDOM, 2, 5, 7, 9)},
        15,
    ),
    "AveragePool": (
        make("AveragePool", ["i"], ["c"], kernel_shape=[2, 4], strides=[1, 2]),
        {"i": whole(RANDOM, 1, 32, 5, 7)},
        15,
    ),
    "ConvTranspose": (
        make("ConvTranspose", ["i", "w"], ["c"], strides=[2, 1]),
        {"i": whole(RANDOM, 1, 3, 4, 5), "w": whole(RANDOM, 3, 2, 3, 2)},
        15,
    ),
    "QLinearConv": (
        make("QLinearConv", ["q", "s", "z", "p", "s", "z", "t", "z"], ["r"], pads=[1, 0, 0, 1]),
        {
            "q": RANDOM.integers(0, 256, (1, 3, 5, 7), np.uint8),
            "p": RANDOM.integers(0, 256, (4, 3, 2, 3), np.uint8),
            "s": real(0.5),
            "t": real(300),
            "z": np.array(99, np.uint8),
        },
        21,
    ),
    "Softplus": (make("Softplus", ["i"], ["c"]), {"i": 30 * whole(RANDOM, 3, 5)}, 15),
    "LRN": (make("LRN", ["i"], ["c"], size=1, alpha=0.0), {"i": whole(RANDOM, 1, 3, 4, 5)}, 15),
    "Softmax": (make("Softmax", ["i"], ["c"], axis=2), {"i": whole(RANDOM, 2, 3, 5)}, 9),
}


@pytest.mark.parametrize("operator", IMAGES)
def test_what_the_reference_does_not_compute_right_is_a_layer_of_constants(operator: str) -> None:
    node, weights, opset = IMAGES[operator]
    nodes = [node]
    if node.output == ["r"]:
        nodes.append(make("DequantizeLinear", ["r", "t", "z"], ["c"]))
    (right,) = expected(model(nodes, {}, ["c"], weights, opset), {})
    x = whole(RANDOM, *right.shape)
    nodes += [make("Relu", ["c"], ["e"]), make("Add", ["e", "x"], ["y"])]
    made = model(nodes, {"x": x.shape}, ["y"], weights, opset)
    for layers in (layers_of(read_model(made)), layers_in_layouts(read_model(made))):
        assert {operator, "Function"} & {layer.operator for layer in layers.layers}
        found = interpreted(layers, {"x": x})["y"]
        np.testing.assert_allclose(found, np.maximum(right, 0) + x, 1e-5, 1e-5)


def test_a_convolution_of_a_constant_image_may_have_weights_that_are_computed() -> None:
    nodes = [make("Relu", ["w"], ["v"]), make("Conv", ["i", "v"], ["y"], pads=[1, 0, 0, 2])]
    weights, w = {"i": whole(RANDOM, 1, 3, 5, 7)}, whole(RANDOM, 4, 3, 2, 3)
    made = model(nodes, {"w": w.shape}, ["y"], weights)
    found = interpreted(layers_of(read_model(made)), {"w": w})["y"]
    np.testing.assert_array_equal(found, expected(made, {"w": w})[0])


def test_older_versions_of_operators_are_computed_as_these_define_them() -> None:
    x, channels = RANDOM.uniform(-1, 1, (2, 3, 5)), RANDOM.uniform(1, 2, (4, 3))
    given = {n: a.astype(np.float32) for n, a in zip("xsbmv", (x, *channels), strict=True)}
    s, b, m, v = (a[:, None] for a in channels)
    normal = make("BatchNormalization", [*"xsbmv"], ["c"], epsilon=0.5)
    wide = RANDOM.integers(-128, 128, (3, 4), np.int8)
    bytes: dict[str, Array] = {"q": wide, "s": given["s"], "z": np.array([-7, 0, 9], np.int8)}
    for opset in (7, 9, 12, 14, 17):
        found = computed(model([normal], {}, ["c"], given, opset))["c"]
        np.testing.assert_allclose(found, (x - m) / np.sqrt(v + 0.5) * s + b, 1e-4, 1e-4)
    for opset in (10, 13, 17, 19, 21):
        axis = {"axis": 0} if opset > 10 else {}
        z = bytes["z"][:, None] if axis else np.int8(3)
        scales = given["s"][:, None] if axis else np.float32(0.75)
        used = bytes if axis else {"q": wide, "s": np.asarray(scales), "z": np.asarray(z)}
        node = make("DequantizeLinear", [*"qsz"], ["c"], **axis)
        found = computed(model([node], {}, ["c"], used, opset))["c"]
        np.testing.assert_array_equal(found, (wide.astype(np.float32) - z) * scales)


def test_an_operator_that_came_later_is_not_computed() -> None:
    node = make("DequantizeLinear", ["q", ""], ["c"], name="early")
    refused([node], {"q": np.zeros(1, np.uint8)}, "DequantizeLinear 'early'", opset=9)


def refused(nodes: list[Any], weights: dict[str, Array], *words: str, opset: int = 15) -> None:
    """Assert that a model which adds the constant `c` to its input is refused in a moment, with
    these words."""
    made = model([*nodes, make("Add", ["x", "c"], ["y"])], {"x": [1]}, ["y"], weights, opset)
    begun = time.monotonic()
    with pytest.raises((UserError, Unsupported)) as told:
        layers_of(read_model(made))
    assert time.monotonic() - begun < 10
    for word in words:
        assert word in str(told.value)


ONE = {"a": np.ones(1, np.float32)}
IMAGE = {"i": np.ones((1, 1, 8, 8), np.float32), "w": np.ones((1, 1, 3, 3), np.float32)}
LARGE: dict[str, tuple[Any, dict[str, Array]]] = {
    "Expand": (make("Expand", ["a", "n"], ["c"]), ONE | of_shapes(n=[1 << 20, 1 << 12])),
    "Expand of nothing": (
        make("Expand", ["a", "n"], ["c"]),
        {"a": np.ones((1, 0), np.float32)} | of_shapes(n=[1 << 31, 1]),
    ),
    "Tile": (make("Tile", ["a", "n"], ["c"]), ONE | of_shapes(n=[1 << 31])),
    "Pad": (make("Pad", ["a", "n"], ["c"]), ONE | of_shapes(n=[1 << 30, 1 << 30])),
    "Range": (
        make("Range", ["b", "e", "s"], ["c"]),
        {"b": real(0), "e": real(1e9), "s": real(1)},
    ),
    "Range of int32": (
        make("Range", ["b", "e", "s"], ["c"]),
        dict(zip("bes", np.array([-(1 << 31), (1 << 31) - 1, 1], np.int32), strict=True)),
    ),
    "OneHot": (
        make("OneHot", ["a", "n", "v"], ["c"]),
        ONE | of_shapes(n=[1 << 40]) | {"v": np.arange(2, dtype=np.float32)},
    ),
    "Gather": (
        make("Gather", ["a", "n"], ["c"]),
        {"a": np.ones((2, 1 << 16)), "n": np.zeros(1 << 16, np.int64)},
    ),
}


@pytest.mark.parametrize("operator", LARGE)
def test_a_constant_that_would_be_large_is_refused_before_it_is_computed(operator: str) -> None:
    node, weights = LARGE[operator]
    node.name = "big"
    refused([node], weights, f"{node.op_type} 'big': expected at most", "bytes of constants")


SLOWLY: dict[str, tuple[Any, dict[str, Array]]] = {
    "Conv": (
        make("Conv", ["i", "w"], ["c"], pads=[1 << 20] * 4, dilations=[1 << 20] * 2), IMAGE
    ),
    "ScatterND": (
        make("ScatterND", ["a", "at", "new"], ["c"]),
        ONE | {"at": np.zeros((1 << 23, 1), np.int64), "new": np.zeros(1 << 23, np.float32)},
    ),
    "Sum": (
        make("Sum", ["a", *["one"] * 5000], ["c"]),
        {"a": np.zeros(1 << 20, np.float32), "one": np.ones(1, np.float32)},
    ),
    "MatMul": (make("MatMul", ["m", "m"], ["c"]), {"m": np.zeros((2560, 2560), np.float32)}),
}  # fmt: skip


@pytest.mark.parametrize("operator", SLOWLY)
def test_a_constant_that_would_take_long_is_refused_before_it_is_computed(operator: str) -> None:
    node, weights = SLOWLY[operator]
    node.name = "slow"
    refused([node], weights, f"{operator} 'slow': expected at most", "s to compute constants")


def test_many_constants_together_are_refused_as_one_large_one_is() -> None:
    nodes = [make("ConstantOfShape", ["n"], [f"c{i}"], name=f"n{i}") for i in range(9)]
    refused([*nodes, make("Max", [f"c{i}" for i in range(9)], ["c"])], of_shapes(n=[1 << 24]),
            "ConstantOfShape 'n8': expected at most")  # fmt: skip


WRONG: dict[str, tuple[Any, dict[str, Array]]] = {
    "an index beyond": (make("Gather", ["a", "n"], ["c"]), ONE | of_shapes(n=[5])),
    "a shape that does not fit": (make("Reshape", ["a", "n"], ["c"]), ONE | of_shapes(n=[2, 3])),
    "a whole number by 0": (make("Div", ["n", "n"], ["c"]), of_shapes(n=[0])),
    "a whole remainder by 0": (
        make("Mod", ["n", "m"], ["c"]), of_shapes(n=[3, 5], m=[2, 0])
    ),
    "blocks longer than an array": (
        make("QuantizeLinear", ["i", "i"], ["c"], axis=2, block_size=1 << 31, output_dtype=3), IMAGE
    ),
    "a step of 0": (make("Range", ["n", "n", "n"], ["c"]), {"n": np.array(0)}),
    "types that differ": (make("Mul", ["a", "n"], ["c"]), ONE | of_shapes(n=[5])),
    "shapes that differ": (make("Where", ["a", "a", "b"], ["c"]), ONE | {"b": np.ones(3)}),
    "too many of the largest": (make("TopK", ["a", "n"], ["c", ""]), ONE | of_shapes(n=[5])),
    "a negative size": (make("ConstantOfShape", ["n"], ["c"]), of_shapes(n=[-5])),
    "sizes that overflow": (make("Tile", ["a", "n"], ["c"]), FLOATS | of_shapes(n=[1 << 62, 1, 1])),
    "results of another number": (
        make("Split", ["i"], ["c", "d"], axis=2, num_outputs=4), IMAGE
    ),
    "axes that are not there": (make("Unsqueeze", ["a", "n"], ["c"]), ONE | of_shapes(n=[7])),
    "strides of another image": (make("Conv", ["i", "w"], ["c"], strides=[1]), IMAGE),
    "pads of another image": (make("Conv", ["i", "w"], ["c"], pads=[1, 1]), IMAGE),
    "a window larger than the image": (make("Conv", ["i", "w"], ["c"], dilations=[9, 9]), IMAGE),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_constant_that_cannot_be_computed_is_refused_by_name(case: str) -> None:
    node, weights = WRONG[case]
    node.name = "bad"
    refused([node], weights, f"{node.op_type} 'bad'", opset=21 if "blocks" in case else 18)


UNSAFE: dict[str, tuple[Any, dict[str, Array]]] = {
    "RandomNormal": (make("RandomNormal", [], ["c"], shape=[1]), {}),
    "RandomUniformLike": (make("RandomUniformLike", ["a"], ["c"]), ONE),
    "Dropout": (
        make("Dropout", ["a", "", "yes"], ["c"]), ONE | {"yes": np.array(True)}
    ),
    "If": (
        make("If", ["yes"], ["c"], then_branch=helper.make_graph([], "t", [], []),
             else_branch=helper.make_graph([], "e", [], [])),
        {"yes": np.array(True)},
    ),
    "ImageDecoder": (make("ImageDecoder", ["b"], ["c"]), {"b": np.zeros(9, np.uint8)}),
    "StringConcat": (make("StringConcat", ["t", "t"], ["c"]), {"t": np.array(["a"], object)}),
    "far.Relu": (make("Relu", ["a"], ["c"], domain="far"), ONE),
}  # fmt: skip


@pytest.mark.parametrize("operator", UNSAFE)
def test_what_is_random_or_has_a_body_is_not_computed(operator: str) -> None:
    node, weights = UNSAFE[operator]
    node.name = "unsafe"
    refused([node], weights, f"{operator} 'unsafe'", opset=20)
