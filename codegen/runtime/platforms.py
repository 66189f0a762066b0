"""The OpenCL runtimes on this machine, found before pyopencl is imported.

The ICD loader reads a folder of `.icd` files once, at its first call. Runtimes installed by pip
are not in the system's folder, some name a wrong path, and containers often mount NVIDIA's driver
without its file. So: collect every library, and show the loader a folder that names them.
"""

import ctypes
import hashlib
import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

# Two stand-ins for a library's name.
AS_IS = ""  # the loader is left to find its own: Oclgrind, macOS, Windows
BUNDLED = "pyopencl's own"  # wheels put theirs beside pyopencl's loader, which always takes them

NVIDIA = "libnvidia-opencl.so.1"
NVIDIA_FOLDERS = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/nvidia/lib64",
    "/usr/local/nvidia/lib",
    "/run/opengl-driver/lib",
)

# Libraries that a runtime opens by name, and that the linker may not find beside it.
COMPANIONS = {
    "libintelocl": ("libintlc.so.5", "libirng.so", "libimf.so", "libsvml.so", "libtbb.so.12"),
    "libnvidia-opencl": ("libnvidia-ptxjitcompiler.so.1", "libnvidia-nvvm.so.4"),
}


def libraries(environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The libraries of OpenCL runtimes here: paths, or names that the linker resolves."""
    if sys.platform != "linux" or under_oclgrind(environ):
        return (AS_IS,)
    found = [*_registered(environ), *_in_environment(), *_intel_wheel(), *_beside_pyopencl()]
    if not any(Path(library).name.startswith("libnvidia-opencl") for library in found):
        found.extend(_nvidia(environ))
    return _distinct(found)


def under_oclgrind(environ: Mapping[str, str] = os.environ) -> bool:
    """True if this process runs under `oclgrind`, whose simulator then stands for every
    platform."""
    return "liboclgrind-rt" in environ.get("LD_PRELOAD", "")


def _registered(environ: Mapping[str, str]) -> list[str]:
    """The libraries that the loader finds itself: OCL_ICD_VENDORS replaces the system's folder."""
    system = Path(environ.get("OPENCL_VENDOR_PATH") or "/etc/OpenCL/vendors")
    asked = environ.get("OCL_ICD_VENDORS")
    if not asked:
        return _named_in(system)
    place = Path(asked)
    if place.is_dir():
        return _named_in(place)
    if place.suffix != ".icd":
        return [asked]  # the loader's third form: a library
    return _named_by(place if place.is_file() else system / place)


def _in_environment() -> list[str]:
    """The libraries of runtimes in this Python environment. The files that list them may give the
    path at which a library was built; it is then looked for in the environment's own folder."""
    prefix = Path(sys.prefix)
    named = _named_in(prefix / "etc/OpenCL/vendors")
    moved = (prefix / "lib" / Path(library).name for library in named)
    places = [
        library if Path(library).is_file() else str(here)
        for library, here in zip(named, moved, strict=True)
    ]
    return [library for library in places if Path(library).is_file()]


def _intel_wheel() -> list[str]:
    """The library of Intel's CPU runtime where pip put it; [] if it is not installed."""
    try:
        files = importlib.metadata.files("intel-opencl-rt") or []
    except importlib.metadata.PackageNotFoundError:
        return []
    paths = (Path(str(file.locate())) for file in files if file.name == "libintelocl.so")
    return [str(path.resolve()) for path in paths if path.is_file()]


def _beside_pyopencl() -> list[str]:
    """The runtime that a wheel such as PoCL's added to pyopencl's folder; [] if none did."""
    spec = importlib.util.find_spec("pyopencl")
    folders = (spec and spec.submodule_search_locations) or ()
    return [BUNDLED] if any(_named_in(Path(folder, ".libs")) for folder in folders) else []


def _nvidia(environ: Mapping[str, str]) -> list[str]:
    """The path of NVIDIA's driver library, as containers mount it without its `.icd` file; [] if it
    is not there."""
    searched = environ.get("LD_LIBRARY_PATH", "").split(":")
    places = (Path(folder) / NVIDIA for folder in (*searched, *NVIDIA_FOLDERS) if folder)
    return [str(place) for place in places if place.is_file()][:1]


def _named_in(folder: Path) -> list[str]:
    return [name for file in sorted(folder.glob("*.icd")) for name in _named_by(file)]


def _named_by(file: Path) -> list[str]:
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return []
    return [line.strip() for line in lines[:1] if line.strip()]


def _distinct(found: Iterable[str]) -> tuple[str, ...]:
    """The libraries `found`, each once, though several names or links may lead to one."""
    by_file = {os.path.realpath(name) if "/" in name else name: name for name in reversed([*found])}
    return tuple(reversed(by_file.values()))


@contextmanager
def registered(names: Iterable[str], shelf: Path) -> Iterator[None]:
    """A context in which the OpenCL loader's first call finds these libraries and no others.

    The folder that names them lies in `shelf`, and stays there to be used again: a process that is
    killed could not remove it.
    """
    wanted = [name for name in names if name != BUNDLED]
    if AS_IS in wanted:
        yield
        return
    for name in wanted:
        preload(name)
    before = os.environ.get("OCL_ICD_VENDORS")
    with _naming(wanted, shelf) as folder:
        os.environ["OCL_ICD_VENDORS"] = str(folder)
        try:
            yield
        finally:
            del os.environ["OCL_ICD_VENDORS"]
            if before is not None:
                os.environ["OCL_ICD_VENDORS"] = before


@contextmanager
def _naming(wanted: Sequence[str], shelf: Path) -> Iterator[Path]:
    """A context with a folder of `.icd` files that name these libraries: a folder of `shelf`, or a
    temporary one if that cannot be written."""
    folder = shelf / hashlib.sha256("\n".join(wanted).encode()).hexdigest()[:16]
    with ExitStack() as passing:
        try:
            _name(wanted, folder)
        except OSError:
            folder = Path(passing.enter_context(TemporaryDirectory(prefix="convlift-icd-")))
            _name(wanted, folder)
        yield folder


def _name(wanted: Sequence[str], folder: Path) -> None:
    """Write into a folder the `.icd` files that name these libraries. Each file appears at once
    with its content, since other processes may read or write it meanwhile."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(wanted):
        file, part = folder / f"{number}.icd", folder / f".{number}-{os.getpid()}"
        if _named_by(file) != [name]:
            part.write_text(f"{name}\n", encoding="utf-8")
            os.replace(part, file)


def preload(library: str) -> None:
    """Load a runtime's companion libraries from its own folder, where the linker may not look."""
    path = Path(library)
    names = COMPANIONS.get(path.name.partition(".")[0], ()) if path.is_absolute() else ()
    for companion in (path.resolve().parent / name for name in names):
        if companion.is_file():
            loading_error(str(companion), ctypes.RTLD_GLOBAL)


def loading_error(library: str, mode: int = ctypes.RTLD_LOCAL) -> str | None:
    """The reason why the linker refuses to load a library in the `mode` of dlopen; None if it
    loads."""
    if library in (AS_IS, BUNDLED):
        return None
    try:
        ctypes.CDLL(library, mode=mode)
    except OSError as error:
        return str(error)
    return None


def advice(library: str, reason: str) -> str:
    """The advice for a runtime `library` that does not work for this `reason`: what to install, set
    or remove."""
    name = Path(library).name
    if "intelocl" in name and "shared object" in reason:
        return "pip install intel-cmplr-lib-rt (intel-opencl-rt needs it and does not say so)"
    if library == BUNDLED:
        return (
            "pip uninstall pocl-binary-distribution, then pip install intel-opencl-rt "
            "intel-cmplr-lib-rt, or install the system's package (Debian: pocl-opencl-icd)"
        )
    if "nvidia" in name:
        return (
            "check that nvidia-smi works; in a container, start it with the GPU and with "
            "NVIDIA_DRIVER_CAPABILITIES=compute,utility"
        )
    return f"reinstall or remove the runtime that owns {library or 'this device'}"


INSTALL = (
    "install a runtime: `pip install intel-opencl-rt intel-cmplr-lib-rt` (x86-64 CPUs on Linux), "
    "the system's package for this device (Debian: pocl-opencl-icd), or the GPU vendor's driver"
)
