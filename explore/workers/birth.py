"""The request for a worker, and how numbers travel, between a process and its nursery. Next to
nothing is loaded for it."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass

NUMBER = struct.Struct("q")  # how sizes, process ids and exit statuses travel


@dataclass(frozen=True, slots=True)
class Birth:
    """A request for a worker: its recipe, and what a process inherits from who starts it."""

    recipe: bytes
    path: tuple[str, ...]  # where modules are
    folder: str | None  # the current one
    environment: Mapping[str, str]
