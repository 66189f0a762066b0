"""Tests of the options with which a kernel is built: they tell its text what the device has."""

import re
from dataclasses import dataclass
from importlib.resources import files

import pytest

from codegen.runtime.build_options import build_options
from ir.instructions.entries.dot_products import ARM, ARM_EXTENSION, KHRONOS, NVIDIA
from ir.instructions.table import DOTS


@dataclass(frozen=True)
class Here:
    """A made-up device: the facts that build options depend on, by pyopencl's names."""

    opencl_c_version: str = "OpenCL C 1.2 "
    extensions: str = "cl_khr_fp16"
    compute_capability_major_nv: int = 0
    compute_capability_minor_nv: int = 0


NEW = Here("OpenCL C 3.0 ")
MALI = Here(extensions=ARM_EXTENSION)
NV = "cl_nv_device_attribute_query"
DOT = DOTS["dot_ss"].text


@pytest.mark.parametrize(
    ("device", "options"),
    [
        (Here(), ""),
        (NEW, "-cl-std=CL3.0"),
        (MALI, f"-D{ARM}"),
        (Here(extensions=NV, compute_capability_major_nv=9), f"-D{NVIDIA}"),
        (Here("OpenCL C 1.2 ", NV, 6, 1), f"-D{NVIDIA}"),
        (Here("OpenCL C 1.2 ", NV, 6, 0), ""),
    ],
)
def test_a_text_with_dot_products_is_told_what_a_device_has(device: Here, options: str) -> None:
    assert build_options(DOT, device) == options
    assert build_options("kernel void f() {}", device) == ""
    assert build_options(DOT, device, "-w").split() == ["-w", *options.split()]


def test_a_standard_that_is_given_stays() -> None:
    assert build_options(DOT, NEW, "-cl-std=CL1.2") == "-cl-std=CL1.2"


def test_hosts_in_c_ask_for_the_same_names() -> None:
    text = files("explore.export").joinpath("build_options.c").read_text(encoding="utf-8")
    assert {*re.findall(r"-D(\w+)", text)} == {ARM, NVIDIA}
    assert MALI.extensions in text
    assert NV in text
    assert KHRONOS.startswith("__opencl_c_")
