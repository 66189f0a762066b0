"""Tests that every layer of whole networks computes what `onnx.reference` does, on every device."""

from collections.abc import Mapping
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from onnx import helper

import explore
from codegen.plan import Role
from codegen.runtime.session import Device, Session
from explore.network_choice.choose_options import Chooser
from explore.network_choice.find_options import estimated
from explore.network_choice.joined_options import joined
from explore.network_choice.network_plan import assembled
from explore.network_graph.interpret_network import interpreted
from explore.network_graph.network_layers import Layers, layers_of
from explore.networks.network import Network
from explore.onnx_model.read_model import read_model
from explore.run.target import target_of
from ir.errors import UserError
from tests.support.light_models import light_model
from tests.support.onnx_models import Array, classifier, expected, model, whole
from tests.support.quick_builds import quick_builds as quick_builds


def test_a_network_computes_what_the_model_says_with_its_buffers_guarded(device: Device) -> None:
    random = np.random.default_rng()
    made, x = classifier(random), whole(random, 1, 3, 9, 7)
    net = explore.network(made, device=device, checking=True)
    np.testing.assert_array_equal(net(x), expected(made, {"x": x})[0])
    assert net.plan.plan.workspace_bytes >= net.plan.bound
    assert [layer.into is None for layer in net.layers.layers if layer.output == "c"] == [False] * 2
    np.testing.assert_array_equal(interpreted(layers_of(read_model(made)), {"x": x})["y"], net(x))
    tensors = net.trace(x=x)
    for name, right in zip(tensors, expected(made, {"x": x}, list(tensors)), strict=True):
        np.testing.assert_array_equal(tensors[name], right, err_msg=name)


def test_a_network_keeps_to_a_budget(device: Device) -> None:
    random = np.random.default_rng()
    made, x = classifier(random), whole(random, 1, 3, 9, 7)
    net = explore.network(made, device=device)
    kept = explore.network(made, device=device, budget=f"{net.memory_bytes}B")
    assert kept.memory_bytes <= net.memory_bytes
    np.testing.assert_array_equal(kept(x), net(x))
    with pytest.raises(UserError, match="no choice takes at most 16 B: the least is"):
        explore.network(made, device=device, budget=16)


@pytest.mark.parametrize("dims", [(2, 4, 5, 4), (1, 4, 6), (2, 4, 6), (1, 4, 3, 4, 3)])
def test_sums_are_folded_into_convolutions_of_any_images(dims: tuple[int, ...]) -> None:
    random, n = np.random.default_rng(), len(dims) - 2
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], pads=[1] * (2 * n)),
        helper.make_node("Add", ["a", "x"], ["b"]),
        helper.make_node("Conv", ["b", "w"], ["c"], pads=[1] * (2 * n)),
        helper.make_node("Add", ["c", "b"], ["d"]),
        helper.make_node("Relu", ["d"], ["y"]),
    ]
    made = model(nodes, {"x": dims}, ["y"], {"w": whole(random, 4, 4, *(3,) * n)})
    layers, x = layers_of(read_model(made)), whole(random, *dims)
    assert [layer.operator for layer in layers.layers] == ["Conv", "Conv"]
    found = layers.tensors["y"].in_onnx_order(interpreted(layers, {"x": x})["y"])
    np.testing.assert_array_equal(found, expected(made, {"x": x})[0])


def test_several_results_come_in_the_models_order(device: Device) -> None:
    nodes = [
        helper.make_node("Neg", ["x"], ["n"]),
        helper.make_node("Abs", ["n"], ["p"]),
        helper.make_node("Identity", ["n"], ["same"]),
    ]
    x = np.array([[-2, 3]], np.float32)
    for outputs in permutations(["p", "n", "same"]):
        made = model(nodes, {"x": [1, 2]}, outputs, {})
        found, right = explore.network(made, device=device)(x), expected(made, {"x": x})
        assert [a.tolist() for a in found] == [a.tolist() for a in right]


