"""A toolchain that is there: its folders, and how its programs, which are made for another
processor, are run here in an emulator."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from codegen.runtime.binary_cache import folder as cache_folder
from explore.options.stored_fields import Damaged, loaded
from ir.errors import UserError

LIBRARIES = "usr/lib/aarch64-linux-gnu"
VARIABLE = "CONVLIFT_TOOLCHAIN"
TOLD, PROGRAM = "toolchain.json", "ask_compiler"
EMULATORS = ("usr/bin/qemu-aarch64-static", "usr/bin/qemu-aarch64")
MOST = 64 << 20  # bytes of what a program says


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A toolchain in a folder, with words that name its compiler. Two toolchains with the same
    `identity` compile a text alike."""

    folder: Path
    identity: str
    compiler: str  # its name and version

    @property
    def root(self) -> Path:
        """The folder that programs in the emulator see as the root of the file system."""
        return self.folder / "root"

    @property
    def host(self) -> Path:
        """The folder of programs that run on this machine itself, such as the emulator."""
        return self.folder / "host"

    @property
    def program(self) -> Path:
        """The program, run in the emulator, that has a kernel's text compiled."""
        return self.folder / PROGRAM


@dataclass(frozen=True, slots=True)
class Said:
    """The output of a program that ended by itself: what it printed, with its error output in
    between, and its exit status."""

    out: str
    status: int


class TookTooLong(Exception):
    """Raised where a program was ended because its time was up."""


def place() -> Path:
    """The folder of this user's toolchain: the one that the environment variable CONVLIFT_TOOLCHAIN
    names, else one in the user's cache."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else cache_folder() / "toolchain"


def installed() -> Toolchain | None:
    """The toolchain of this user; None if there is none, or if it is not whole."""
    try:
        told = loaded((place() / TOLD).read_text(encoding="utf-8"), TOLD)
        found = Toolchain(place(), told.text("identity", 64), told.text("compiler"))
    except (OSError, Damaged, ValueError):
        return None
    return found if found.program.is_file() else None


def emulated(
    toolchain: Toolchain,
    words: Sequence[str],
    limit_s: float,
    variables: Mapping[str, str] | None = None,
) -> Said:
    """The output of a program that is run in the toolchain's emulator: `words` are its path and
    arguments, `variables` its environment besides PATH and HOME. TookTooLong if it does not end in
    `limit_s` seconds."""
    emulator = next((e for e in EMULATORS if (toolchain.host / e).is_file()), None)
    if emulator is None:
        raise UserError(f"{toolchain.folder} has no emulator: install the toolchain again")
    given = [str(toolchain.host / emulator), "-L", str(toolchain.root), *words]
    environment = {"PATH": os.defpath, "HOME": str(toolchain.folder), **(variables or {})}
    with subprocess.Popen(
        given,
        cwd=toolchain.folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,  # what belongs together comes in both
    ) as process:
        try:
            out, _ = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            process.kill()
            raise TookTooLong(f"took longer than {limit_s:g} s") from None
    return Said(out[:MOST].decode(errors="replace"), process.returncode)
