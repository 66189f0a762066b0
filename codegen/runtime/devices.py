"""The OpenCL devices that work here, and the choice of one.

Each runtime is tried in a child process, so that a driver that crashes or hangs is a line in a
list.
"""

import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from codegen.binaries import binary_cache as cache
from codegen.binaries.cache_folder import cache_folder
from codegen.process_ending import FOR_MEMORY, ending, for_memory, signal_named
from codegen.runtime import platforms
from ir.core.frozen import frozen
from ir.errors import UserError
from ir.text.suggest import did_you_mean

TRIAL_SECONDS = 60.0
NO_ANSWER = "no answer"
FRESH_SECONDS = 86400.0  # while the machine has not been started again
BOOT = Path("/proc/sys/kernel/random/boot_id")  # of Linux: which machine, and since when it runs
# What decides which devices a driver shows.
VARIABLES = ("CUDA_", "NVIDIA_", "POCL_", "OCL_", "OPENCL_", "CL_", "OCLGRIND_", "LD_", "GPU_")


@frozen
class Device:
    """A device that has built and run a small kernel, with its limits; sizes are in bytes, and
    `vector` is the number of floats in a register. It was found through the runtime `library`;
    `ordinal` numbers devices that are the same in every other way."""

    index: int
    name: str
    platform: str
    version: str
    driver: str
    kind: str  # "gpu" | "cpu" | "other"
    compute_units: int
    max_work_group: int
    max_work_item_sizes: tuple[int, ...]
    local_bytes: int
    local_is_dedicated: bool
    global_bytes: int
    max_alloc_bytes: int
    half: bool
    simulator: bool
    library: str  # the runtime it was found through
    ordinal: int  # which one, among devices that are the same in every other way
    vector: int = 4  # floats in a vector register
    vpdpbusd: bool = False  # its compiler makes this instruction of LLVM's name for it


@frozen
class Broken:
    """A runtime or a device that does not work, the reason, and advice on what to do about it."""

    platform: str
    name: str
    reason: str
    advice: str


def devices(fresh: bool = False) -> tuple[Device | Broken, ...]:
    """All devices here, the working ones first and numbered; what was found is remembered for a
    day, unless `fresh` asks for a new search."""
    return _remembered(0.0 if fresh else FRESH_SECONDS)


def working(found: Sequence[Device | Broken]) -> tuple[Device, ...]:
    """The devices that work among the entries of a list."""
    return tuple(device for device in found if isinstance(device, Device))


def kind_of(device: Device) -> tuple[str, ...]:
    """The name, platform, version and driver of a device. Times are comparable between devices for
    which these are the same."""
    return device.name, device.platform, device.version, device.driver


def of_each_kind(found: Sequence[Device | Broken]) -> tuple[Device, ...]:
    """The first device of each kind in a list; simulators only if there are no other devices."""
    usable = working(found)
    real = [device for device in usable if not device.simulator] or usable
    return tuple({kind_of(device): device for device in reversed(real)}.values())[::-1]


def known_libraries() -> frozenset[str]:
    """The libraries of the runtimes that worked when they were last tried, however long ago."""
    return frozenset(device.library for device in working(_remembered(math.inf)))


# Choosing


def choose(spec: str | None = None, among: Sequence[Device | Broken] | None = None) -> Device:
    """The device that `spec` means: its number, a part of its name, `gpu` or `cpu`; without one,
    the first GPU that works, else a CPU. It is chosen `among` these (None: all devices here).

    A simulator is chosen by its name only, unless there is nothing else.
    """
    found = devices() if among is None else among
    usable = working(found)
    if not usable:
        raise UserError(_none_works(found))
    if spec is None:
        return min(usable, key=_preference)
    meant = _meant(spec.strip(), usable)
    if not meant:
        raise UserError(
            f"no device `{spec}`{did_you_mean(spec, (d.name for d in usable))}"
            "; expected a number, part of a name, gpu or cpu; "
            f"the devices here are\n{_listing(found)}"
        )
    return meant[0]


