"""Hands that the runs of a network's layers share, one after the other: what a device can do is
measured once, and processes that build stay."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from codegen.runtime.devices import Device
from constraints.devices import Profile
from explore.options.options import Options
from explore.workers.done import Done
from explore.workers.hands import Hands
from explore.workers.workers import Workers
from ir.core.nodes import Program

Setup = tuple[int, Device | None, Profile]


@dataclass(slots=True)
class SharedHands:
    """The hands that several runs on one device share. The limits and instructions of a device are
    kept once they are found, and so are workers that build, by the arguments for which they were
    begun. It is a context: at its end, these workers' processes end."""

    hands: Hands
    known_limits: dict[str, Mapping[str, float | None]] = field(default_factory=dict)
    known_instructions: dict[str, tuple[str, ...]] = field(default_factory=dict)
    building: "dict[Setup, Workers]" = field(default_factory=dict)

    def __enter__(self) -> "SharedHands":
        return self

    def __exit__(self, *error: object) -> None:
        for workers in self.building.values():
            workers.close()
        self.building.clear()

    def builders(self, options: Options, device: Device | None, profile: Profile) -> Workers:
        """The workers that build; the same workers whenever the arguments are equal."""
        key = options.workers, device, profile
        if key not in self.building:
            self.building[key] = self.hands.builders(options, device, profile)
        return _Lent(self, key)

    def meters(self, file: Path, program: Program, options: Options, device: Device) -> Workers:
        """The worker that runs variants on the device, a new one for each program."""
        return self.hands.meters(file, program, options, device)

    def instructions(self, device: Device) -> tuple[str, ...]:
        """The names of the instructions that the device really has, found once."""
        key = repr(device)
        if key not in self.known_instructions:
            self.known_instructions[key] = self.hands.instructions(device)
        return self.known_instructions[key]

    def limits(self, device: Device) -> Mapping[str, float | None]:
        """The limits of the device by their names in `Bounds`, measured once; None for what could
        not be measured."""
        key = repr(device)
        if key not in self.known_limits:
            self.known_limits[key] = self.hands.limits(device)
        return self.known_limits[key]


@dataclass(slots=True)
class _Lent:
    """The workers that `owner` has under `key`, as one run sees them: closing them ends their
    processes only if these are busy."""

    owner: SharedHands
    key: Setup

    @property
    def _workers(self) -> Workers:
        return self.owner.building[self.key]

    @property
    def pending(self) -> int:
        return self._workers.pending

    @property
    def free(self) -> int:
        return self._workers.free

    def submit(self, task: Any, timeout: float | None = None) -> None:
        self._workers.submit(task, timeout)

    def results(self, timeout: float | None = None) -> list[Done[Any, Any]]:
        return self._workers.results(timeout)

    def step(self) -> None:
        self._workers.step()

    def finished(self) -> list[Done[Any, Any]]:
        return self._workers.finished()

    def connections(self) -> "list[Connection[Any, Any]]":
        return self._workers.connections()

    def close(self) -> None:
        with suppress(KeyError):
            if self._workers.pending:  # what they are doing nobody wants any more
                self.owner.building.pop(self.key).close()

    def __enter__(self) -> "_Lent":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
