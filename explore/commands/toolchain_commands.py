"""The command `explore toolchain`, and what `explore devices` says of devices that are not here."""

import argparse

from explore.options.units import show_bytes
from explore.toolchain.install import fetch, install, remove
from explore.toolchain.offline_devices import DEVICES
from explore.toolchain.toolchain import installed, place


def toolchain(given: argparse.Namespace) -> int:
    """Run `explore toolchain NAME`: fetch and unpack compilers, or remove them; returns the exit
    status."""
    if given.remove:
        print(f"{place()} is removed" if remove() else f"{place()} was not there")
        return 0
    if given.save is not None:
        fetch(given.save, _say)
        print(f"written to {given.save}; elsewhere: explore toolchain {given.name} --from FOLDER")
        return 0
    made = install(given.source, _say)
    size = sum(f.lstat().st_size for f in made.folder.rglob("*") if not f.is_dir())
    print(f"{made.compiler} in {made.folder}, {show_bytes(size)}")
    print(compiled_for())
    return 0


def compiled_for() -> str:
    """The line that tells which devices that are not here can be compiled for."""
    found, names = installed(), ", ".join(DEVICES)
    if found is None:
        return f"not here, and compiled for after `explore toolchain mali`: {names}"
    return f"not here, but compiled for by {found.compiler}: {names}"


def _say(line: str) -> None:
    print(line, flush=True)