def _meant(spec: str, usable: Sequence[Device]) -> list[Device]:
    if spec.isdecimal():
        return [device for device in usable if device.index == int(spec)]
    if spec.lower() in ("gpu", "cpu"):
        return [device for device in usable if device.kind == spec.lower()]
    return [device for device in usable if spec and spec.lower() in _titles(device)]


def _titles(device: Device) -> str:
    return f"{device.name} {device.platform} {device.version}".lower()


def _preference(device: Device) -> tuple[bool, int, int]:
    return device.simulator, ("gpu", "cpu", "other").index(device.kind), device.index


def _listing(found: Sequence[Device | Broken]) -> str:
    return "\n".join(f"  {_line(device)}" for device in found)


def _line(device: Device | Broken) -> str:
    match device:
        case Device():
            return f"{device.index}  {device.name} ({device.kind}, {device.platform})"
        case Broken():
            return f"-  {device.name} ({device.platform}): {device.reason}; {device.advice}"


def _none_works(found: Sequence[Device | Broken]) -> str:
    if not found:
        return f"no OpenCL device was found here; {platforms.INSTALL}"
    return f"no OpenCL device works here:\n{_listing(found)}\nor {platforms.INSTALL}"


# Remembering

_memory: dict[str, tuple[float, tuple[Device | Broken, ...]]] = {}


def _remembered(seconds: float) -> tuple[Device | Broken, ...]:
    libraries = platforms.libraries()
    name = _situation(libraries)
    for recall in (_memory.get, _load):
        when, found = recall(name) or (-math.inf, ())
        if 0 <= time.time() - when < seconds:
            _memory[name] = when, found
            return found
    found = try_all(libraries)
    _memory[name] = (time.time(), found)
    if working(found) and not any(_passing(entry) for entry in found):
        _save(name, *_memory[name])
    return found


def _passing(entry: Device | Broken) -> bool:
    """True if the reason why a device or runtime does not work may pass by itself: another trial
    may end otherwise even if nothing is installed meanwhile."""
    passing = (FOR_MEMORY, NO_ANSWER)
    return isinstance(entry, Broken) and any(words in entry.reason for words in passing)


def _situation(libraries: Sequence[str]) -> str:
    """The cache key of a list of devices: a digest of the machine's last start, of this Python's
    path, of the libraries with their sizes and times, and of the environment variables that
    runtimes read."""
    started = BOOT.read_text(encoding="ascii") if BOOT.is_file() else ""
    facts = [started, sys.executable, *sorted(libraries)]
    facts += [f"{os.stat(path)[6:9]}" for path in libraries if os.path.isfile(path)]
    facts += sorted(f"{k}={v}" for k, v in os.environ.items() if k.startswith(VARIABLES))
    return cache.key("devices 4", *facts)


def _file(name: str) -> Path:
    return cache_folder() / "devices" / f"{name[:32]}.json"


