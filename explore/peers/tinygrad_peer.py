"""The peer tinygrad with its OpenCL backend; kernels are its default ones, or found by beam
search."""

# key: x input, w weights, b biases, y output

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from codegen.binaries.cache_folder import cache_folder
from codegen.runtime import platforms
from codegen.runtime.devices import Device
from explore.measure.reference import Array
from explore.peers.layers import Kind, Layer
from explore.peers.recognise import recognised
from explore.peers.rival import COPIES, Rival, Way, absent, on_host_clock
from ir.core.nodes import Program

BEAM = 2  # candidates kept at each step of the search


def rival(
    program: Program, seed: int, reference: Path, target: Device, beam: bool = False
) -> Rival:
    """tinygrad's way to compute the program; its kernels are compiled at the first run, and, with
    `beam`, found by beam search."""
    try:
        import tinygrad
    except ImportError:
        return absent("tinygrad is not installed here: pip install 'convlift[bench]'")
    with platforms.registered([target.library], cache_folder() / "vendors"):
        tinygrad.helpers.DEV.value = "CL"
        device = tinygrad.Device[tinygrad.Device.DEFAULT]  # the loader looks now
    kinds: tuple[Kind, ...] = ("convolution", "linear")
    layer = recognised(program, seed, reference, _single, precision=np.float32, kinds=kinds)
    if layer is None:
        return absent("the program is no convolution or linear layer")
    version = f"tinygrad {_version()}" + beam * f", BEAM={BEAM}"
    name = "beam search" if beam else "no search"
    return Rival(layer.words, {name: _way(layer, device, beam)}, version)


def _single(layer: Layer) -> Array:
    return np.asarray(_forward(layer).numpy())


def _version() -> str:
    import importlib.metadata

    return importlib.metadata.version("tinygrad")


def _tensor(a: Any) -> Any:
    from tinygrad import Tensor

    return None if a is None else Tensor(np.ascontiguousarray(a)).realize()


def _forward(layer: Layer) -> Any:
    return _applied(layer, *map(_tensor, (layer.x, layer.w, layer.b)))


def _applied(layer: Layer, x: Any, w: Any, b: Any) -> Any:
    g = layer.geometry
    if g is None:
        y = x.linear(w.T, b)
    else:
        y = x.conv2d(w, b, g.groups, g.stride, g.dilation, g.padding)
    return (y.relu() if layer.relu else y).realize()


def _way(layer: Layer, device: Any, beam: bool) -> Way:
    """The way to compute the layer by tinygrad's JIT, timed by the host's clock, since its queue
    has no other."""
    from tinygrad import TinyJit
    from tinygrad.helpers import Context

    w, b = map(_tensor, (layer.w, layer.b))
    xs = [_tensor(layer.x) for _ in range(COPIES)]
    apply = TinyJit(partial(_swapped, layer, w, b))

    def run(i: int) -> float:
        with Context(BEAM=BEAM * beam, PARALLEL=0):
            return on_host_clock(lambda: (apply(xs[i]), device.synchronize()))

    y = _forward(layer)
    return Way(run, sum(t.nbytes() for t in (xs[0], w, b, y) if t is not None))


def _swapped(layer: Layer, w: Any, b: Any, x: Any) -> Any:
    return _applied(layer, x, w, b)
