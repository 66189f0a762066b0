"""The Python interface to networks: a model's file becomes a callable."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from codegen.runtime.devices import Device
from codegen.runtime.session import open_device
from explore.network_choice.find_options import estimated
from explore.network_graph.network_layers import layers_of
from explore.networks.network import Network
from explore.onnx_model.onnx_graph import Graph
from explore.run.target import target_of
from ir.errors import UserError


def network(
    model: "str | Path | Any",
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    device: str | int | Device | None = None,
    checking: bool = False,
) -> Network:
    """The network of an ONNX file (or of a `ModelProto`), built for a device, as a callable on
    arrays.

    Its layers' variants are taken by rough estimates: nothing is measured. `shapes` binds those of
    inputs where the model leaves sizes open; with `checking`, buffers are poisoned and guarded.
    """
    layers = layers_of(read(model, shapes))
    target = target_of(device, None, ())
    assert target.device is not None
    session = open_device(target.device)
    options = estimated(layers, target, session, lambda number, found: None)
    return Network.of(layers, [options[x.program][0] for x in layers.layers], session, checking)


def read(model: "str | Path | Any", shapes: Mapping[str, Sequence[int]] | None) -> Graph:
    """The graph of an ONNX file; a UserError says what to install, if the `onnx` package is not
    here."""
    try:
        from explore.onnx_model.read_model import read_model
    except ImportError as error:
        raise UserError("networks need the onnx package: pip install 'convlift[onnx]'") from error
    return read_model(model, shapes)
