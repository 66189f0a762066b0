"""A third implementation of OpenCL beside Intel's and PoCL's: Mesa's Rusticl on llvmpipe, a device
of CPUs. It comes with the toolchain for Mali, and runs in that toolchain's emulator, in a process
of its own and on another processor's instructions."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from codegen.plan import Buffer, Kernel, Plan, Role
from codegen.runtime.buffer_arrays import DTYPES, accept, outputs, value_of, with_roles
from codegen.runtime.results import RunFailed
from explore.toolchain.own_programs import made
from explore.toolchain.running_program import RunningProgram
from explore.toolchain.toolchain import Toolchain
from ir.meaning.inputs import Data

LIMIT = 300.0  # seconds of processor time for a plan
RUN_PLANS = Path(__file__).with_name("run_plans.c")


class EmulatedDevice:
    """Rusticl's CPU device in the emulator of `toolchain`, which runs plans one after another;
    their files are written to `folder`."""

    name = "Rusticl's llvmpipe"

    def __init__(self, toolchain: Toolchain, folder: Path) -> None:
        self._folder, self._count = folder, 0
        text = RUN_PLANS.read_text(encoding="utf-8")
        program = [str(made(toolchain, "run_plans", text))]
        variables = {
            "OCL_ICD_VENDORS": str(toolchain.root / "etc/OpenCL/vendors/rusticl.icd"),
            "RUSTICL_ENABLE": "llvmpipe",
            "LP_NUM_THREADS": "0",
            "GALLIVM_PERF": "nopt",  # LLVM, in the emulator, takes a tenth of the time
            # OpenCL's own functions, compiled for this device, serve the next time, too.
            "MESA_SHADER_CACHE_DIR": str(toolchain.folder / "shaders" / "llvmpipe"),
        }
        self._program = RunningProgram(toolchain, program, variables)

    def run(self, plan: Plan, inputs: Mapping[str, Data]) -> Data:
        """The result of a plan for these inputs, by the names of its inputs and constants; raises
        RunFailed if a kernel does not compile or run."""
        self._count += 1
        folder = self._folder / str(self._count)
        folder.mkdir()
        given = accept(with_roles(plan, Role.INPUT, Role.CONST), inputs)
        for name, array in given.items():
            array.tofile(folder / name)
        (folder / "plan").write_text("\n".join(_words(plan, folder)) + "\n", encoding="utf-8")
        said = self._program.ask(str(folder / "plan"), LIMIT)
        if said.out.splitlines()[-1:] != ["done"]:
            raise RunFailed(said.out)
        found = outputs(plan)
        result: Data = value_of(found, [_read(buffer, folder) for buffer in found])
        return result

    def close(self) -> None:
        self._program.close()


def _read(buffer: Buffer, folder: Path) -> np.ndarray:
    array = np.fromfile(folder / buffer.name, DTYPES[buffer.scalar])
    return array.reshape(buffer.shape)


def _words(plan: Plan, folder: Path) -> Iterator[str]:
    """The lines of the file that describes a plan, whose data lie in a folder."""
    numbers = {buffer.name: n for n, buffer in enumerate(plan.buffers)}
    yield str(len(numbers))
    for buffer in plan.buffers:
        is_given = buffer.role in (Role.INPUT, Role.CONST)
        yield f"{buffer.bytes} {folder / buffer.name if is_given else '-'}"
    yield str(len(plan.kernels))
    for n, kernel in enumerate(plan.kernels):
        yield _launch(kernel, numbers, folder / f"{n}.cl")
    found = outputs(plan)
    yield str(len(found))
    for buffer in found:
        yield f"{numbers[buffer.name]} {folder / buffer.name}"


def _launch(kernel: Kernel, numbers: Mapping[str, int], file: Path) -> str:
    """The line of a launch, whose text is written to a file; `numbers` are those of buffers."""
    file.write_text(kernel.source, encoding="utf-8")
    given = [numbers[name] for name in kernel.arguments]
    sizes = (*kernel.global_size, *kernel.local_size)
    return " ".join(map(str, (kernel.name, file, *sizes, len(given), *given)))
