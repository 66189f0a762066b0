"""Tests of the options with which a kernel is built: they tell its text what the device has."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import pytest

from codegen.binaries.build_options import build_options, for_its_target
from ir.instructions.entries.dot_products import ARM, ARM_EXTENSION, KHRONOS, NVIDIA
from ir.instructions.table import DOTS, MATRIX


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
    assert {*re.findall(r"-D(\w+)", text)} == {ARM, NVIDIA, "HAS_PTX_SM_"}
    assert MALI.extensions in text
    assert NV in text
    assert KHRONOS.startswith("__opencl_c_")


# ---- targets that OpenCL's compiler does not know


WGMMA = MATRIX["wgmma_bf16"].text
PTX = b"""// made by a compiler
.version 9.0
.target sm_90, texmode_independent
.address_size 64
//@sm_90a wgmma.fence.sync.aligned;
\t//@sm_90a wgmma.commit_group.sync.aligned;
// a comment, //@ and all
"""


@pytest.mark.parametrize(
    ("major", "minor", "options"),
    [(9, 0, "-DHAS_PTX_SM_90A"), (10, 0, ""), (8, 9, ""), (12, 1, "")],
)
def test_a_text_is_told_of_a_target_where_the_device_is_that_target(
    major: int, minor: int, options: str
) -> None:
    device = Here(
        extensions=NV, compute_capability_major_nv=major, compute_capability_minor_nv=minor
    )
    assert build_options(WGMMA, device) == options
    assert build_options(WGMMA, MALI) == ""


def test_lines_for_a_target_are_opened_and_the_others_stay() -> None:
    opened = for_its_target(PTX)
    assert opened == PTX.replace(b"//@sm_90a ", b"").replace(b"sm_90,", b"sm_90a,")
    assert for_its_target(opened) == opened
    assert for_its_target(b"\x7fELF") == b"\x7fELF"


def test_hosts_in_c_open_the_same_lines(tmp_path: Path) -> None:
    if shutil.which("cc") is None:
        pytest.skip("there is no compiler of C here")
    text = files("explore.export").joinpath("build_options.c").read_text(encoding="utf-8")
    (function,) = re.findall(r"^static char \*for_target.*?^}$", text, re.MULTILINE | re.DOTALL)
    given = PTX.decode().replace("\n", "\\n").replace("\t", "\\t")
    main = f'int main(void) {{ char *made = for_target("{given}"); fputs(made, stdout); }}'
    heads = "".join(f"#include <{name}.h>\n" for name in ("stdio", "stdlib", "string"))
    source = tmp_path / "main.c"
    source.write_text(f"{heads}{function}\n{main}\n")
    subprocess.run(["cc", "-Wall", "-o", tmp_path / "main", source], check=True)
    made = subprocess.run([tmp_path / "main"], check=True, capture_output=True).stdout
    assert made == for_its_target(PTX)