def test_the_softplus_of_a_large_number_is_that_number(device: Device) -> None:
    made = model([helper.make_node("Softplus", ["x"], ["y"])], {"x": [4]}, ["y"], {})
    x = np.array([-200, 0, 95, 1e30], np.float32)
    found = explore.network(made, device=device)(x)
    np.testing.assert_allclose(found, expected(made, {"x": x})[0], 1e-6, 1e-12)


def test_a_convolution_and_a_sum_may_be_two_parts(device: Device, session: Session) -> None:
    random = np.random.default_rng()
    nodes = [
        *(helper.make_node("Conv", [a, "w"], [b], pads=[1] * 4) for a, b in ("xa", "ab", "bc")),
        helper.make_node("Add", ["c", "a"], ["d"]),
        helper.make_node("Relu", ["d"], ["e"]),
        helper.make_node("Conv", ["e", "w"], ["y"], pads=[1] * 4),
    ]
    made = model(nodes, {"x": [1, 4, 6, 5]}, ["y"], {"w": whole(random, 4, 4, 3, 3)})
    layers, x = layers_of(read_model(made)), whole(random, 1, 4, 6, 5)
    options = estimated(layers, target_of(device, None, ()), session, lambda n, o: None)
    ((number, (first, second)),) = layers.parts.items()
    both = joined(options[first][0], options[second][0])
    chosen = [both if p == number else options[p][0] for p in (x.program for x in layers.layers)]
    net = Network.of(layers, chosen, session, checking=True)
    assert net.plan.tensors["e"] == net.plan.tensors["a"]  # the sum lies where one of its parts lay
    assert net.plan.plan.workspace_bytes >= net.plan.bound
    np.testing.assert_array_equal(net(x), expected(made, {"x": x})[0])


def test_normalisation_sums_and_functions_are_folded_into_convolutions() -> None:
    layers = layers_of(read_model(classifier(np.random.default_rng()))).layers
    found = [layer.operator for layer in layers]
    assert found == ["Conv", "Conv", "MaxPool", "Conv", "Conv", "Concat", "Flatten", "Gemm"]


def test_inputs_are_given_once_and_all_of_them(device: Device) -> None:
    random = np.random.default_rng()
    net = explore.network(classifier(random), device=device)
    x = whole(random, 1, 3, 9, 7)
    with pytest.raises(UserError, match="x is given by position and by name"):
        net(x, x=x)
    with pytest.raises(UserError, match="expected the inputs x, found x, y"):
        net(x, y=x)


@pytest.mark.parametrize(
    ("name", "size"),
    [("squeezenet", 33), ("shufflenet", 32), ("resnet50", 32), ("densenet121", 32)],
)
def test_a_model_means_what_the_reference_says(name: str, size: int) -> None:
    random = np.random.default_rng()
    made = light_model(name, random, size)
    layers = layers_of(read_model(made))
    ((given, kind),) = layers.inputs.items()
    inputs = {given: random.uniform(-1, 1, kind.shape).astype(np.float32)}
    found = interpreted(layers, inputs)
    agree(made, layers, inputs, {n: layers.tensors[n].in_onnx_order(a) for n, a in found.items()})


def agree(
    made: Any, layers: Layers, inputs: Mapping[str, Array], found: Mapping[str, Array]
) -> None:
    """Assert that the tensors which were found, by name, are what ONNX's reference computes, within
    the errors of floats."""
    known = dict.fromkeys(found, 1e-05)
    for layer in layers.layers:
        if layer.operator == "Softmax":  # it makes of an error of x a factor, exp of that error
            ((_, x),) = layer.tensors
            known[layer.output] *= max(1.0, float(np.abs(found[x]).max()))
    for out, right in zip(found, expected(made, inputs, list(found)), strict=True):
        error = np.linalg.norm(found[out] - right) / np.linalg.norm(right)
        assert error < known[out], out


