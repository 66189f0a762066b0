"""Arrays on a device: results that stay there, and inputs that are not uploaded again."""

from typing import Any

import numpy as np

from codegen.runtime.buffer_arrays import Array
from codegen.runtime.queue import Queue
from ir.core.frozen import distinct


@distinct
class DeviceArray:
    """An array on a device: the driver's `buffer`, and the type and shape of its numbers.
    `np.asarray` copies it to the host, after waiting for the kernels enqueued so far."""

    buffer: Any
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    queue: Queue

    @staticmethod
    def of(array: Array, queue: Queue) -> "DeviceArray":
        """A copy of an array on the device of a queue."""
        made = DeviceArray.empty(array.dtype, array.shape, queue)
        queue.write(made.buffer, np.ascontiguousarray(array))
        return made

    @staticmethod
    def empty(dtype: np.dtype[Any], shape: tuple[int, ...], queue: Queue) -> "DeviceArray":
        """A new array of this type and shape on the device of a queue; its numbers are not set."""
        size = int(np.prod(shape, dtype=object)) * dtype.itemsize
        return DeviceArray(queue.allocate(size), dtype, shape, queue)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("an array on a device is copied to be read: expected copy=None")
        out = np.empty(self.shape, self.dtype)
        self.queue.read(out, self.buffer)
        return out if dtype is None else out.astype(dtype, copy=False)

    def __repr__(self) -> str:
        return f"<on {self.queue.device.name}: {self.dtype} {list(self.shape)}>"