def _load(name: str) -> tuple[float, tuple[Device | Broken, ...]] | None:
    try:
        record = json.loads(_file(name).read_text(encoding="utf-8"))
        return record["when"], tuple(_from_record(entry) for entry in record["found"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _save(name: str, when: float, found: Sequence[Device | Broken]) -> None:
    record = {"when": when, "found": [asdict(entry) for entry in found]}
    with contextlib.suppress(OSError):
        cache.write_atomically(_file(name), json.dumps(record).encode())


def _from_record(entry: dict[str, Any]) -> Device | Broken:
    if "reason" in entry:
        return Broken(**entry)
    return Device(**{**entry, "max_work_item_sizes": tuple(entry["max_work_item_sizes"])})


# Trying


def try_all(libraries: Sequence[str]) -> tuple[Device | Broken, ...]:
    """The devices of all these runtimes, each once: the working ones first, best first and
    numbered, then the broken ones."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        tried = [found for several in pool.map(try_library, libraries) for found in several]
    # A runtime beside pyopencl's loader shows in every child: each device counts once.
    once = {_called(entry): entry for entry in reversed(tried)}.values()
    good = sorted((entry for entry in once if isinstance(entry, Device)), key=_rank)
    numbered = (
        replace(device, index=index, vpdpbusd=takes_vpdpbusd(device))
        for index, device in enumerate(good)
    )
    return *numbered, *(entry for entry in reversed(once) if isinstance(entry, Broken))


def takes_vpdpbusd(device: Device) -> bool:
    """True if a device's compiler makes the instruction `vpdpbusd` of LLVM's name for it. This is
    tried in a child process, as a compiler that knows it by other types ends the process."""
    if device.kind != "cpu" or device.simulator or "Intel" not in device.platform:
        return False
    with contextlib.suppress(OSError):
        if "avx512_vnni" in Path("/proc/cpuinfo").read_text(encoding="utf-8"):
            lines, failure = _child(
                f"products_trial import try_products; try_products({device.library!r})"
            )
            return failure is None and lines == [{"products": True}]
    return False


def _rank(device: Device) -> tuple[bool, int, str, str, str, int]:
    simulated, kind, _ = _preference(device)
    return simulated, kind, device.platform, device.version, device.name, device.ordinal


def try_library(library: str) -> list[Device | Broken]:
    """The devices of a runtime, tried in a child process. If one crashes the child, a new child
    tries the devices after it."""
    found: list[Device | Broken] = []
    while True:
        before = len(found)
        lines, failure = _child(
            f"runtime.session import try_devices; try_devices({library!r}, {before})"
        )
        trying = None
        for line in lines:
            trying = line if "trying" in line else None
            if trying is None:
                found.append(_found(library, line))
        if failure is None:
            return found
        where = trying or {"trying": "every device", "platform": _short(library)}
        found.append(_broken(library, where["platform"], where["trying"], failure))
        if trying is None:
            return found


def _called(entry: Device | Broken) -> tuple[object, ...]:
    """The identity of a device or of a runtime that does not work, by which the entries of
    different child processes are compared."""
    match entry:
        case Device():
            return entry.platform, entry.name, entry.version, entry.driver, entry.ordinal
        case Broken():
            return entry.platform, entry.name, entry.reason


def _found(library: str, line: dict[str, Any]) -> Device | Broken:
    if "broken" in line:
        platform = line["platform"] or _short(library)
        return _broken(library, platform, line["name"], line["broken"])
    return _from_record({**line, "index": -1, "library": library})


def _broken(library: str, platform: str, name: str, reason: str) -> Broken:
    if FOR_MEMORY in reason:
        return Broken(platform, name, reason, "free some memory, then try again")
    return Broken(platform, name, reason, platforms.advice(library, reason))


def _short(library: str) -> str:
    return os.path.basename(library) or "OpenCL"


def _child(trial: str) -> tuple[list[dict[str, Any]], str | None]:
    """The JSON objects that a child process prints, and the words on how it failed, or None if it
    did not. `trial` is what the child runs, after the words `from codegen.`."""
    # -P keeps the current folder's modules out; the package's own folder is named instead.
    root = str(Path(__file__).resolve().parent.parent.parent)
    code = f"import sys; sys.path.insert(0, {root!r}); from codegen.{trial}"
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", code],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=TRIAL_SECONDS)
        failure = _ending(process.returncode, err)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        out, _ = process.communicate()
        failure = f"{NO_ANSWER} within {TRIAL_SECONDS:.0f} s"
    return [json.loads(line) for line in out.splitlines() if line.startswith('{"')], failure


def _ending(code: int, err: str) -> str | None:
    if code == 0:
        return None
    if for_memory(code, err):
        return f"its trial ended {ending(code, err)}"
    if code < 0:
        return f"its driver crashed ({signal_named(-code)})"
    last = (err.strip().splitlines() or [""])[-1][:300]
    return f"the trial ended with exit code {code}: {last}"
