"""The places where the contents of an export's inputs and constants are stored: files, and
positions in them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codegen.plan import Plan, Role
from codegen.runtime.buffer_arrays import DTYPES
from ir.arena import aligned
from ir.core.frozen import frozen

INPUTS = "data/inputs"  # apart from the expected output, whatever an input is called
WEIGHTS = "data/weights.bin"  # all constants
APART = 64  # bytes: each constant begins at a multiple


@frozen
class Place:
    """The place of a buffer's contents: a file, and the number of the byte where they begin in
    it."""

    file: str
    at: int = 0


def places_of(plan: Plan) -> Mapping[str, Place]:
    """The places of a plan's inputs (a file each) and constants (one file for all), by the names of
    the buffers."""
    found, end = dict[str, Place](), 0
    for b in plan.buffers:
        if b.role is Role.INPUT:
            found[b.name] = Place(f"{INPUTS}/{b.name}.bin")
        if b.role is Role.CONST:
            found[b.name] = Place(WEIGHTS, end)
            end = aligned(end + b.bytes, APART)
    return found


def weights_bytes(plan: Plan, places: Mapping[str, Place]) -> int:
    """The bytes of the file with the constants of a plan, whose `places` in it are given."""
    constants = (b for b in plan.buffers if b.role is Role.CONST)
    return max((places[b.name].at + b.bytes for b in constants), default=0)


def with_place(said: Mapping[str, Any], places: Mapping[str, Place]) -> Mapping[str, Any]:
    """The fields `said` of a buffer in `plan.json`, with the place of the buffer's contents added,
    if it has one."""
    place = places.get(said["name"])
    return said if place is None else {**said, "file": place.file, "at": place.at}


def stored_constants(plan: Plan, file: Path) -> Iterator[tuple[str, NDArray[Any]]]:
    """The constants of a plan, each with the name of its buffer, as memory maps of their file: what
    nobody has read yet takes no memory."""
    places = places_of(plan)
    for b in plan.buffers:
        if b.role is Role.CONST:
            dtype = np.dtype(DTYPES[b.scalar])
            yield b.name, np.memmap(file, dtype, "r", places[b.name].at, b.shape)
