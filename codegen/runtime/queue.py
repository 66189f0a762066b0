"""The interface of an opened device to a built program: memory, copies and launches, in order."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from codegen.plan import Kernel
from codegen.runtime.buffer_arrays import Array
from codegen.runtime.devices import Device
from ir.core.frozen import frozen


@frozen
class Recorded:
    """Launches whose arguments are set: each call enqueues one and returns the driver's status, 0
    if it took it. `kept` holds what the calls need: kernels, and the memory of their arguments."""

    calls: tuple[Callable[[], int], ...]
    kept: tuple[Any, ...] = ()


class Queue(Protocol):
    """The part of a Session that a Program needs; buffers, kernels and events are its driver's.

    Kernels run in order, on either of two queues: one that is profiled, and one that is not.
    """

    device: Device
    alignment: int  # of the start of a part of a buffer, in bytes

    def allocate(self, size: int) -> Any:
        """A new buffer of `size` bytes."""

    def copies(self, arrays: Mapping[str, Array], count: int = 1) -> list[Mapping[str, Any]]:
        """A list of `count` sets of buffers, each with a copy of every array."""

    def part(self, buffer: Any, start: int, size: int) -> Any:
        """The `size` bytes of a buffer from `start` on, as a buffer."""

    def fill(self, buffer: Any, pattern: Array, start: int, size: int) -> None:
        """Fill `size` bytes of a buffer from `start` on with copies of a pattern."""

    def write(self, buffer: Any, array: Array) -> None:
        """Copy an array to a buffer."""

    def read(self, array: Array, buffer: Any, start: int = 0) -> None:
        """Copy from a buffer, from `start` on, to an array."""

    def enqueue(self, kernel: Any, launch: Kernel, buffers: Sequence[Any]) -> Any:
        """The event of a kernel, enqueued to run on these buffers in the queue that is profiled;
        `launch` says its sizes."""

    def record(self, launches: Sequence[tuple[Any, Kernel, Sequence[Any]]]) -> Recorded:
        """Launches of kernels on these buffers, recorded for the queue that is not profiled;
        the kernels are kept, the buffers are not."""

    def finish(self) -> None:
        """Wait until the queue that is not profiled is empty."""

    def device_ns(self, events: Sequence[Any]) -> list[int]:
        """The nanoseconds that each command took on the device, after waiting for them all."""
