"""Tests that models with mistakes, and hostile ones, are refused with words that say what is wrong
and where, and that nothing outside a model's folder is read."""

import os
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from explore.network_graph.network_layers import layers_of
from explore.onnx_model.read_model import read_model
from ir.errors import Unsupported, UserError
from tests.support.onnx_models import model

make = helper.make_node

WITHOUT_ONNX = """
import importlib.util, sys
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == "onnx" else found(name, *more)
sys.modules["onnx"] = None  # importing it fails
"""
BY_COMMAND = "from explore.__main__ import main; sys.exit(main(['net', 'model.onnx']))"
BY_PYTHON = "from explore import network"


def relu(**changes: Any) -> Any:
    return model([make("Relu", ["x"], ["y"])], {"x": [2, 3]}, ["y"], {}, **changes)


@pytest.mark.parametrize("opened", [BY_COMMAND, BY_PYTHON])
def test_where_onnx_is_not_installed_it_is_told_what_to_install(opened: str) -> None:
    command = [sys.executable, "-c", WITHOUT_ONNX + opened]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 1
    needed = "networks need the onnx package: pip install 'convlift[onnx]'"
    assert ran.stderr.strip().splitlines()[-1].endswith(f"rror: {needed}")
    assert opened == BY_PYTHON or "Traceback" not in ran.stderr


def refused(made: Any, *words: str) -> None:
    """Assert that reading the model `made` is refused with a message that contains each of these
    words."""
    with pytest.raises((UserError, Unsupported)) as told:
        layers_of(read_model(made))
    for word in words:
        assert word in str(told.value)


def external(location: str, **more: int | str) -> Any:
    """A model whose weights lie in another file, at `location`; `more` are further fields of the
    reference to it."""
    made = model([make("Add", ["x", "w"], ["y"])], {"x": [4]}, ["y"], {"w": np.ones(4, np.float32)})
    (w,) = made.graph.initializer
    w.ClearField("raw_data")
    w.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **more}.items():
        w.external_data.add(key=key, value=str(value))
    return made


def saved(made: Any, folder: Path) -> Path:
    file = folder / "model.onnx"
    file.write_bytes(made.SerializeToString())
    return file


def test_weights_beside_a_model_are_read(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(b"...." + np.arange(4, dtype="<f4").tobytes())
    graph = read_model(saved(external("w.bin", offset=4, length=16), tmp_path))
    np.testing.assert_array_equal(graph.constants["w"], np.arange(4))


@pytest.mark.parametrize("location", ["../secret", "/etc/passwd", "in/../../secret", "", "link"])
def test_weights_outside_of_the_folder_are_not_read(tmp_path: Path, location: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    secret = tmp_path / "secret"
    secret.write_bytes(bytes(16))
    os.symlink(secret, home / "link")
    refused(saved(external(location), home), "'w'", "outside of the model's folder")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"offset": 9}, "end at byte 25 of w.bin, which has 16"),
        ({"offset": "-1"}, "offset is '-1', expected a number of bytes"),
        ({"length": 12}, "expected 16 bytes, as their shape needs, found the length 12"),
    ],
)
def test_weights_that_do_not_fit_their_file(tmp_path: Path, more: Any, words: str) -> None:
    (tmp_path / "w.bin").write_bytes(bytes(16))
    refused(saved(external("w.bin", **more), tmp_path), "'w'", words)
    refused(saved(external("none.bin"), tmp_path), "there is no such file")
    refused(saved(external("a" * 5000), tmp_path), "is no path of a file")


def test_a_tensor_of_two_gigabytes_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    made = external("w.bin")
    made.graph.initializer[0].dims[:] = [1 << 20, 1 << 10]
    (tmp_path / "w.bin").touch()
    refused(saved(made, tmp_path), "'w'", "4,294,967,296 bytes: at most 2,147,483,647")


def test_inputs_and_results_of_two_gigabytes_are_refused() -> None:
    large = ("1 × 1 × 32768 × 16384) takes 2,147,483,648 bytes: at most 2,147,483,647 are taken",)
    input_ = model([make("Relu", ["x"], ["y"])], {"x": [1, 1, 1 << 15, 1 << 14]}, ["y"], {})
    refused(input_, "input 'x' (", *large)
    pads = [0, 0, (1 << 15) - 8, (1 << 14) - 8]
    padded = make("Pad", ["x", "p"], ["y"], name="wide")
    refused(
        model([padded], {"x": [1, 1, 8, 8]}, ["y"], {"p": np.array([0, 0, 0, 0, *pads])}),
        "Pad 'wide': its result 'y' (",
        *large,
    )


