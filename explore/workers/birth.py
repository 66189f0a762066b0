"""The request for a worker that a process sends to its nursery, and how numbers are written on
their pipe. This file imports almost nothing, so that the nursery starts quickly."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass

NUMBER = struct.Struct("q")  # how sizes, process ids and exit statuses travel


@dataclass(frozen=True, slots=True)
class Birth:
    """A request for a worker: its recipe, and what a new process would inherit from the one that
    asks for it: the path on which modules are found, the current folder, and the environment
    variables."""

    recipe: bytes
    path: tuple[str, ...]  # where modules are
    folder: str | None  # the current one
    environment: Mapping[str, str]
