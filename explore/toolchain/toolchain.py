"""A toolchain that is there: its folders, and how its programs, which are made for another
processor, are run here in an emulator."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from codegen.binaries.cache_folder import cache_folder
from explore.options.stored_fields import Damaged, loaded
from ir.core.frozen import frozen
from ir.errors import UserError

LIBRARIES = "usr/lib/aarch64-linux-gnu"
VARIABLE = "CONVLIFT_TOOLCHAIN"
TOLD, PROGRAMS = "toolchain.json", "programs"
EMULATORS = ("usr/bin/qemu-aarch64-static", "usr/bin/qemu-aarch64")
MOST = 64 << 20  # bytes of what a program says


@frozen
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


@frozen
class Said:
    """The output of a program: what it printed, with its error output in between, and its exit
    status, which is None if it runs on."""

    out: str
    status: int | None


class ToolchainFault(UserError):
    """Raised where a toolchain, or the machine under it, does not work; this tells nothing of the
    kernel that was to be compiled."""


class TookTooLong(Exception):
    """Raised where a program was ended because its time was up."""


def place() -> Path:
    """The folder of this user's toolchain: the one that the environment variable CONVLIFT_TOOLCHAIN
    names, else one in the user's cache."""
    named = os.environ.get(VARIABLE)
    return Path(named).absolute() if named else cache_folder() / "toolchain"


def installed() -> Toolchain | None:
    """The toolchain of this user; None if there is none, or if it is not whole."""
    try:
        told = loaded((place() / TOLD).read_text(encoding="utf-8"), TOLD)
        found = Toolchain(place(), told.text("identity", 64), told.text("compiler"))
    except (OSError, Damaged, ValueError):
        return None
    return found


def started(
    toolchain: Toolchain, words: Sequence[str], variables: Mapping[str, str]
) -> "subprocess.Popen[bytes]":
    """A process of a program that was started in the toolchain's emulator: `words` are the
    program's path and arguments, `variables` its environment besides PATH and HOME."""
    emulator = next((e for e in EMULATORS if (toolchain.host / e).is_file()), None)
    if emulator is None:
        raise ToolchainFault(f"{toolchain.folder} has no emulator")
    given = [str(toolchain.host / emulator), "-L", str(toolchain.root), *words]
    try:
        return subprocess.Popen(
            given,
            cwd=toolchain.folder,
            env={"PATH": os.defpath, "HOME": str(toolchain.folder), **variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,  # what belongs together comes in both
        )
    except OSError as error:
        raise ToolchainFault(f"the toolchain's emulator does not start: {error}") from error


def emulated(
    toolchain: Toolchain,
    words: Sequence[str],
    limit_s: float,
    variables: Mapping[str, str] | None = None,
    given_in: str = "",
) -> Said:
    """The output of a program that is run in the toolchain's emulator: `words` are its path and
    arguments, `variables` its environment besides PATH and HOME, `given_in` its standard input.
    TookTooLong if it does not end in `limit_s` seconds."""
    with started(toolchain, words, variables or {}) as process:
        try:
            out, _ = process.communicate(given_in.encode(), limit_s)
        except subprocess.TimeoutExpired:
            process.kill()
            raise TookTooLong(f"took longer than {limit_s:g} s") from None
    return Said(out[:MOST].decode(errors="replace"), process.returncode)
