"""Launches through the C interface of the OpenCL loader, with nothing made between two of them.

A call of pyopencl's converts sizes, sets arguments, and makes an event object. Of what a launch
from Python takes, that is a part which repeats for nothing: here all of it is done once.
"""

import ctypes
from collections.abc import Callable
from functools import partial

DIMENSIONS = 3


def loader(extension: str) -> ctypes.CDLL:
    """The OpenCL loader that a Python extension was linked to; a simulator that was preloaded
    stands before it."""
    everything = ctypes.CDLL(None)
    if hasattr(everything, "clEnqueueNDRangeKernel"):
        return everything
    return ctypes.CDLL(extension)  # a name is looked up in what it was linked to, too


def launch_call(
    library: ctypes.CDLL,
    queue: int,
    kernel: int,
    global_size: tuple[int, int, int],
    local_size: tuple[int, int, int],
) -> Callable[[], int]:
    """A call that enqueues a kernel, given by the addresses of the driver's objects, and returns
    the driver's status; the kernel's arguments are set already."""
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
        None,
    )
