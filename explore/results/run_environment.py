"""The environment that a run depends on, stored with its results and compared before it is
resumed."""

import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, field
from pathlib import Path
from typing import Any

from explore.results.records import Bounds
from ir.core.frozen import frozen
from ir.text.rebind_sizes import rebound

OWN, NO, NAMED = BOOKS = ("own", "none", "file")  # the record books that a run may use


@frozen
class Environment:
    """The environment of a run: program, device, driver, version, and `options` as JSON values.
    `numbers` are those of the device's profile, `reference` is the hash of the file with the right
    results (None: not computed yet), `begins` names the variants that a board had run before, and
    `records` says which record book the run uses: the user's own, none, or a file that was
    named."""

    program: str  # its text, as it was written
    name: str  # of the program
    device: str
    driver: str  # its version
    version: str  # of convlift, with a hash of its sources
    platform: str = ""  # the OpenCL runtime: two may call one processor by the same name
    seed: int = 0
    variants: int = 1000
    options: Mapping[str, Any] = field(default_factory=dict)
    bounds: Bounds = field(default_factory=Bounds)
    machine: Mapping[str, str] = field(
        default_factory=dict
    )  # host, OS, Python: for the record only
    started_unix_s: float = 0.0
    numbers: Mapping[str, Sequence[int]] = field(default_factory=dict)  # of the device's profile
    reference: str | None = None  # sha256 of the file with what is right, once it is computed
    # Variants whose outcomes a board brought back: the search goes on from them.
    begins: tuple[str, ...] = ()
    records: str = OWN

    @property
    def where(self) -> str:
        """The device's name, with its platform, since other runtimes may have a device of that
        name."""
        return f"{self.device} ({self.platform})" if self.platform else self.device

    @property
    def program_run(self) -> str:
        """The text of the program with the sizes that were used."""
        sizes = self.options.get("sizes")
        return rebound(self.program, sizes) if sizes else self.program

    @property
    def program_hash(self) -> str:
        """The sha256 of the program's text with the sizes that were used."""
        return hashlib.sha256(self.program_run.encode()).hexdigest()

    def resumed_by(self, folder: Path) -> str:
        """The command that goes on with this environment's run, whose folder is `folder`."""
        book = " --records FILE" if self.records == NAMED else ""
        return f"explore resume {shlex.quote(str(folder))}{book}"

    def dump(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)


def why_not_comparable(stored: Environment, now: Environment) -> str | None:
    """The reason why times measured under `now` may not join those under `stored`; None if they
    may."""
    for what, before, here in (
        ("program", stored.program_hash[:12], now.program_hash[:12]),
        ("device", stored.device, now.device),
        ("platform", stored.platform, now.platform),
        ("driver", stored.driver, now.driver),
        ("convlift", stored.version, now.version),
    ):
        if before != here:
            return f"it was made with {what} {before!r}, here is {what} {here!r}"
    return None
