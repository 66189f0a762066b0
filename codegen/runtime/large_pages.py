"""Buffers on a device; those of a processor lie in large pages of memory, where whole ones fit.

A processor then looks up fewer addresses. Such a buffer lies in this process, and the system is
asked before anything is written to it. Exports hold a copy of this file, so it imports nothing of
ours.
"""

import ctypes
import sys
from typing import Any

LARGE_PAGE = 1 << 21  # bytes
MADV_HUGEPAGE = 14  # of Linux


def new_buffer(cl: Any, queue: Any, size: int) -> Any:
    """A buffer of `size` bytes for the device of a queue, which it may wait for; `cl` is the module
    pyopencl."""
    buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, size)
    if size >= LARGE_PAGE and sys.platform == "linux" and _is_processor(cl, queue.device):
        _keep_in_large_pages(cl, queue, buffer, size)
    return buffer


def _is_processor(cl: Any, device: Any) -> bool:
    """True for a CPU; a simulator claims to be a GPU as well, and is none."""
    kinds = cl.device_type
    return bool(device.type & kinds.CPU) and not device.type & kinds.GPU


def _keep_in_large_pages(cl: Any, queue: Any, buffer: Any, size: int) -> None:
    try:
        flags = cl.map_flags.WRITE_INVALIDATE_REGION
        seen, _ = cl.enqueue_map_buffer(queue, buffer, flags, 0, (size,), "uint8")
    except cl.Error:  # a driver that maps no buffers keeps them as it likes
        return
    try:
        ask_for_large_pages(*whole_pages(seen.ctypes.data, size))
    finally:
        seen.base.release(queue).wait()  # other queues may be given the buffer


def whole_pages(address: int, size: int) -> tuple[int, int]:
    """The first address, and the bytes, of the large pages that lie wholly in `size` bytes from
    `address` on."""
    start = -(-address // LARGE_PAGE) * LARGE_PAGE
    return start, max(0, (address + size - start) // LARGE_PAGE * LARGE_PAGE)


def ask_for_large_pages(start: int, size: int) -> None:
    """Ask the system to keep `size` bytes of this process from `start` on in large pages; one that
    has none leaves them as they are."""
    advise = getattr(ctypes.CDLL(None), "madvise", None)
    if advise is not None and size:
        advise(ctypes.c_void_p(start), ctypes.c_size_t(size), ctypes.c_int(MADV_HUGEPAGE))
