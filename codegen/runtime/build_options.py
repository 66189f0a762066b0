"""The options to build a kernel's text with, by which the text learns what a device has.

Exports hold a copy of this file, so it imports nothing of ours.
"""

import re
from typing import Any

FEATURE = "__opencl_c_"  # how the names of features of OpenCL C 3.0 begin
ARM_EXTENSION = "cl_arm_integer_dot_product_accumulate_int8"
NVIDIA_EXTENSION, NVIDIA_SINCE = "cl_nv_device_attribute_query", (6, 1)  # the first with dp4a


def build_options(text: str, device: Any, given: str = "") -> str:
    """The compiler's options for a text on a device: those that are `given`; OpenCL C 3.0 if the
    text tests for a feature of it and the device has that version; and definitions for Arm's and
    NVIDIA's dot products, if the text asks for them and the device has them."""
    extensions = device.extensions.split()
    options = given.split()
    if FEATURE in text and "-cl-std" not in given and _version(device) >= 3:
        options.append("-cl-std=CL3.0")
    if "HAS_ARM_DOT_ACC" in text and ARM_EXTENSION in extensions:
        options.append("-DHAS_ARM_DOT_ACC")
    if "HAS_DP4A" in text and NVIDIA_EXTENSION in extensions and _capability(device):
        options.append("-DHAS_DP4A")
    return " ".join(options)


def _version(device: Any) -> float:
    found = re.match(r"OpenCL C (\d+\.\d+)", device.opencl_c_version)
    return float(found[1]) if found else 1.0


def _capability(device: Any) -> bool:
    major, minor = device.compute_capability_major_nv, device.compute_capability_minor_nv
    return bool((major, minor) >= NVIDIA_SINCE)
