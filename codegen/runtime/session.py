"""Sessions, which build plans and run them on OpenCL devices: the one module that imports
pyopencl."""

import contextlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
import pyopencl as cl

from codegen.binaries.cache_folder import cache_folder
from codegen.plan import Buffer, Kernel, Plan, Role
from codegen.runtime import buffer_arrays as arrays
from codegen.runtime import platforms
from codegen.runtime.buffer_arrays import Array
from codegen.runtime.built_program import Program
from codegen.runtime.c_calls import give_back_freed, launch_call, loader
from codegen.runtime.devices import Broken, Device, choose, devices, known_libraries
from codegen.runtime.driver_compiler import DriverCompiler, identity
from codegen.runtime.driver_kernel import DriverKernel
from codegen.runtime.large_pages import new_buffer
from codegen.runtime.queue import Recorded
from codegen.runtime.results import (
    BuildFailed,
    GroupTooLarge,
    GuardViolated,
    PoisonFound,
    RunFailed,
)
from codegen.runtime.timings import KernelTime, Timing
from ir.errors import UserError

__all__ = [
    "Broken",
    "BuildFailed",
    "Device",
    "GuardViolated",
    "KernelTime",
    "PoisonFound",
    "Program",
    "RunFailed",
    "Session",
    "Timing",
    "choose",
    "devices",
    "open_device",
]


# Devices

_registered: set[str] = set()


def _handles(libraries: Iterable[str]) -> list[cl.Device]:
    """The devices of these runtimes. The OpenCL loader looks for runtimes only once in a process,
    so later calls find those of the first call."""
    if not _registered:
        _registered.update(libraries)
        shelf = cache_folder() / "vendors"
        with platforms.registered(sorted(_registered), shelf), contextlib.suppress(cl.Error):
            cl.get_platforms()
    try:
        return [device for platform in cl.get_platforms() for device in _devices_of(platform)]
    except cl.Error:  # the loader found no platform at all
        return []


def _devices_of(platform: cl.Platform) -> list[cl.Device]:
    try:
        return list(platform.get_devices())
    except cl.Error:
        return []


def _facts(handle: cl.Device, ordinal: int) -> dict[str, Any]:
    """The fields of a Device that its driver knows, and its `ordinal` among devices alike."""
    name, platform, version, driver = identity(handle)
    return {
        "name": name,
        "platform": platform,
        "version": version,
        "driver": driver,
        "kind": _kind(handle.type),
        "compute_units": handle.max_compute_units,
        "max_work_group": handle.max_work_group_size,
        "max_work_item_sizes": list(handle.max_work_item_sizes),
        "local_bytes": handle.local_mem_size,
        "local_is_dedicated": handle.local_mem_type == cl.device_local_mem_type.LOCAL,
        "global_bytes": handle.global_mem_size,
        "max_alloc_bytes": handle.max_mem_alloc_size,
        "half": "cl_khr_fp16" in handle.extensions.split(),
        "simulator": "oclgrind" in platform.lower(),
        "ordinal": ordinal,
        "vector": max(1, handle.native_vector_width_float),
    }


def _kind(types: int) -> str:
    kinds = cl.device_type
    flags = [kind for kind, flag in (("gpu", kinds.GPU), ("cpu", kinds.CPU)) if types & flag]
    return flags[0] if len(flags) == 1 else "other"  # a simulator claims to be everything


TRIAL = """
kernel void trial(global const int *x, global int *y) {
  local int shared_x[8];
  int i = get_local_id(0);
  shared_x[i] = x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  y[get_global_id(0)] = 2 * shared_x[7 - i] + 1;
}
"""


def try_devices(library: str, skip: int) -> None:
    """Run a small kernel on each device of the runtime `library` but the first `skip`, and print
    what was found of each as a JSON object on one line."""
    platforms.preload(library)
    refused = platforms.loading_error(library)
    handles = [] if refused else _handles([library])
    if not handles:
        _say(broken=refused or "it offers no device", name="every device", platform=None)
    seen: list[tuple[str, ...]] = []
    for number, handle in enumerate(handles):
        about = identity(handle)
        seen.append(about)
        if number >= skip:
            _say(trying=about[0], platform=about[1])
            _try_device(handle, _facts(handle, seen.count(about) - 1))


def _say(**line: object) -> None:
    print(f"\n{json.dumps(line)}", flush=True)


def _try_device(handle: cl.Device, facts: dict[str, Any]) -> None:
    try:
        wrong = _trial_error(Session(replace(_BLANK, **facts), handle, cached=False))
    except (BuildFailed, RunFailed) as error:
        wrong = str(error)
    except cl.Error as error:
        wrong = f"no context: {error}"
    if wrong is None:
        _say(**facts)
    else:
        _say(broken=wrong.strip()[:600], name=facts["name"], platform=facts["platform"])


