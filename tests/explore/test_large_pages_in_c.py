"""Tests of the C file by which exported hosts and libraries keep large buffers in large pages."""

import shutil
import subprocess
from pathlib import Path

import pytest

from codegen.runtime.devices import Device
from tests.explore.test_run import ran_in, vendors

ROOM = Path(__file__).resolve().parents[2] / "explore" / "export"
SETTING = Path("/sys/kernel/mm/transparent_hugepage/enabled")
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wno-unused-function"]
PROBE = r"""
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <string.h>
#include "large_pages.c"

/* KiB of this process that the system was asked to keep in large pages. */
static long advised(void) {
  char line[4096];
  long size = 0, found = 0;
  FILE *file = fopen("/proc/self/smaps", "r");
  while (file && fgets(line, sizeof line, file)) {
    sscanf(line, "Size: %ld kB", &size);
    if (!strncmp(line, "VmFlags:", 8) && strstr(line, " hg")) found += size;
  }
  fclose(file);
  return found;
}

int main(void) {
  cl_platform_id platform;
  cl_device_id device;
  const size_t sizes[2] = {(1 << 21) - 1, 16 << 20};
  clGetPlatformIDs(1, &platform, NULL);
  clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
  for (int i = 0; i < 2; ++i) {
    int number = 0, read = 0;
    long before = advised();
    cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE, sizes[i], NULL, NULL);
    cl_int status = in_large_pages(queue, memory, sizes[i]);
    printf("%d %ld ", (int)status, advised() - before);
    number = 7;
    clEnqueueWriteBuffer(queue, memory, CL_TRUE, 64, sizeof number, &number, 0, NULL, NULL);
    clEnqueueReadBuffer(queue, memory, CL_TRUE, 64, sizeof read, &read, 0, NULL, NULL);
    printf("%d\n", read);
    clReleaseMemObject(memory);
  }
  return 0;
}
"""


@pytest.fixture
def probe(tmp_path: Path) -> Path:
    if not shutil.which("cc") or not Path("/usr/include/CL").exists():
        pytest.skip("no C compiler, or no headers of OpenCL here")
    (tmp_path / "probe.c").write_text(PROBE)
    return tmp_path


def built(folder: Path, *macros: str) -> None:
    command = ["cc", *STRICT, *macros, "-Wno-deprecated-declarations", f"-I{ROOM}", "-o", "probe"]
    subprocess.run([*command, "probe.c", "-lOpenCL"], cwd=folder, check=True)


def test_large_buffers_of_a_processor_are_asked_for_in_large_pages(
    probe: Path, device: Device
) -> None:
    if device.kind != "cpu" or not SETTING.exists() or "[never]" in SETTING.read_text():
        pytest.skip("the default device is no processor, or the system has no large pages")
    built(probe, "-D_DEFAULT_SOURCE")
    ran = ran_in(probe, ["./probe"], vendors(device, probe))
    assert ran.returncode == 0, ran.stderr
    (small, large) = ([int(word) for word in line.split()] for line in ran.stdout.splitlines())
    assert small == [0, 0, 7]
    assert large[::2] == [0, 7]
    assert 12 << 10 <= large[1] <= 16 << 10


def test_without_the_macro_that_declares_them_nothing_is_asked(probe: Path, device: Device) -> None:
    built(probe)
    ran = ran_in(probe, ["./probe"], vendors(device, probe))
    assert ran.stdout.split() == ["0", "0", "7"] * 2, ran.stderr
