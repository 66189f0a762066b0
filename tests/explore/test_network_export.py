"""Tests that a network's export runs by itself, and that layers with one program may have different
variants in it."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from onnx import helper

from codegen.runtime.session import Device, Session
from explore.network_choice.choose_options import Chooser
from explore.network_choice.find_options import estimated
from explore.network_choice.layer_options import Option
from explore.network_choice.network_plan import assembled
from explore.network_graph.interpret_network import interpreted
from explore.network_graph.network_layers import layers_of
from explore.networks.export_network import export_network
from explore.networks.open_network import network
from explore.onnx_model.read_model import read_model
from explore.results.records import Measured, Record
from explore.run.target import target_of
from tests.explore.test_run import hosts, ran_in, vendors
from tests.support.onnx_models import expected, model, whole
from tests.support.quick_builds import quick_builds as quick_builds
from tests.support.sample_runs import variant


def twice(random: np.random.Generator, outputs: list[str], second: str = "w") -> object:
    """The ONNX model of a convolution of another convolution's result, both of the same shape, with
    random weights, the second with those of the name `second` ("v": those of the first); its
    outputs are the tensors `outputs`."""
    nodes = [
        helper.make_node("Conv", [a, w], [b]) for a, w, b in (("x", "v", "y"), ("y", second, "z"))
    ]
    weights = {name: whole(random, 3, 3, 1, 1) for name in "vw"}
    return model(nodes, {"x": [1, 3, 4, 5]}, outputs, weights)


def other(option: Option) -> Option:
    """The option with a comment before the text of each kernel, so that its kernels differ from
    those of `option`."""
    kernels = tuple(replace(k, text=f"// other\n{k.text}") for k in option.plan.kernels)
    return replace(option, plan=replace(option.plan, kernels=kernels))


def test_an_export_runs_with_weights_packed_and_checks_itself(
    device: Device, session: Session, tmp_path: Path
) -> None:
    random = np.random.default_rng()
    made = twice(random, ["z"])
    layers = layers_of(read_model(made))
    options = estimated(layers, target_of(device, None, ()), None, lambda number, found: None)
    choice = Chooser.of(layers, options).least()
    chosen = (choice.options[0], other(choice.options[1]))
    slow = Record(variant(), Measured(1e6, 0.0, 0.0, slowdown=2.8))
    chosen = (replace(chosen[0], record=slow), chosen[1])
    choice = replace(choice, options=chosen, plan=assembled(layers, chosen))
    names = {k.text: k.name for k in choice.plan.plan.kernels}
    assert len(set(names.values())) == len(names) == 2 * len(chosen[0].plan.kernels)
    export_network(choice, f"{device.name} ({device.platform})", tmp_path / "net", session)
    said = json.loads((tmp_path / "net" / "plan.json").read_text())
    assert not any(kernel["prepack"] for kernel in said["kernels"])
    told = (tmp_path / "net" / "README.md").read_text()
    assert "1 layer measured on a machine up to 2.8 times slower than usual" in told
    ran = subprocess.run(
        [sys.executable, "host.py"], cwd=tmp_path / "net", capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    assert "ms an inference" in ran.stdout
    x = whole(random, 1, 3, 4, 5)
    meant = interpreted(layers, {"x": x})
    np.testing.assert_array_equal(meant["z"], expected(made, {"x": x})[0])


def test_an_export_has_several_results_in_the_models_order(
    device: Device, session: Session, tmp_path: Path
) -> None:
    layers = layers_of(read_model(twice(np.random.default_rng(), ["z", "y"], second="v")))
    options = estimated(layers, target_of(device, None, ()), None, lambda number, found: None)
    choice = Chooser.of(layers, options).fastest()
    export_network(choice, "here", tmp_path / "net", session)
    said = json.loads((tmp_path / "net" / "plan.json").read_text())
    kept = sum(b["bytes"] for b in said["buffers"] if b["role"] == "const")
    assert kept == choice.kept_bytes < sum(o.kept_bytes for o in choice.options)
    assert [b["name"] for b in said["buffers"] if b["role"] == "output"] == ["z", "y"]
    ran = subprocess.run(
        [sys.executable, "host.py"], cwd=tmp_path / "net", capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr


def test_an_export_gives_results_that_are_inputs_or_constants(
    device: Device, session: Session, tmp_path: Path
) -> None:
    random = np.random.default_rng()
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1]),
        helper.make_node("Shape", ["c"], ["s"]),
        helper.make_node("Exp", ["k"], ["e"]),
        helper.make_node("Reshape", ["x", "flat"], ["f"]),
    ]
    weights = {
        "w": whole(random, 3, 2, 3),
        "k": random.uniform(-1, 1, (3, 5)).astype(np.float32),
        "flat": np.array([-1, 1]),
    }
    names = ["k", "x", "s", "c", "e", "f", "x"]
    made, x = model(nodes, {"x": [1, 2, 7]}, names, weights), whole(random, 1, 2, 7)
    net, right = network(made, device=device, checking=True), expected(made, {"x": x})
    for found, want in zip(net(x), right, strict=True):
        assert found.dtype == want.dtype
        np.testing.assert_array_equal(found, want)
    layers = layers_of(read_model(made))
    options = estimated(layers, target_of(device, None, ()), None, lambda number, found: None)
    folder = tmp_path / "net"
    export_network(Chooser.of(layers, options).fastest(), "here", folder, session)
    said = json.loads((folder / "plan.json").read_text())
    results = [b["name"] for b in said["buffers"] if b["role"] == "output"]
    assert results == ["k_result", "x_result", "s_result", "c", "e_result", "f"]
    env = vendors(device, tmp_path)
    data = folder / "data" / "expected.bin"
    for command in hosts(folder)[:2]:
        ran = ran_in(folder, command, env)
        assert ran.returncode == 0, ran.stderr
        kept = data.read_bytes()
        data.write_bytes((np.frombuffer(kept) + 1.0).tobytes())
        assert ran_in(folder, command, env).returncode == 1
        data.write_bytes(kept)
