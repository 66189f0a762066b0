"""The peer CLBlast: its `convgemm`, im2col folded into a tuned matrix product, in OpenCL.

It has no bias and no ReLU: what is timed is the convolution alone, in the peer's favour.
"""

# key: x input, w weights, y output

import ctypes
from pathlib import Path
from typing import Any

import numpy as np

from codegen.runtime.devices import Device
from codegen.runtime.session import Session, open_device
from explore.measure.reference import Array
from explore.peers.layers import Kind, Layer
from explore.peers.recognise import recognised
from explore.peers.rival import COPIES, Rival, Way, absent, on_host_clock
from ir.core.nodes import Program

LIBRARY = "libclblast.so.1"
CROSS_CORRELATION = 151  # its name for a kernel that is not flipped
LAYOUT = "channels first"


def rival(program: Program, seed: int, reference: Path, target: Device) -> Rival:
    """CLBlast's way to compute the program; a rival without ways if it is not one convolution, with
    at most bias and ReLU."""
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError:
        return absent("CLBlast is not installed here (Debian: apt-get install libclblast1)")
    session = open_device(target)

    def single(layer: Layer) -> Array:
        if layer.sides != 2 or (layer.geometry and layer.geometry.groups > 1):
            return np.empty(0, np.float32).reshape((0,) * layer.x.ndim)  # it has none like that
        return Convolution(library, session, layer).finished()

    kinds: tuple[Kind, ...] = ("convolution",)
    layer = recognised(program, seed, reference, single, precision=np.float32, kinds=kinds)
    if layer is None:
        return absent("the program is no convolution that CLBlast has")
    task = Convolution(library, session, layer)
    alone = f"{layer.words}; the convolution alone"
    return Rival(alone, {LAYOUT: Way(task.run, task.bytes)}, "CLBlast convgemm")


class Convolution:
    """A convolution by CLBlast, with its operands on the device."""

    def __init__(self, library: ctypes.CDLL, session: Session, layer: Layer) -> None:
        self._library, self._session, self._layer = library, session, layer
        assert layer.w is not None
        n, _, h, w = layer.x.shape
        m, _, kh, kw = layer.w.shape
        g = layer.geometry
        assert g is not None
        tall, wide = (
            (size + 2 * g.padding - g.dilation * (k - 1) - 1) // g.stride + 1
            for size, k in ((h, kh), (w, kw))
        )
        self._y = np.empty((n, m, tall, wide), np.float32)
        self._xs = [self._placed(layer.x) for _ in range(COPIES)]
        self._w, self._out = self._placed(layer.w), session.allocate(self._y.nbytes)
        pairs = (kh, kw, g.padding, g.padding, g.stride, g.stride, g.dilation, g.dilation)
        self._sizes = [*layer.x.shape[1:], *pairs, m, n]
        self.bytes = layer.x.nbytes + layer.w.nbytes + self._y.nbytes

    def _placed(self, a: Array) -> Any:
        buffer = self._session.allocate(a.nbytes)
        self._session.write(buffer, np.ascontiguousarray(a))
        return buffer

    def run(self, i: int) -> float:
        """The nanoseconds that the convolution of the i-th copy of the input takes."""
        return on_host_clock(lambda: self._enqueue(self._xs[i]))

    def _enqueue(self, x: Any) -> None:
        given: list[Any] = [*map(ctypes.c_size_t, self._sizes)]
        for buffer in (x, self._w, self._out):
            given += [ctypes.c_void_p(buffer.int_ptr), ctypes.c_size_t(0)]
        queue = ctypes.c_void_p(self._session.queue.int_ptr)
        status = self._library.CLBlastSconvgemm(
            ctypes.c_int(CROSS_CORRELATION), *given, ctypes.byref(queue), None
        )
        if status:
            raise RuntimeError(f"CLBlastSconvgemm: expected status 0, found {status}")
        self._session.queue.finish()

    def finished(self) -> Array:
        """The layer's output, with bias and ReLU added on the host."""
        self._enqueue(self._xs[0])
        self._session.read(self._y, self._out)
        b = self._layer.b
        return self._y if b is None else self._y + b[:, None, None]
