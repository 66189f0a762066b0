"""Tests of buffers in large pages: the advice reaches the system for a processor's large buffers,
and for no others."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

from codegen.runtime.devices import Device, devices
from codegen.runtime.large_pages import LARGE_PAGE, new_buffer, whole_pages
from codegen.runtime.session import Session, open_device

CPU, GPU = 2, 4  # as in OpenCL
SETTING = Path("/sys/kernel/mm/transparent_hugepage/enabled")
MAPS = Path("/proc/self/smaps")


def advised_bytes(start: int, end: int) -> int:
    """The bytes from `start` to `end` that the system was asked to keep in large pages."""
    found, inside = 0, range(0)
    for line in MAPS.read_text().splitlines():
        first, *words = line.split()
        if "-" in first and ":" not in first:
            low, high = (int(word, 16) for word in first.split("-"))
            inside = range(max(start, low), min(end, high))
        elif first == "VmFlags:" and "hg" in words:
            found += len(inside)
    return found


@contextmanager
def mapped(queue: Any, buffer: Any) -> Iterator[Any]:
    """The bytes of a buffer, as this process sees them."""
    seen, _ = cl.enqueue_map_buffer(queue, buffer, cl.map_flags.READ, 0, (buffer.size,), "uint8")
    yield seen
    seen.base.release(queue)


def processors() -> list[Device]:
    if sys.platform != "linux" or not SETTING.exists() or "[never]" in SETTING.read_text():
        pytest.skip("this system keeps no memory in large pages")
    found = [d for d in devices() if isinstance(d, Device) and d.kind == "cpu"]
    return found or pytest.skip("no processor works here as a device")


def test_a_large_buffer_of_a_processor_lies_in_large_pages() -> None:
    for device in processors():
        session = open_device(device)
        buffer = session.allocate(16 << 20)
        array = np.arange(4 << 20, dtype=np.int32)
        session.write(buffer, array)
        with mapped(session.queue, buffer) as seen:
            start, size = whole_pages(seen.ctypes.data, buffer.size)
            assert size >= buffer.size - 2 * LARGE_PAGE
            assert advised_bytes(start, start + size) == size
        again = np.empty_like(array)
        session.read(again, buffer)
        assert np.array_equal(again, array)


def test_a_large_buffer_does_not_wait_for_what_is_enqueued(session: Session) -> None:
    held = cl.UserEvent(session.context)
    behind = cl.enqueue_marker(session.queue, wait_for=[held])
    done = cl.command_execution_status.COMPLETE
    given_up = Timer(20, held.set_status, [done])
    given_up.start()
    session.allocate(4 << 20)
    waited = behind.command_execution_status == done
    given_up.cancel()
    if not waited:
        held.set_status(done)
    session.finish()
    assert not waited


@pytest.mark.parametrize(
    ("address", "size", "first", "pages"),
    [
        (0, LARGE_PAGE, 0, 1),
        (64, LARGE_PAGE, LARGE_PAGE, 0),
        (64, 2 * LARGE_PAGE, LARGE_PAGE, 1),
        (3 * LARGE_PAGE - 64, 2 * LARGE_PAGE + 63, 3 * LARGE_PAGE, 1),
        (3 * LARGE_PAGE - 64, 2 * LARGE_PAGE + 64, 3 * LARGE_PAGE, 2),
        (LARGE_PAGE + 1, 5, 2 * LARGE_PAGE, 0),
    ],
)
def test_only_pages_that_lie_wholly_in_a_buffer_are_asked_for(
    address: int, size: int, first: int, pages: int
) -> None:
    assert whole_pages(address, size) == (first, pages * LARGE_PAGE)


class Refused(Exception):
    """An error of the simulated driver."""


class Driver:
    """A simulated pyopencl that notes in `mapped` and `released` which buffers were mapped."""

    Error = Refused
    mem_flags = SimpleNamespace(READ_WRITE=1)
    map_flags = SimpleNamespace(WRITE_INVALIDATE_REGION=4)
    device_type = SimpleNamespace(CPU=CPU, GPU=GPU)

    def __init__(self, maps: bool = True) -> None:
        self.maps = maps
        self.mapped: list[object] = []
        self.released: list[object] = []

    def Buffer(self, context: object, flags: int, size: int) -> object:
        return SimpleNamespace(size=size)

    def enqueue_map_buffer(self, queue: object, buffer: object, *how: object) -> object:
        if not self.maps:
            raise Refused
        self.mapped.append(buffer)
        event = SimpleNamespace(wait=lambda: self.released.append(buffer))
        base = SimpleNamespace(release=lambda queue: event)
        return SimpleNamespace(ctypes=SimpleNamespace(data=64), base=base), None


def queue_of(types: int) -> object:
    return SimpleNamespace(context=None, device=SimpleNamespace(type=types))


@pytest.mark.parametrize(
    ("types", "size"),
    [(CPU, LARGE_PAGE - 1), (GPU, 1 << 30), (8, 1 << 30), (CPU | GPU, 1 << 30)],
)
def test_small_buffers_and_those_of_other_devices_are_not_mapped(types: int, size: int) -> None:
    driver = Driver()
    assert new_buffer(driver, queue_of(types), size).size == size
    assert driver.mapped == []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux is asked")
def test_what_is_mapped_is_released() -> None:
    driver = Driver()
    made = new_buffer(driver, queue_of(CPU), LARGE_PAGE)
    assert driver.mapped == driver.released == [made]


def test_a_driver_that_maps_no_buffers_keeps_them_as_they_are() -> None:
    assert new_buffer(Driver(maps=False), queue_of(CPU), LARGE_PAGE).size == LARGE_PAGE
