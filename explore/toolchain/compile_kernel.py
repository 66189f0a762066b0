"""The compiling of kernels' texts for devices that are not here: done by a worker, which may be
ended."""

import contextlib
import re
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from explore.results.kernel_code import KernelCode, Refusal
from explore.results.records import Failed
from explore.toolchain.offline_devices import DEVICES, OfflineDevice
from explore.toolchain.own_programs import compiler_program
from explore.toolchain.read_statistics import Statistics, of_adreno, of_mali
from explore.toolchain.running_program import RunningProgram
from explore.toolchain.sampled_values import Size
from explore.toolchain.toolchain import Said, TookTooLong, Toolchain, ToolchainFault, emulated
from explore.toolchain.work_done import work_done
from ir.core.frozen import frozen

LIMIT = 120.0  # seconds of processor time a kernel
MOST_ASKED = 200  # kernels that one process of a compiler compiles
WARM = "shaders"  # the folder of OpenCL's own functions as they were compiled before
WARM_UP = "__kernel void nothing(__global float *out) { out[get_global_id(0)] = 1.0f; }\n"
QUADWORD, DWORD = 16, 4  # bytes
MEANT = {3: "OpenCL finds no driver", 4: "the driver finds no device"}  # by ask_compiler.c
_KERNEL = re.compile(r"kernel (\w+) private (\d{1,12}) local (\d{1,12}) group (\d{1,9})")
_REFUSED = re.compile(r"^failed -11$(.*\S.*)", re.M | re.S)  # CL_BUILD_PROGRAM_FAILURE, and the log
_REGISTERS = 24  # whole registers of four numbers with which an Adreno's waves are all there

Compiled = KernelCode | Refusal  # what a compiler itself says of a kernel


@frozen
class CompileKernel:
    """A task, with a number, to compile one kernel's text by a toolchain for the device with this
    profile; the sizes of its launch and of a group tell how often its blocks are carried out. It
    may take `limit_s` seconds of processor time."""

    number: int
    text: str
    global_size: Size
    group: Size
    toolchain: Toolchain
    profile: str
    limit_s: float = LIMIT


@dataclass(slots=True)
class Compilers:
    """The compilers that wait for kernels: programs that run, by the toolchain's folder and the
    device's profile."""

    running: dict[tuple[Path, str], RunningProgram] = field(default_factory=dict)

    def ask(self, task: CompileKernel, file: Path) -> Said:
        """The words of the device's compiler about the text in a file. If it ends meanwhile though
        it had compiled others before, a fresh one is asked. Raises TookTooLong."""
        program = self.running.get((task.toolchain.folder, task.profile))
        if program is None:
            return self._first(task, file)
        said = self._said(program, task, file)
        return said if said.status is None else self._first(task, file)

    def _first(self, task: CompileKernel, file: Path) -> Said:
        """The words of a compiler that is started for this question. OpenCL's functions are read
        from a copy, since compilers write what they look up, and may do so while it is removed."""
        toolchain = task.toolchain
        with tempfile.TemporaryDirectory(
            prefix="convlift-kernel-", ignore_cleanup_errors=True
        ) as scratch:
            shaders = Path(scratch) / WARM
            shutil.copytree(toolchain.folder / WARM / task.profile, shaders)
            variables = DEVICES[task.profile].variables(toolchain, str(shaders))
            words = [str(compiler_program(toolchain))]
            return self._said(RunningProgram(toolchain, words, variables), task, file)

    def _said(self, program: RunningProgram, task: CompileKernel, file: Path) -> Said:
        place = task.toolchain.folder, task.profile
        self.running.pop(place, None)
        said = program.ask(str(file), task.limit_s)
        if said.status is None and program.asked < MOST_ASKED:
            self.running[place] = program
        elif said.status is None:
            program.close()
        return said

    def close(self) -> None:
        """End all compilers."""
        while self.running:
            self.running.popitem()[1].close()


def compile_by(compilers: Compilers, task: CompileKernel) -> Compiled | Failed:
    """The code that the device's compiler, one of `compilers`, makes of a kernel, or its refusal.
    Failed if it gave no answer: for a fault of the toolchain or the machine, a crash, or because
    its time was up."""
    device, toolchain = DEVICES[task.profile], task.toolchain
    warm = toolchain.folder / WARM / task.profile
    with tempfile.TemporaryDirectory(prefix="convlift-kernel-") as scratch:
        file = Path(scratch) / "kernel.cl"
        file.write_text(task.text, encoding="utf-8")
        try:
            if not warm.is_dir() and (why := warm_up(toolchain, task.profile, task.limit_s)):
                return Failed("build", f"the compiler does not start: {why}")
            said = compilers.ask(task, file)
        except ToolchainFault as error:
            return Failed("build", f"the toolchain does not work: {error}")
        except OSError as error:
            return Failed("build", f"files cannot be read or written: {_first(error)}")
        except TookTooLong as error:
            return Failed("build", f"the compiler {error}", timed_out=True)
        return _code(said, device, task)


def compile_kernel(task: CompileKernel) -> Compiled | Failed:
    """The code that the device's compiler, started for it, makes of a kernel, or its refusal;
    Failed if it gave no answer."""
    compilers = Compilers()
    try:
        return compile_by(compilers, task)
    finally:
        compilers.close()


def warm_up(toolchain: Toolchain, profile: str, limit_s: float) -> str | None:
    """Compile OpenCL's own functions for the device with this profile, so that each start of its
    compiler takes seconds less; the result is None, or why that failed, as it does after `limit_s`
    seconds."""
    folder = toolchain.folder / WARM / profile
    file = toolchain.folder / "nothing.cl"
    file.write_text(WARM_UP, encoding="utf-8")
    with tempfile.TemporaryDirectory(dir=toolchain.folder) as scratch:
        try:
            variables = DEVICES[profile].variables(toolchain, scratch)
            words = [str(compiler_program(toolchain)), "keep"]
            said = emulated(toolchain, words, limit_s, variables, f"{file}\n")
        except TookTooLong as error:
            return str(error)
        if "\nbuilt\n" not in said.out:
            return _why(said)
        folder.parent.mkdir(exist_ok=True)
        with contextlib.suppress(OSError):  # another worker was first
            Path(scratch).rename(folder)
            Path(scratch).mkdir()
    return None


def _code(said: Said, device: OfflineDevice, task: CompileKernel) -> Compiled | Failed:
    """The code of a kernel, or the compiler's refusal, read from what the host program and the
    compiler printed while it was compiled; Failed if that is neither."""
    if said.status is None and (log := _REFUSED.search(said.out)):
        return Refusal(_why(said), log[1][-8000:])
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


def _first(error: OSError) -> str:
    """The reason of an error; of a copy that failed, which has one for each file, the first."""
    match error.args:
        case [[(_, _, why), *_]] if isinstance(error, shutil.Error):
            return str(why)
        case _:
            return str(error)


def _why(said: Said) -> str:
    """The reason why nothing was compiled, in the compiler's words."""
    lines = [line.strip() for line in said.out.splitlines()]
    told = [line for line in lines if "error" in line.lower()]
    last = [line for line in lines if line and not line.startswith(("device ", "failed "))]
    if said.status:
        meant = f": {MEANT[said.status]}" if said.status in MEANT else ""
        words = f"the compiler ended with status {said.status}{meant}"
        return (told or [": ".join([words, *last[-1:]])])[0][:300]
    return (told or last or ["the compiler gave no reason"])[0][:300]