def first_cpu(library: str) -> "Session":
    """A session on the first CPU of the runtime `library`, which keeps nothing on disk."""
    platforms.preload(library)
    handle = next(found for found in _handles([library]) if _kind(found.type) == "cpu")
    return Session(replace(_BLANK, **_facts(handle, 0)), handle, cached=False)


_BLANK = Device(-1, "", "", "", "", "", 0, 0, (), 0, False, 0, 0, False, False, "", 0)


def _trial_error(session: "Session") -> str | None:
    shape = (64,)
    x = Buffer("x", "int", shape, 256, Role.INPUT)
    y = Buffer("y", "int", shape, 256, Role.OUTPUT)
    launch = Kernel("trial", (64, 1, 1), (8, 1, 1), ("x", "y"), prepack=False, text=TRIAL)
    data = np.arange(64, dtype=np.int32)
    out = session.build(Plan((launch,), (x, y), 512, 0))({"x": data})
    expected = 2 * data.reshape(8, 8)[:, ::-1].reshape(-1) + 1
    return None if np.array_equal(out, expected) else "a small kernel computed a wrong result"


def open_device(device: Device, cached: bool = True) -> "Session":
    """A session on a device that `devices()` listed; `cached` keeps what it builds on disk."""
    wanted = (device.name, device.platform, device.version, device.driver)
    handles = _handles({device.library} | known_libraries())
    same = [handle for handle in handles if identity(handle) == wanted]
    if device.ordinal >= len(same):
        raise UserError(
            f"device '{device.name}' ({device.platform}) is not here any more: `explore devices` "
            "lists those that are"
        )
    with _driver("opening the device"):
        return Session(device, same[device.ordinal], cached)


@lru_cache(maxsize=8)
def session_of(device: Device) -> "Session":
    """The session on a device that this process shares, so that its programs can take arrays which
    others made there; it is opened when it is first asked for."""
    return open_device(device)


class _driver:
    """A context for calls of the driver: its errors become a RunFailed whose message begins with
    `doing`. It is a class because a generator would cost measurable time where arrays are small."""

    __slots__ = ("doing",)

    def __init__(self, doing: str) -> None:
        self.doing = doing

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, cl.Error):
            raise RunFailed(f"{self.doing}: {error}") from error


# Sessions


@lru_cache(maxsize=1)
def _loader() -> Any:
    """The C interface of the loader that pyopencl uses."""
    return loader(cl._cl.__file__)


