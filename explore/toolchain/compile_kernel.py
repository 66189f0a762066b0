"""The compiling of one kernel's text for a device that is not here: done by a worker, which may be
ended."""

import contextlib
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from explore.results.kernel_code import KernelCode
from explore.results.records import Failed
from explore.toolchain.offline_devices import DEVICES, OfflineDevice
from explore.toolchain.read_statistics import Statistics, of_adreno, of_mali
from explore.toolchain.sampled_values import Size
from explore.toolchain.toolchain import Said, TookTooLong, Toolchain, emulated
from explore.toolchain.work_done import work_done

LIMIT = 120.0  # seconds a kernel
WARM = "shaders"  # the folder of OpenCL's own functions as they were compiled before
WARM_UP = "__kernel void nothing(__global float *out) { out[get_global_id(0)] = 1.0f; }\n"
QUADWORD, DWORD = 16, 4  # bytes
_KERNEL = re.compile(r"kernel (\w+) private (\d{1,12}) local (\d{1,12}) group (\d{1,9})")
_REGISTERS = 24  # whole registers of four numbers with which an Adreno's waves are all there


@dataclass(frozen=True, slots=True)
class CompileKernel:
    """A task, with a number, to compile one kernel's text by a toolchain for the device with this
    profile; the sizes of its launch and of a group tell how often its blocks are carried out. It
    may take `limit_s` seconds."""

    number: int
    text: str
    global_size: Size
    group: Size
    toolchain: Toolchain
    profile: str
    limit_s: float = LIMIT


def compile_kernel(task: CompileKernel) -> KernelCode | Failed:
    """The code that the device's compiler makes of a kernel, or why it makes none."""
    device, toolchain = DEVICES[task.profile], task.toolchain
    with tempfile.TemporaryDirectory(prefix="convlift-kernel-") as scratch:
        file, shaders = Path(scratch) / "kernel.cl", Path(scratch) / "shaders"
        file.write_text(task.text, encoding="utf-8")
        warm = toolchain.folder / WARM / task.profile
        # What is in the cache already is not compiled, and then nothing is said of it: so each
        # kernel has a copy, of OpenCL's functions alone.
        if not warm.is_dir() and (why := warm_up(toolchain, task.profile, task.limit_s)):
            return Failed("build", f"the compiler does not start: {why}")
        shutil.copytree(warm, shaders)
        try:
            variables = device.variables(toolchain, str(shaders))
            words = [str(toolchain.program), str(file)]
            said = emulated(toolchain, words, task.limit_s, variables)
        except TookTooLong as error:
            return Failed("build", f"the compiler {error}", timed_out=True)
        return _code(said, device, task)


def warm_up(toolchain: Toolchain, profile: str, limit_s: float) -> str | None:
    """Compile OpenCL's own functions for the device with this profile, so that each kernel takes
    seconds less; the result is None, or why that failed, as it does after `limit_s` seconds."""
    folder = toolchain.folder / WARM / profile
    file = toolchain.folder / "nothing.cl"
    file.write_text(WARM_UP, encoding="utf-8")
    with tempfile.TemporaryDirectory(dir=toolchain.folder) as scratch:
        try:
            variables = DEVICES[profile].variables(toolchain, scratch)
            said = emulated(toolchain, [str(toolchain.program), str(file)], limit_s, variables)
        except TookTooLong as error:
            return str(error)
        if "\nbuilt\n" not in said.out:
            return _why(said)
        folder.parent.mkdir(exist_ok=True)
        with contextlib.suppress(OSError):  # another worker was first
            Path(scratch).rename(folder)
            Path(scratch).mkdir()
    return None


def _code(said: Said, device: OfflineDevice, task: CompileKernel) -> KernelCode | Failed:
    """The code of a kernel, read from what the host program and the compiler printed while it was
    compiled."""
    found = of_adreno(said.out) if device.maker == "adreno" else of_mali(said.out)
    facts = _KERNEL.search(said.out)
    if "\nbuilt\n" not in said.out or facts is None or found is None:
        return Failed("build", _why(said), said.out[-8000:])
    return KernelCode(
        kernel=facts[1],
        compiler=f"{task.toolchain.compiler} for {device.profile}",
        counts=found.counts,
        done=work_done(found, task.global_size, task.group),
        bytes=_bytes(found),
        spills=found.spills,
        fills=found.fills,
        private_bytes=int(facts[2]),
        local_bytes=int(facts[3]),
        threads=_threads(found, device),
        group_items=int(facts[4]),
    )


def _bytes(found: Statistics) -> int:
    return int(QUADWORD * found.count("quadwords") + DWORD * found.count("dwords"))


def _threads(found: Statistics, device: OfflineDevice) -> float:
    """The share of a core's work-items for which its registers suffice."""
    if device.maker == "adreno":
        return min(1.0, _REGISTERS / max(1.0, found.count("full") + found.count("half") / 2))
    full = 1 if device.number.startswith("6") else 2  # the first Bifrosts have one size alone
    return min(1.0, found.count("threads") / full)


def _why(said: Said) -> str:
    """The reason why nothing was compiled, in the compiler's words."""
    lines = [line.strip() for line in said.out.splitlines()]
    told = [line for line in lines if "error" in line.lower()]
    last = [line for line in lines if line and not line.startswith(("device ", "failed "))]
    if said.status:
        return (told or [f"the compiler ended with status {said.status}"])[0][:300]
    return (told or last or ["the compiler gave no reason"])[0][:300]
