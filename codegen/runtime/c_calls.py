"""Calls of C libraries: launches through the OpenCL loader, and memory given back to the system.

At every launch pyopencl converts sizes, sets arguments, and makes an event object; here that is
done once, before the first of many launches.
"""

import ctypes
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

DIMENSIONS = 3
Sizes: TypeAlias = tuple[int, int, int]


def loader(extension: str) -> ctypes.CDLL:
    """The OpenCL loader that the Python extension in the file `extension` is linked to. If another
    loader was preloaded into this process, as a simulator's is, it is that one instead."""
    everything = ctypes.CDLL(None)
    if hasattr(everything, "clEnqueueNDRangeKernel"):
        return everything
    return ctypes.CDLL(extension)  # a name is looked up in what it was linked to, too


def launch_call(
    library: ctypes.CDLL,
    queue: int,
    kernel: int,
    global_size: Sizes,
    local_size: Sizes,
    event: ctypes.c_void_p | None = None,
) -> Callable[[], int]:
    """A function that enqueues a kernel and returns the driver's status. The queue and the kernel
    are given by the addresses of the driver's objects; the kernel's arguments are set already. An
    `event` is given the address of the launch's event."""
    sizes = ctypes.c_size_t * DIMENSIONS
    return partial(
        library.clEnqueueNDRangeKernel,
        ctypes.c_void_p(queue),
        ctypes.c_void_p(kernel),
        ctypes.c_uint(DIMENSIONS),
        None,
        sizes(*global_size),
        sizes(*local_size),
        ctypes.c_uint(0),
        None,
        event if event is None else ctypes.byref(event),
    )


def give_back_freed() -> None:
    """Give memory that this process has freed back to the system, where its C library can (glibc
    can; else it is kept for later use). Drivers' compilers free much that they do not give back."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(ctypes.c_size_t(0))