def test_a_file_that_is_read_again_and_again_is_refused_before_anything_is_read(
    tmp_path: Path,
) -> None:
    made, largest = external("w.bin"), (1 << 31) - 4
    with (tmp_path / "w.bin").open("wb") as file:
        file.truncate(largest)  # all holes
    (w,) = made.graph.initializer
    w.dims[:] = [largest // 4]
    for n in range(4):
        made.graph.initializer.add().CopyFrom(w)
        made.graph.initializer[-1].name = f"w{n}"
    refused(saved(made, tmp_path), "10,737,418,220 bytes: at most 8,589,934,592")


@pytest.mark.parametrize(
    ("node", "words"),
    [
        (make("Conv", ["x"], ["y"], name="c"), "Conv 'c': expected 2 to 3 inputs, found 1"),
        (make("Conv", ["x", ""], ["y"], name="c"), "expected an input 1 (W), found none"),
        (
            make("Conv", ["x", "x"], ["y"], strides="far"),
            "Conv 'Conv_0': expected strides to be of type INTS, found STRING",
        ),
        (make("Concat", ["x", "x"], ["y"]), "expected the attribute axis"),
        (make("Relu", ["x"], ["y", "z"]), "expected 1 to 1 results, found 2"),
        (
            make("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], auto_pad="SAME"),
            "MaxPool 'MaxPool_0': expected one of NOTSET, SAME_UPPER, SAME_LOWER, VALID as",
        ),
    ],
)
def test_nodes_that_are_not_as_onnx_defines_them_are_told(node: Any, words: str) -> None:
    refused(model([node], {"x": [1, 2, 3, 3]}, ["y"], {}), words)


def test_a_long_chain_of_functions_becomes_several() -> None:
    names = ["x", *(f"t{n}" for n in range(60))]
    nodes = [make("Relu", [a], [b]) for a, b in pairwise(names)]
    layers = layers_of(read_model(model(nodes, {"x": [4]}, ["t59"], {}))).layers
    assert 1 < len(layers) < 6


def test_a_constant_that_would_be_too_large_is_refused() -> None:
    node = make("ConstantOfShape", ["n"], ["c"])
    nodes = [node, make("Add", ["x", "c"], ["y"])]
    refused(model(nodes, {"x": [2]}, ["y"], {"n": np.array([1 << 40])}), "expected at most")
    small = {"c0": np.zeros(1 << 16, np.float32)}
    nodes = [make("Concat", [f"c{i}"] * 64, [f"c{i + 1}"], axis=0) for i in range(4)]
    refused(
        model([*nodes, make("Add", ["x", "c4"], ["y"])], {"x": [1]}, ["y"], small),
        "expected at most",
    )
    nodes = [make("Transpose", ["c0"], ["d"]), make("Mul", ["c0", "d"], ["e"])]
    small = {"c0": np.zeros((1 << 16, 1), np.float32)}
    refused(
        model([*nodes, make("Add", ["x", "e"], ["y"])], {"x": [1]}, ["y"], small),
        "expected at most",
    )


def test_a_circle_is_told_by_its_nodes() -> None:
    nodes = [make("Add", ["x", "b"], ["a"], name="one"), make("Relu", ["a"], ["b"], name="two")]
    refused(model(nodes, {"x": [2]}, ["b"], {}), "goes in a circle", "one reads two reads one")


def test_a_large_circle_is_told_in_short() -> None:
    names = [f"t{n}" for n in range(1000)]
    nodes = [make("Relu", [a], [b], name=b) for a, b in pairwise([*names, "t0"])]
    made = model([make("Add", ["x", "t0"], ["y"]), *nodes], {"x": [2]}, ["y"], {})
    refused(made, "goes in a circle: t0 reads t999 reads t998", "reads … reads t0")
    itself = make("Add", ["x", "y"], ["y"], name="own")
    refused(model([itself], {"x": [2]}, ["y"], {}), "own reads own")


def test_nodes_keep_their_order_as_far_as_they_can() -> None:
    nodes = [
        make("Add", ["b", "c"], ["y"]),
        make("Relu", ["x"], ["a"]),
        make("Neg", ["d"], ["c"]),
        make("Exp", ["a"], ["b"]),
        make("Abs", ["b"], ["d"]),
    ]
    made = [
        read_model(model(each, {"x": [2]}, ["y"], {})) for each in (nodes, nodes[1:] + nodes[:1])
    ]
    found = [[node.operator for node in graph.nodes] for graph in made]
    assert found == [["Relu", "Exp", "Abs", "Neg", "Add"]] * 2


@pytest.mark.parametrize("reads", ["the one before", "all before"])
def test_thousands_of_nodes_in_any_order_are_read_in_a_moment(reads: str) -> None:
    if reads == "all before":
        nodes = [make("Relu", ["x"], [f"t{n}"]) for n in range(10000)]
        nodes.append(make("Concat", [f"t{n}" for n in range(10000)], ["y"], axis=0))
    else:
        names = ["x", *(f"t{n}" for n in range(20000)), "y"]
        nodes = [make("Relu", [a], [b]) for a, b in pairwise(names)]
    shuffled = [nodes[n] for n in np.random.default_rng().permutation(len(nodes))]
    for order in (nodes, nodes[::-1], shuffled):
        made = model(order, {"x": [2]}, ["y"], {})
        begun = time.process_time()
        graph = read_model(made)
        assert time.process_time() - begun < 5  # it took a minute
        seen = {"x"}
        for node in graph.nodes:
            assert seen.issuperset(node.inputs)
            seen |= {*node.outputs}


def test_missing_weights_are_told_with_their_node() -> None:
    nodes = [make("Conv", ["x", "w"], ["y"], name="first")]
    refused(model(nodes, {"x": [1, 3, 8, 8]}, ["y"], {}), "Conv 'first' reads 'w'", "no weights")


def test_open_sizes_are_asked_for() -> None:
    made = model([make("Relu", ["x"], ["y"])], {"x": ["N", 3]}, ["y"], {})
    refused(made, "input 'x' has the shape [N, 3]", "--shape x=")
    assert read_model(made, {"x": [2, 3]}).inputs["x"].shape == (2, 3)
    with pytest.raises(UserError, match="expected 2 sizes"):
        read_model(made, {"x": [2]})
    with pytest.raises(UserError, match="one of the model's inputs, x; found 'z'"):
        read_model(made, {"z": [2]})


def test_an_operator_that_is_not_covered_is_told_with_its_node() -> None:
    made = model(
        [make("Einsum", ["x"], ["y"], name="e7", equation="ij->ji")], {"x": [2, 3]}, ["y"], {}
    )
    with pytest.raises(Unsupported, match="Einsum 'e7': expected an operator that is covered"):
        layers_of(read_model(made))


def test_other_mistakes_are_told(tmp_path: Path) -> None:
    twice = [make("Relu", ["x"], ["y"], name="a"), make("Relu", ["x"], ["y"], name="b")]
    refused(model(twice, {"x": [2]}, ["y"], {}), "Relu 'b' makes 'y' again")
    itself = [make("Constant", [], ["c"], name="c", value_int=n) for n in (1, 2)]
    refused(model([*itself, *twice[:1]], {"x": [2]}, ["y"], {}), "Constant 'c' makes 'c' again")
    refused(model([*itself[:1], *twice[:1]], {"x": [2], "c": [2]}, ["y"], {}), "'c' again")
    weights, inputs = (model(twice[:1], {"x": [2]}, ["y"], {"w": np.ones(2)}) for _ in range(2))
    weights.graph.initializer.append(weights.graph.initializer[0])
    refused(weights, "'w' twice among the weights")
    inputs.graph.input.append(inputs.graph.input[0])
    refused(inputs, "'x' twice among the inputs")
    both = [make("Split", ["x"], ["y", "y"], name="s", axis=0)]
    refused(model(both, {"x": [2]}, ["y"], {}), "Split 's' makes 'y' again")
    refused(relu(opset=6), "opset 6: expected one from 7 to")
    (tmp_path / "text.onnx").write_text("no model")
    refused(tmp_path / "text.onnx", "is no ONNX model")
    refused(tmp_path / "absent.onnx", "cannot read")
    identity = model([make("Relu", ["x"], ["y"])], {"x": [2]}, ["x"], {})
    refused(identity, "output 'x' is an input")
    constant = model([make("Relu", ["x"], ["y"])], {"x": [2]}, ["c"], {"c": np.ones(2)})
    refused(constant, "output 'c' is a constant")


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros((0, 3), np.float32), "elements"),
        (np.ones(2), "float64"),
        (np.ones(2, bool), "bool"),
    ],
)
def test_a_result_that_no_program_makes_is_told(array: np.ndarray, words: str) -> None:
    made = model([make("Relu", ["x"], ["y"])], {"x": [2]}, ["y", "c"], {"c": array})
    refused(made, "'c (result)'", words)
