"""Tests of choices between branches: where weights and shapes of inputs decide, the branch that is
taken stands in the place of the choice; otherwise they are refused by name."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from explore.network_graph.interpret_network import interpreted
from explore.network_graph.network_layers import Layers, layers_of
from explore.onnx_model.read_model import read_model
from ir.errors import Unsupported, UserError
from tests.support.onnx_models import Array, expected, model, whole

RANDOM = np.random.default_rng()
make = helper.make_node
X = [1, 3, 3]
WEIGHTS: dict[str, Array] = {
    "yes": np.array(True), "no": np.array([False]), "w": whole(RANDOM, 3, 3),
    "three": np.array(3), "at": np.array(2),
}  # fmt: skip


def branch(nodes: Sequence[Any], outputs: Sequence[str], **weights: Array) -> Any:
    """A branch of these nodes and weights."""
    return helper.make_graph(
        list(nodes),
        "branch",
        [],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )


def choice(condition: str, then: Any, other: Any, outputs: Sequence[str], name: str = "if") -> Any:
    return make("If", [condition], list(outputs), name, then_branch=then, else_branch=other)


def read(nodes: Sequence[Any], outputs: Sequence[str] = ("y",)) -> tuple[Any, Layers]:
    """The model of these nodes, which read x and the weights above, and its layers."""
    made = model(nodes, {"x": X}, outputs, WEIGHTS)
    return made, layers_of(read_model(made))


def agree(nodes: Sequence[Any], operators: Sequence[str], outputs: Sequence[str] = ("y",)) -> None:
    """Assert that the network of these nodes consists of layers of these operators, and computes
    what ONNX's reference does."""
    made, layers = read(nodes, outputs)
    x = whole(RANDOM, *X)
    assert [layer.operator for layer in layers.layers] == [*operators]
    found = interpreted(layers, {"x": x})
    for name, right in zip(layers.outputs, expected(made, {"x": x}), strict=True):
        np.testing.assert_array_equal(found[layers.root(name)].reshape(right.shape), right)


ADDED = branch([make("Relu", ["x"], ["r"]), make("Add", ["r", "w"], ["z"])], ["z"])
OTHER = branch([make("Relu", ["x"], ["r"]), make("Det", ["r"], ["z"])], ["z"])


def test_the_branch_that_is_taken_stands_for_a_choice() -> None:
    agree([choice("yes", ADDED, OTHER, ["y"])], ["Relu", "Add"])
    agree([choice("no", OTHER, ADDED, ["z"]), make("Abs", ["z"], ["y"])], ["Relu", "Add"])


def test_the_shape_of_an_input_may_decide() -> None:
    nodes = [
        make("Shape", ["x"], ["s"]),
        make("Gather", ["s", "at"], ["n"]),
        make("Equal", ["n", "three"], ["c"]),
        choice("c", ADDED, OTHER, ["y"]),
    ]
    agree(nodes, ["Relu", "Add"])


def test_choices_may_be_nested_and_have_tensors_of_the_same_names() -> None:
    inner = branch(
        [choice("no", OTHER, ADDED, ["r"]), make("Sub", ["r", "q"], ["z"])],
        ["z"],
        q=whole(RANDOM, 3),
    )
    nodes = [
        choice("yes", inner, OTHER, ["a"]),
        choice("yes", inner, OTHER, ["b"]),
        make("Mul", ["a", "b"], ["y"]),
    ]
    made, layers = read(nodes)
    x = whole(RANDOM, *X)
    found = interpreted(layers, {"x": x})["y"]
    np.testing.assert_array_equal(found, expected(made, {"x": x})[0])


def test_a_branch_may_give_what_is_around_it_its_own_weights_and_a_tensor_twice() -> None:
    own = branch([make("Relu", ["x"], ["r"])], ["x", "v", "r", "r"], v=whole(RANDOM, 3, 3))
    nodes = [
        choice("yes", own, branch([], ["w", "w", "w", "w"]), ["a", "b", "c", "d"]),
        make("Sum", ["a", "b", "c", "d"], ["y"]),
    ]
    made, layers = read(nodes)
    x = whole(RANDOM, *X)
    np.testing.assert_array_equal(interpreted(layers, {"x": x})["y"], expected(made, {"x": x})[0])


def test_what_only_the_other_branch_reads_is_not_computed() -> None:
    nodes = [
        make("Det", ["x"], ["d"]),
        choice("no", branch([make("Exp", ["d"], ["z"])], ["z"]), ADDED, ["y"]),
    ]
    agree(nodes, ["Relu", "Add"])


def test_a_choice_that_an_input_decides_is_refused_by_name() -> None:
    nodes = [make("Cast", ["x"], ["c"], to=TensorProto.BOOL), choice("c", ADDED, OTHER, ["y"])]
    with pytest.raises(Unsupported, match="If 'if': expected a condition that weights and shapes"):
        read(nodes)


WRONG: dict[str, tuple[Any, str]] = {
    "another number of results": (
        choice("yes", branch([], ["x", "w"]), ADDED, ["y"]), "If 'if': expected branches with 1"
    ),
    "several conditions": (choice("w", ADDED, OTHER, ["y"]), "If 'if': expected one condition"),
    "a tensor from nowhere": (
        choice("yes", branch([], ["nowhere"]), ADDED, ["y"]), "'nowhere'"
    ),
    "a circle": (
        choice("yes", branch([make("Exp", ["z"], ["z"])], ["z"]), ADDED, ["y"]), "circle"
    ),
    "a tensor of its own result": (
        choice("yes", branch([make("Exp", ["y"], ["z"])], ["z"]), ADDED, ["y"]), "circle"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_branch_that_does_not_fit_is_refused(case: str) -> None:
    node, words = WRONG[case]
    with pytest.raises(UserError, match=words):
        read([node])