def test_the_opencl_of_a_model_means_what_the_reference_says(
    device: Device, session: Session
) -> None:
    """All kernels are one program, which takes least time to compile."""
    random = np.random.default_rng()
    made = light_model("squeezenet", random, 33)
    layers = layers_of(read_model(made))
    options = estimated(layers, target_of(device, None, ()), None, lambda number, options: None)
    choice = Chooser.of(layers, options).fastest()
    layers, plan = choice.layers, assembled(choice.layers, choice.options, kept=True)
    ((given, kind),) = layers.inputs.items()
    inputs = {given: random.uniform(-1, 1, kind.shape).astype(np.float32)}
    built = session.build(plan.plan, together=True)
    built.set_constants(plan.constants)
    arrays = built({plan.tensors[given]: inputs[given]})
    outputs = [b.name for b in plan.plan.buffers if b.role is Role.OUTPUT]
    places = dict(zip(outputs, arrays, strict=True))
    found = {n: places[place] for n, place in plan.tensors.items() if place in places}
    assert found.keys() == {layer.output for layer in layers.layers}
    agree(made, layers, inputs, {n: layers.tensors[n].in_onnx_order(a) for n, a in found.items()})


def test_numbers_for_each_channel_are_folded_where_that_is_what_they_are() -> None:
    random = np.random.default_rng()
    make = helper.make_node
    scaled = [
        make("Mul", ["n", "m"], ["p"]),
        make("Add", ["a", "p"], ["q"]),
        make("Relu", ["q"], ["y"]),
    ]
    norm = make("BatchNormalization", ["x", *"sbuv"], ["n"], epsilon=0.0)
    weights = {n: whole(random, 3) for n in "sbu"} | {"v": np.full(3, 4, np.float32)}
    for shape, dims, folded in (
        ((3, 1, 1), (2, 3, 5, 4), True),
        ((1, 1, 4), (2, 3, 5, 4), False),
        ((3, 1, 1), (3, 3, 4), False),  # along the first axis of three
    ):
        more = {n: whole(random, *shape) for n in "ma"}
        made = model([norm, *scaled], {"x": dims}, ["y"], weights | more)
        layers, x = layers_of(read_model(made)), whole(random, *dims)
        assert (len(layers.layers) == 1) == folded
        found = layers.tensors["y"].in_onnx_order(interpreted(layers, {"x": x})["y"])
        np.testing.assert_array_equal(found, expected(made, {"x": x})[0])


def test_nodes_that_work_on_one_tensor_alone_become_one_function() -> None:
    random, make = np.random.default_rng(), helper.make_node
    swish = [
        make("Add", ["c", "three"], ["a"]),
        make("Clip", ["a", "low", "high"], ["b"]),
        make("Mul", ["c", "b"], ["d"]),
        make("Div", ["d", "high"], ["e"]),
    ]
    silu = [make("Sigmoid", ["e"], ["f"]), make("Mul", ["f", "e"], ["y"])]
    conv = make("Conv", ["x", "w"], ["c"])
    numbers = {"three": 3, "low": 0, "high": 6}
    weights = {n: np.asarray(v, np.float32) for n, v in numbers.items()}
    weights["w"] = whole(random, 3, 2, 1, 1)
    x = random.uniform(-4, 4, (1, 2, 5, 4)).astype(np.float32)
    for outputs, operators in ((["y"], ["Conv"]), (["y", "b"], ["Conv", "Function", "Mul"])):
        made = model([conv, *swish, *silu], {"x": [1, 2, 5, 4]}, outputs, weights)
        layers = layers_of(read_model(made))
        assert sorted(layer.operator for layer in layers.layers) == operators
        found = interpreted(layers, {"x": x})
        for name, right in zip(outputs, expected(made, {"x": x}), strict=True):
            near = layers.tensors[name].in_onnx_order(found[name])
            np.testing.assert_allclose(near, right, rtol=1e-5, atol=1e-6)
