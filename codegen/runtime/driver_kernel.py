"""Kernels of compiled programs, made and launched through the C interface of the OpenCL loader.

For each of its kernels, pyopencl makes a function in Python, whose text it looks for in a database
on disk. What it loads for that takes a megabyte, as much as Intel's driver does for the kernels of
a network; and a launch through the C interface needs none of it.
"""

import ctypes
from collections.abc import Sequence
from typing import Any

from codegen.runtime.c_calls import DIMENSIONS, Sizes, launch_call
from codegen.runtime.results import RunFailed

# Numbers of OpenCL's header.
NUM_ARGS = 0x1191
WORK_GROUP_SIZE, COMPILE_WORK_GROUP_SIZE = 0x11B0, 0x11B1


class DriverKernel:
    """A kernel of a compiled program: what the driver says of it, its arguments, and its launches.
    It is given back to the driver when no one holds it, and holds its program, which some drivers
    free before."""

    __slots__ = ("_handle", "_library", "name", "program")

    def __init__(self, library: ctypes.CDLL, program: Any, name: str) -> None:
        """The kernel `name` of a program of pyopencl; RunFailed if the program has none of this
        name, or the driver refuses it."""
        library.clCreateKernel.restype = ctypes.c_void_p
        status = ctypes.c_int()
        self._library, self.program, self.name = library, program, name
        self._handle = ctypes.c_void_p(
            library.clCreateKernel(
                ctypes.c_void_p(program.int_ptr), name.encode(), ctypes.byref(status)
            )
        )
        self._demand("clCreateKernel", status.value)

    def __del__(self) -> None:
        if self._handle:
            self._library.clReleaseKernel(self._handle)

    def again(self) -> "DriverKernel":
        """Another kernel of the same program and name, with arguments of its own."""
        return DriverKernel(self._library, self.program, self.name)

    @property
    def address(self) -> int:
        """The address of the driver's object."""
        assert self._handle.value is not None
        return self._handle.value

    @property
    def num_args(self) -> int:
        """The number of its arguments."""
        found = ctypes.c_uint()
        status = self._library.clGetKernelInfo(
            self._handle,
            ctypes.c_uint(NUM_ARGS),
            ctypes.c_size_t(ctypes.sizeof(found)),
            ctypes.byref(found),
            None,
        )
        self._demand("clGetKernelInfo", status)
        return found.value

    def required_group(self, device: int) -> Sizes:
        """The sizes of work-groups that it was compiled for; zeros if for any. The device is given
        by the address of the driver's object."""
        found = (ctypes.c_size_t * DIMENSIONS)()
        self._ask_of_groups(device, COMPILE_WORK_GROUP_SIZE, found)
        x, y, z = found
        return x, y, z

    def most_items(self, device: int) -> int:
        """The most work-items that a group of it can have on a device, which is given by the
        address of the driver's object."""
        found = ctypes.c_size_t()
        self._ask_of_groups(device, WORK_GROUP_SIZE, found)
        return found.value

    def _ask_of_groups(self, device: int, what: int, found: Any) -> None:
        """Put into `found` what the driver says of the kernel's work-groups on a device."""
        status = self._library.clGetKernelWorkGroupInfo(
            self._handle,
            ctypes.c_void_p(device),
            ctypes.c_uint(what),
            ctypes.c_size_t(ctypes.sizeof(found)),
            ctypes.byref(found),
            None,
        )
        self._demand("clGetKernelWorkGroupInfo", status)

    def set_arguments(self, buffers: Sequence[Any]) -> None:
        """Make buffers of pyopencl its arguments, which the caller must hold until it has run."""
        for place, buffer in enumerate(buffers):
            given = ctypes.c_void_p(buffer.int_ptr)
            status = self._library.clSetKernelArg(
                self._handle,
                ctypes.c_uint(place),
                ctypes.c_size_t(ctypes.sizeof(given)),
                ctypes.byref(given),
            )
            self._demand("clSetKernelArg", status)

    def enqueue(self, queue: int, global_size: Sizes, local_size: Sizes) -> int:
        """Enqueue it on a queue, which is given by the address of the driver's object; the address
        of the event, which the caller must give back."""
        event = ctypes.c_void_p()
        launch = launch_call(self._library, queue, self.address, global_size, local_size, event)
        self._demand("clEnqueueNDRangeKernel", launch())
        assert event.value is not None
        return event.value

    def _demand(self, call: str, status: int) -> None:
        """Raise RunFailed unless a call's status is 0."""
        if status:
            raise RunFailed(f"kernel '{self.name}': {call} failed with OpenCL error {status}")