class Session:
    """A device opened. `context` and `queue` are pyopencl's own, for callers who have buffers of
    their own.

    `queue` is not profiled: on NVIDIA's driver that halves what a launch takes. Kernels whose
    device times are asked for run on a second queue, and are waited for before anything else is
    done.
    """

    def __init__(self, device: Device, handle: cl.Device, cached: bool = True) -> None:
        self.device = device
        self.handle = handle
        self.context = cl.Context([handle])
        profiling = cl.command_queue_properties.PROFILING_ENABLE
        self.queue = cl.CommandQueue(self.context)
        self._profiled = cl.CommandQueue(self.context, properties=profiling)
        self.alignment = max(handle.mem_base_addr_align // 8, 64)
        self.compiler = DriverCompiler(cl, device, handle, self.context, cached)

    def build(
        self, plan: Plan, options: str = "", checking: bool = False, together: bool = False
    ) -> "Program":
        """The plan compiled with the compiler's `options`, or fetched from the cache; with
        `checking`, its runs poison and guard its buffers.

        With `together`, all kernels are compiled as one text, as exports have them: a driver needs
        less memory for it than for many programs. What its compiler freed is given back, too.
        """
        arrays.outputs(plan)
        if plan.uses_half and not self.device.half:
            missing = f"{self.device.name} has no half precision (cl_khr_fp16)"
            raise UserError(f"{missing}: use float, or another device")
        self._refuse_too_large(plan)
        whole = plan.source if together else None
        texts = [k.source if whole is None else whole for k in plan.kernels]
        compiled = [self.compiler.program(text, options, checking) for text in texts]
        kernels = [self._kernel(c, k) for c, k in zip(compiled, plan.kernels, strict=True)]
        program = Program(self, plan, kernels, checking, self.compiler.code_bytes(set(compiled)))
        if together:
            give_back_freed()
        return program

    def _refuse_too_large(self, plan: Plan) -> None:
        """Raise a UserError for a plan that takes more memory than the device has or gives at
        once."""
        name, has, gives = self.device.name, self.device.global_bytes, self.device.max_alloc_bytes
        if plan.memory_bytes > has:
            raise UserError(
                f"the plan needs {plan.memory_bytes:,} bytes of memory, {name} has {has:,}: take "
                "a variant that needs less"
            )
        for buffer in plan.buffers:
            if buffer.bytes > gives:
                raise UserError(
                    f"'{buffer.name}' takes {buffer.bytes:,} bytes, "
                    f"{name} gives at most {gives:,} at once"
                )

    def _kernel(self, compiled: cl.Program, launch: Kernel) -> DriverKernel:
        try:
            kernel = DriverKernel(_loader(), compiled, launch.name)
            limit = self._most_items(kernel, launch)
        except RunFailed as error:
            raise BuildFailed(str(error)) from error
        if kernel.num_args != len(launch.arguments):
            raise ValueError(
                f"kernel '{launch.name}': expected the plan's {len(launch.arguments)} arguments, "
                f"found {kernel.num_args} in its text"
            )
        if prod(launch.local_size) > limit:
            raise GroupTooLarge(
                f"kernel '{launch.name}' wants work-groups of {prod(launch.local_size)} "
                f"work-items; this device can run it with at most {limit}"
            )
        return kernel

    def _most_items(self, kernel: DriverKernel, launch: Kernel) -> int:
        """The most work-items that a group of a kernel can have on this device. If the kernel was
        compiled for groups of the size of its launch, that size is trusted: NVIDIA's driver says
        256 of each kernel that was compiled for larger groups."""
        if kernel.required_group(self.handle.int_ptr) == tuple(launch.local_size):
            return prod(launch.local_size)
        return kernel.most_items(self.handle.int_ptr)

    # Memory and launches, as a Program needs them; what the driver refuses is a RunFailed.

    def allocate(self, size: int) -> cl.Buffer:
        with _driver(f"allocating {size} bytes"):
            return new_buffer(cl, self._profiled, size)  # which is empty: nothing is waited for

    def copies(self, arrays: Mapping[str, Array], count: int = 1) -> list[Mapping[str, cl.Buffer]]:
        """A list of `count` sets of buffers, each with a copy of every array."""
        found: list[Mapping[str, cl.Buffer]]
        found = [{n: self.allocate(a.nbytes) for n, a in arrays.items()} for _ in range(count)]
        for buffers in found:
            for name, array in arrays.items():
                self.write(buffers[name], array)
        return found

    def part(self, buffer: cl.Buffer, start: int, size: int) -> cl.Buffer:
        with _driver("dividing a buffer"):
            return buffer.get_sub_region(start, size)

    def fill(self, buffer: cl.Buffer, pattern: Array, start: int, size: int) -> None:
        with _driver("filling a buffer"):
            cl.enqueue_fill_buffer(self.queue, buffer, pattern, start, size).wait()

    def write(self, buffer: cl.Buffer, array: Array) -> None:
        with _driver("copying to the device"):
            cl.enqueue_copy(self.queue, buffer, array)

    def read(self, array: Array, buffer: cl.Buffer, start: int = 0) -> None:
        with _driver("copying from the device"):
            cl.enqueue_copy(self.queue, array, buffer, src_offset=start)

    def enqueue(
        self, kernel: DriverKernel, launch: Kernel, buffers: Sequence[cl.Buffer]
    ) -> cl.Event:
        kernel.set_arguments(buffers)
        queue = self._profiled.int_ptr
        event = kernel.enqueue(queue, launch.global_size, launch.local_size)
        return cl.Event.from_int_ptr(event, retain=False)

    def record(
        self, launches: Sequence[tuple[DriverKernel, Kernel, Sequence[cl.Buffer]]]
    ) -> Recorded:
        kernels = [kernel.again() for kernel, _, _ in launches]
        for kernel, (_, _, buffers) in zip(kernels, launches, strict=True):
            kernel.set_arguments(buffers)
        calls = (
            launch_call(
                _loader(), self.queue.int_ptr, kernel.address, made.global_size, made.local_size
            )
            for kernel, (_, made, _) in zip(kernels, launches, strict=True)
        )
        return Recorded(tuple(calls), (kernels,))

    def finish(self) -> None:
        with _driver("waiting for the device"):
            self.queue.finish()

    def device_ns(self, events: Sequence[cl.Event]) -> list[int]:
        """The nanoseconds that each command took on the device, after waiting for them all."""
        with _driver("waiting for the device"):
            for event in events:
                event.wait()
            return [event.profile.end - event.profile.start for event in events]
