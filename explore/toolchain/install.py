"""The toolchain in the user's cache: fetched, unpacked, and removed.

One folder serves Mali and Adreno: both compilers are in one library of Mesa's. It is made beside
its place and put there when it has compiled a kernel; a toolchain that was there stays until then.
"""

import hashlib
import json
import os
import platform
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from explore.files.made_beside import made_beside, put, take_away
from explore.files.whole_files import write_whole
from explore.options.units import show_bytes
from explore.toolchain.compile_kernel import LIMIT, WARM, warm_up
from explore.toolchain.deb_file import unpack
from explore.toolchain.private_apt import PackageFile, PrivateApt
from explore.toolchain.toolchain import (
    LIBRARIES,
    PROGRAMS,
    TOLD,
    VARIABLE,
    Toolchain,
    ToolchainFault,
    place,
)
from ir.errors import UserError
from ir.text.counted import counted

RELEASE = "trixie"
GUEST, HOST = "arm64", "amd64"
# Mesa's drivers with their compilers, the library that plays a device, OpenCL's loader, and what
# makes our program for that machine; then the emulator that runs it here.
PACKAGES = (
    "mesa-opencl-icd",
    "mesa-drm-shim",
    "ocl-icd-libopencl1",
    "opencl-c-headers",
    "tcc",
    "libc6-dev",
    f"qemu-user:{HOST}",
)
NOT_OF_HOST = re.compile(r"(?!usr/bin/qemu-aarch64$)")
NOT_OF_GUEST = re.compile(
    r"usr/share/(doc|man|info|lintian|bug|locale)/|usr/lib/clc/(?!spirv)|.*/gallium-pipe/"
)
SUMS = "SHA256SUMS"
UNPACKED = 2.5  # about: bytes that are kept of a byte of packages
LISTED = re.compile(r"([0-9a-f]{64}) [ *]([^/\0]+\.deb)")
OURS = ("host", "root", PROGRAMS, WARM, TOLD, "nothing.cl")  # in the folder of a toolchain
TRIED = ("mali-g72", "adreno-630")  # a device of each driver
VERSION = re.compile(r"mesa-opencl-icd_([^_]+)_")

Say = Callable[[str], None]


def install(source: Path | None, say: Say) -> Toolchain:
    """The toolchain, made anew: its packages come from the machine's mirror, or from the folder
    `source` that `fetch` made elsewhere. If it cannot be made, the one that was there stays."""
    _demand_host()
    _demand_ours(place())
    with made_beside(place()) as fresh:
        folder = fetch(fresh.with_name("packages"), say) if source is None else source
        packages = checked(folder)
        _demand_whole(packages, folder)
        size = sum(p.stat().st_size for p in packages)
        say(f"unpacking {counted(len(packages), 'package')} ({show_bytes(size)}) in {place()}")
        made = _made(packages, _identity(folder), fresh, say)
        _demand_ours(place())  # it took a while
        put(made.folder, place())
    return replace(made, folder=place())


def fetch(folder: Path, say: Say) -> Path:
    """The folder, filled with the toolchain's packages and their checksums."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder} is no folder for packages: {error.strerror}") from error
    with tempfile.TemporaryDirectory(prefix="convlift-apt-") as scratch:
        apt = PrivateApt(Path(scratch), RELEASE, (GUEST, HOST))
        apt.update()
        needed = apt.files(PACKAGES)
        size = sum(p.bytes for p in needed)
        say(
            f"{counted(len(needed), 'package')} of Debian {RELEASE}: {show_bytes(size)} to fetch, "
            f"about {show_bytes(int(UNPACKED * size))} unpacked"
        )
        archives = apt.download(PACKAGES)
        sums = [f"{_sha256(file)}  {file.name}\n" for file in _downloaded(archives, needed)]
        try:
            for line in sums:
                name = line.split()[1]
                shutil.copyfile(archives / name, folder / name)
            write_whole(folder / SUMS, "".join(sums))
        except OSError as error:
            raise UserError(f"{folder} cannot be written: {error.strerror}") from error
    return folder


def _downloaded(archives: Path, needed: list[PackageFile]) -> Iterator[Path]:
    """The packages in the folder `archives`; a UserError if the length of one is not among those
    that the index tells for the packages `needed`."""
    lengths = {p.bytes for p in needed}
    for file in sorted(archives.glob("*.deb")):
        if file.stat().st_size not in lengths:
            raise UserError(
                f"{file.name} has {file.stat().st_size:,} bytes: expected the length that "
                "Debian's index tells; install again to download it anew"
            )
        yield file


def checked(folder: Path) -> list[Path]:
    """The packages in a folder, which must be as its list of checksums says."""
    try:
        lines = (folder / SUMS).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise UserError(f"{folder} holds no toolchain: it has no {SUMS} to be read") from error
    found = []
    for line in lines:
        if not (listed := LISTED.fullmatch(line)):
            raise UserError(
                f"{folder / SUMS}: expected a checksum and the name of a package, "
                f"found {line!a:.90}"
            )
        digest, file = listed[1], folder / listed[2]
        if not file.is_file() or _sha256(file) != digest:
            raise UserError(f"{file} is missing, or its checksum is not the one in {SUMS}")
        found.append(file)
    return found


def _demand_whole(packages: list[Path], folder: Path) -> None:
    """Raise a UserError unless all that a toolchain begins with are among a folder's packages."""
    there = {p.name.partition("_")[0] for p in packages}
    if missing := [name for p in PACKAGES if (name := p.partition(":")[0]) not in there]:
        found = counted(len(packages), "other package") if packages else "an empty list"
        raise UserError(
            f"{folder} holds no whole toolchain: expected {', '.join(missing)} in its {SUMS}, "
            f"found {found}; `explore toolchain mali --save FOLDER` fetches all"
        )


