"""Whether a device's compiler works here: shown by a small kernel that every device compiles."""

from functools import lru_cache

from constraints.devices import Profile
from explore.options.options import Options
from explore.results.kernel_code import KernelCode, Refusal
from explore.toolchain.compile_kernel import CompileKernel, compile_kernel
from explore.toolchain.offline_devices import DEVICES
from explore.toolchain.toolchain import Toolchain, ToolchainFault, installed
from ir.errors import UserError

SMALL = """__kernel void small(__global const float *restrict xs, __global float *restrict out)
{
  out[get_global_id(0)] = fma(xs[get_global_id(0)], 2.0f, 1.0f);
}
"""


def compiler_for(profile: Profile, options: Options) -> Toolchain | None:
    """The installed toolchain, if a run with these options for the device with this profile is to
    compile kernels; else None."""
    return installed() if profile.name in DEVICES and options.to_compile else None


def demand_compiled_for(profile: Profile, options: Options) -> None:
    """Raise a UserError if options ask for variants to be compiled, but for a device that is here,
    or that no toolchain knows."""
    if options.compile and profile.name not in DEVICES:
        raise UserError(
            "--compile: expected --profile with a device that is not here but compiled for, of "
            f"{', '.join(DEVICES)}; found {profile.name}"
        )


def demand_compiler(profile: Profile, options: Options) -> None:
    """Raise a ToolchainFault if a run for the device with this profile is to use a toolchain that
    is installed but does not work; one that worked before in this process is not asked again."""
    if found := compiler_for(profile, options):
        _worked(found, profile)


@lru_cache(maxsize=16)
def _worked(toolchain: Toolchain, profile: Profile) -> None:
    demand_working(toolchain, profile)


def demand_working(toolchain: Toolchain, profile: Profile) -> None:
    """Raise a ToolchainFault unless the toolchain compiles a small kernel for the device with this
    profile."""
    task = CompileKernel(0, SMALL, (64, 1, 1), (64, 1, 1), toolchain, profile.name)
    found = compile_kernel(task)
    if not isinstance(found, KernelCode):
        why = found.words if isinstance(found, Refusal) else found.reason
        raise ToolchainFault(
            f"expected the toolchain in {toolchain.folder} to compile a small kernel for "
            f"{profile.name}, but: {why}; install it anew by `explore toolchain mali`, or remove "
            "it by `explore toolchain mali --remove`: without one, variants are ranked by a cost "
            "model alone"
        )
