"""The options to build a kernel's text with, by which the text learns what a device has, and the
change in NVIDIA's PTX by which it gets instructions that OpenCL's compiler does not assemble.

Exports hold a copy of this file, so it imports nothing of ours.
"""

import re
from typing import Any

FEATURE = "__opencl_c_"  # how the names of features of OpenCL C 3.0 begin
ARM_EXTENSION = "cl_arm_integer_dot_product_accumulate_int8"
NVIDIA_EXTENSION, NVIDIA_SINCE = "cl_nv_device_attribute_query", (6, 1)  # the first with dp4a
# A text asks for targets, such as sm_90a, of which compilers of OpenCL know no more than sm_90.
# Lines of PTX that need such a target stand in comments behind its name.
ASKS = re.compile(r"HAS_PTX_SM_(\d+)(\d)A\b")
FOR_TARGET = re.compile(rb"//@(sm_\w+) ")
TARGET = re.compile(rb"^\.target\s+sm_\w+", re.MULTILINE)


def build_options(text: str, device: Any, given: str = "") -> str:
    """The compiler's options for a text on a device: those that are `given`; OpenCL C 3.0 if the
    text tests for a feature of it and the device has that version; and definitions for Arm's and
    NVIDIA's dot products, and for NVIDIA's targets, if the text asks for them and the device has
    them."""
    extensions = device.extensions.split()
    options = given.split()
    if FEATURE in text and "-cl-std" not in given and _version(device) >= 3:
        options.append("-cl-std=CL3.0")
    if "HAS_ARM_DOT_ACC" in text and ARM_EXTENSION in extensions:
        options.append("-DHAS_ARM_DOT_ACC")
    if NVIDIA_EXTENSION in extensions:
        has = device.compute_capability_major_nv, device.compute_capability_minor_nv
        if "HAS_DP4A" in text and has >= NVIDIA_SINCE:
            options.append("-DHAS_DP4A")
        asked = {(int(major), int(minor)) for major, minor in ASKS.findall(text)}
        options += ["-DHAS_PTX_SM_{}{}A".format(*has)] if has in asked else []
    return " ".join(options)


def for_its_target(binary: bytes) -> bytes:
    """The binary of a program with the lines of PTX opened that stand in comments behind the name
    of a target, which becomes the target of all; a binary without such lines is as it was."""
    found = FOR_TARGET.search(binary)
    if found is None:
        return binary
    return TARGET.sub(b".target " + found[1], FOR_TARGET.sub(b"", binary), count=1)


def program_of(cl: Any, context: Any, device: Any, text: str) -> Any:
    """The program of a text, built for a device by pyopencl, which is `cl`."""
    program = cl.Program(context, text).build(options=build_options(text, device))
    if NVIDIA_EXTENSION not in device.extensions.split():
        return program
    (binary,) = program.get_info(cl.program_info.BINARIES)
    opened = for_its_target(binary)
    return program if opened == binary else cl.Program(context, [device], [opened]).build()


def _version(device: Any) -> float:
    found = re.match(r"OpenCL C (\d+\.\d+)", device.opencl_c_version)
    return float(found[1]) if found else 1.0
