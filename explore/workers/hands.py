"""The hands of a run: who builds its variants, and who measures them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from codegen.runtime.devices import Device
from constraints.devices import Profile
from explore.options.options import Options
from explore.workers.workers import Workers
from ir.core.nodes import Program


class Hands(Protocol):
    """The hands of a run: who builds its variants and who measures them, on this machine or
    elsewhere."""

    def builders(self, options: Options, device: Device | None, profile: Profile) -> Workers:
        """The workers that derive forms and build variants for a device, or, if it is None, for a
        profile."""

    def meters(self, file: Path, program: Program, options: Options, device: Device) -> Workers:
        """The workers that run variants on devices of this kind, each worker on a device of its
        own; `file` holds the right results."""

    def instructions(self, device: Device) -> tuple[str, ...]:
        """The names of the instructions that a device really has, found by running each there."""

    def limits(self, device: Device) -> Mapping[str, float | None]:
        """The limits of a device by their names in `Bounds`, measured; None for what could not be
        measured."""
