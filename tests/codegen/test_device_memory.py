"""Tests of the buffers of a plan: in which order parts of the arena are given back."""

import weakref
from typing import Any

import pytest

from codegen.plan import Buffer, Plan, Role
from codegen.runtime.device_memory import DeviceMemory

NAMES = ("whole", "left", "right", "last")
PLACES = ((0, 4096), (0, 1024), (1024, 1024), (2048, 2048))


class Memory:
    """A buffer of a simulated device."""


class Queue:
    """A simulated queue that notes which parts of buffers were given back (`gone`)."""

    alignment = 64

    def __init__(self) -> None:
        self.gone: list[int] = []

    def allocate(self, size: int) -> Memory:
        return Memory()

    def part(self, buffer: Memory, start: int, size: int) -> Memory:
        made = Memory()
        weakref.finalize(made, self.gone.append, PLACES.index((start, size)))
        return made


def memory(queue: Any) -> DeviceMemory:
    """The memory of four temporaries in an arena, the first of which overlaps the others; all are
    allocated."""
    buffers = [
        Buffer(name, "float", (size // 4,), size, Role.TEMPORARY, offset)
        for name, (offset, size) in zip(NAMES, PLACES, strict=True)
    ]
    found = DeviceMemory(queue, Plan((), tuple(buffers), 4096, 4096), guard=0, apart=False)
    for name in NAMES:
        found.view(name)
    return found


@pytest.mark.parametrize("freed", [(), ("whole",), ("last", "left")])
def test_parts_of_the_arena_are_given_back_last_made_first(freed: tuple[str, ...]) -> None:
    queue = Queue()
    held = memory(queue)
    for name in freed:
        held.free(name)
    assert queue.gone == []
    del held
    assert queue.gone == [3, 2, 1, 0]
