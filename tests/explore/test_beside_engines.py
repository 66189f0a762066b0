"""Tests of the memory of engines beside each other: it is that of fresh processes, counted in one
way for all."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from codegen.runtime.session import Device, Session
from explore.network_choice.choose_options import Chooser
from explore.network_choice.find_options import estimated
from explore.network_graph.network_layers import layers_of
from explore.networks import beside_peers
from explore.networks.beside_peers import beside_lines
from explore.onnx_model.read_model import read_model
from explore.run.target import target_of
from tests.support.onnx_models import model, whole


def test_no_library_of_an_engine_is_loaded_before_its_growth_is_counted() -> None:
    told = "import sys, explore.networks.peer_engines; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "explore.networks.peer_engines" in loaded
    assert not loaded & {"pyopencl", "codegen.runtime.session", "onnxruntime", "openvino", "ncnn"}


def test_convlift_grows_by_its_plan_and_by_its_library_apart(
    device: Device, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if device.kind != "cpu":
        pytest.skip("buffers of a device with its own memory are not in the process")
    monkeypatch.setattr(beside_peers, "PASSES", 1)
    random = np.random.default_rng()
    nodes = [helper.make_node("Gemm", ["x", "w"], ["y"])]
    made = model(nodes, {"x": [1, 2048]}, ["y"], {"w": whole(random, 2048, 4096)})
    file = tmp_path / "model.onnx"
    onnx.save(made, file)
    layers = layers_of(read_model(made))
    options = estimated(layers, target_of(device, None, ()), session, lambda number, options: None)
    plan = Chooser.of(layers, options).least().plan
    (ours,) = beside_peers.beside_peers(plan, file, {"x": whole(random, 1, 2048)}, device, ())
    assert ours.planned == plan.memory_bytes
    network, whole_growth = ours.growth.network, ours.growth.whole
    assert network.most >= network.kept >= 0.9 * plan.memory_bytes
    assert whole_growth.kept > network.kept
    assert whole_growth.most > network.most
    lines = beside_lines([ours, replace(ours, engine="ncnn", planned=None)])
    assert len(lines) == 5
    assert lines[-1] == f"of convlift's, buffers take {plan.memory_bytes:,} bytes, as planned"