def remove() -> bool:
    """Remove the toolchain; True if there was one. A UserError if the folder in its place holds
    something else, which stays."""
    _demand_ours(place())
    if not place().resolve().parent.is_dir():
        return False
    with made_beside(place()) as fresh:
        return take_away(fresh, place()).exists()


def _demand_ours(folder: Path) -> None:
    """Raise a UserError if there is something at the path `folder` that is no toolchain, or that
    cannot be replaced by one."""
    if os.path.ismount(folder):
        raise UserError(f"{folder} is a file system: expected a folder in it, named by {VARIABLE}")
    if os.path.exists(folder) and not _is_ours(folder):
        raise UserError(
            f"{folder} is no toolchain, so it stays: expected an empty folder, one that does not "
            f"exist, or a toolchain; name another one by {VARIABLE}"
        )


def _is_ours(folder: Path) -> bool:
    """True if a folder is empty, or holds a toolchain or a part of one."""
    parts = (folder / TOLD, folder / "root" / LIBRARIES, folder / "host" / "usr")
    try:
        names = {p.name for p in folder.iterdir()}
    except OSError:
        return False
    return not names or any(p.exists() for p in parts) or {PROGRAMS} <= names <= {*OURS}


def _made(packages: list[Path], identity: str, folder: Path, say: Say) -> Toolchain:
    """The toolchain that these packages are unpacked to, in a folder; it has compiled our own
    program and a kernel, which shows that it works. `identity` is the toolchain's name, and `say`
    prints messages."""
    named = next((m[1] for p in packages if (m := VERSION.match(p.name))), "of unknown version")
    made = Toolchain(folder, identity, f"Mesa {named.split('%')[0].split('-')[0]}")
    for package in packages:
        if package.name.endswith(f"_{HOST}.deb"):
            unpack(package, made.host, NOT_OF_HOST)
        else:
            unpack(package, made.root, NOT_OF_GUEST)
    if not (made.root / "lib").exists():
        (made.root / "lib").symlink_to("usr/lib")
    say("trying it")
    for profile in TRIED:
        _demand_working(made, profile)
    told = {"identity": made.identity, "compiler": made.compiler}
    write_whole(made.folder / TOLD, json.dumps(told, indent=1) + "\n")
    return made


def _demand_working(made: Toolchain, profile: str) -> None:
    """Raise a UserError unless a toolchain that was just made compiles OpenCL's own functions for
    the device with this profile; what it makes of them is kept."""
    try:
        why = warm_up(made, profile, LIMIT)
    except (ToolchainFault, OSError) as error:
        why = str(error)
    if why:
        raise UserError(
            f"these packages make no toolchain that works for {profile}: {why}; all that they need "
            "must be among them: `explore toolchain mali --save FOLDER` fetches it"
        )


def _demand_host() -> None:
    machine = platform.machine()
    if platform.system() != "Linux" or machine != "x86_64":
        raise UserError(
            "expected Linux on x86-64, on which the toolchain runs; "
            f"found {platform.system()} on {machine}"
        )


def _identity(folder: Path) -> str:
    """The name of a toolchain made from a folder's packages: a hash of the list of their checksums,
    so that toolchains with one name compile a text alike."""
    return hashlib.sha256((folder / SUMS).read_bytes()).hexdigest()


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
