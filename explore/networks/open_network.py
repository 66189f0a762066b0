"""The Python interface to networks: a model's file becomes a callable."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from codegen.runtime.devices import Device
from codegen.runtime.series import Clock
from codegen.runtime.session import Session, open_device
from explore.network_choice.choose_options import Chooser
from explore.network_choice.find_options import Options, estimated
from explore.network_choice.quick_look import Tell, looked_at
from explore.network_graph.layer_layouts import layers_in_layouts
from explore.network_graph.network_layers import Layers
from explore.networks.network import Network
from explore.onnx_model.onnx_graph import Graph
from explore.onnx_model.read_model import read_model
from explore.options.options import Options as Settings
from explore.options.units import parse_bytes
from explore.run.target import Target, target_of
from explore.run.worker_pools import Here


def network(
    model: "str | Path | Any",
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    device: str | int | Device | None = None,
    checking: bool = False,
    tried: int = 0,
    layouts: bool = False,
    budget: int | str | None = None,
) -> Network:
    """The network of an ONNX file (or of a `ModelProto`), built for a device, as a callable on
    arrays.

    Its layers' variants are chosen by rough estimates, or, with `tried`, each is the fastest of so
    many that are measured here. With a `budget` such as "32MiB", they are the fastest that take no
    more memory in all. With `layouts`, tensors between layers lie as is fastest. `shapes` gives the
    shapes of inputs whose sizes the model leaves open; with `checking`, buffers are poisoned and
    guarded.
    """
    layers = layers_in_layouts(read(model, shapes), layouts)
    target = target_of(device, None, ())
    assert target.device is not None
    session = open_device(target.device)
    options = quickly(layers, target, session, tried)
    chooser = Chooser.of(layers, options)
    limit = parse_bytes(budget) if isinstance(budget, str) else budget
    choice = chooser.fastest() if limit is None else chooser.within(limit)
    return Network.of(choice.layers, choice.options, session, checking)


def quickly(
    layers: Layers,
    target: Target,
    session: Session,
    tried: int,
    tell: Tell = lambda n, o: None,
    clock: Clock = time.perf_counter_ns,
) -> Options:
    """The options of a network's programs without a run's folder: by estimates if `tried` is 0.
    Otherwise `tried` variants of each program are measured by the `clock`, and the best of them are
    its options. tell(number, options) is called after each program."""
    if not tried:
        return estimated(layers, target, session, tell)
    hands = Here()
    device = session.device
    profile = replace(target.profile, instructions=hands.instructions(device))
    target = replace(target, profile=profile)
    with hands.builders(Settings(), device, profile) as builders:
        return looked_at(layers, target, session, builders, tried, tell, clock)


def read(model: "str | Path | Any", shapes: Mapping[str, Sequence[int]] | None) -> Graph:
    """The graph of an ONNX file, with these shapes of inputs whose sizes the model leaves open."""
    return read_model(model, shapes)
