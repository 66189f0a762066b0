"""The toolchain in the user's cache: fetched, unpacked, and removed.

One folder serves Mali and Adreno: both compilers are in one library of Mesa's. It is complete when
its `toolchain.json` is there, which is written last.
"""

import hashlib
import json
import platform
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path

from explore.files.shipped_text import shipped_text
from explore.files.whole_files import write_whole
from explore.options.units import show_bytes
from explore.toolchain.deb_file import unpack
from explore.toolchain.private_apt import PackageFile, PrivateApt
from explore.toolchain.toolchain import (
    LIBRARIES,
    PROGRAM,
    TOLD,
    Toolchain,
    emulated,
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
BUILD_LIMIT = 120.0  # seconds to make our program
VERSION = re.compile(r"mesa-opencl-icd_([^_]+)_")

Say = Callable[[str], None]


def install(source: Path | None, say: Say) -> Toolchain:
    """The toolchain, made anew: its packages come from the machine's mirror, or from the folder
    `source` that `fetch` made elsewhere."""
    _demand_host()
    with tempfile.TemporaryDirectory(prefix="convlift-toolchain-") as scratch:
        folder = fetch(Path(scratch), say) if source is None else source
        packages = checked(folder)
        size = sum(p.stat().st_size for p in packages)
        say(f"unpacking {counted(len(packages), 'package')} ({show_bytes(size)}) in {place()}")
        remove()
        return _made(packages, _identity(folder), say)


def fetch(folder: Path, say: Say) -> Path:
    """The folder, filled with the toolchain's packages and their checksums."""
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
        folder.mkdir(parents=True, exist_ok=True)
        sums = [f"{_sha256(file)}  {file.name}\n" for file in _downloaded(archives, needed)]
        for line in sums:
            name = line.split()[1]
            shutil.copyfile(archives / name, folder / name)
        write_whole(folder / SUMS, "".join(sums))
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
        raise UserError(f"{folder} holds no toolchain: it has no {SUMS}") from error
    found = []
    for line in lines:
        digest, _, name = line.partition("  ")
        file = folder / Path(name).name
        if not file.is_file() or _sha256(file) != digest:
            raise UserError(f"{file} is missing, or its checksum is not the one in {SUMS}")
        found.append(file)
    return found


def remove() -> bool:
    """Remove the toolchain; True if there was one."""
    there = place().exists()
    if there:
        shutil.rmtree(place())
    return there


def _made(packages: list[Path], identity: str, say: Say) -> Toolchain:
    """The toolchain that these packages are unpacked to, in its place, with our own program
    compiled by it; `identity` is the toolchain's name, and `say` prints messages."""
    named = next((m[1] for p in packages if (m := VERSION.match(p.name))), "of unknown version")
    made = Toolchain(place(), identity, f"Mesa {named.split('%')[0].split('-')[0]}")
    for package in packages:
        if package.name.endswith(f"_{HOST}.deb"):
            unpack(package, made.host, NOT_OF_HOST)
        else:
            unpack(package, made.root, NOT_OF_GUEST)
    if not (made.root / "lib").exists():
        (made.root / "lib").symlink_to("usr/lib")
    source = shipped_text("explore.toolchain", "ask_compiler.c")
    write_whole(made.folder / f"{PROGRAM}.c", source)
    loader = f"/{LIBRARIES}/libOpenCL.so.1"
    words = [str(made.root / "usr/bin/tcc"), "-o", PROGRAM, f"{PROGRAM}.c", loader]
    said = emulated(made, words, BUILD_LIMIT)
    if said.status or not made.program.is_file():
        raise UserError(f"the toolchain does not work here: {said.out.strip()[-300:]}")
    told = {"identity": made.identity, "compiler": made.compiler}
    write_whole(made.folder / TOLD, json.dumps(told, indent=1) + "\n")
    return made


def _demand_host() -> None:
    machine = platform.machine()
    if platform.system() != "Linux" or machine != "x86_64":
        raise UserError(
            "expected Linux on x86-64, on which the toolchain runs; "
            f"found {platform.system()} on {machine}"
        )


def _identity(folder: Path) -> str:
    """The name of a toolchain made from a folder's packages: a hash of the list of their checksums
    and of our own program, so that toolchains with one name compile a text alike."""
    program = files("explore.toolchain").joinpath("ask_compiler.c").read_bytes()
    return hashlib.sha256((folder / SUMS).read_bytes() + program).hexdigest()


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
