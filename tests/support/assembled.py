"""Assembling the inline PTX of instructions by NVIDIA's `ptxas`, which needs no device."""

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator

import pytest

from codegen.binaries.build_options import for_its_target
from ir.instructions.entry import Listed

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry kernel_()\n{"
# The parts of `asm("…" : outputs : inputs);`
ASM = re.compile(r'\basm(?: volatile)?\(((?:\s*"[^"]*")+)\s*:(.*?)(?: :|\n *:)(.*?)\);', re.S)
TYPES = {"r": "b32", "f": "f32", "l": "b64"}


def assembles(entries: Iterable[Listed]) -> bool:
    """True if the inline PTX of all these instructions assembles, as OpenCL's compiler gives it and
    with the lines opened that need another target; the test is skipped where `ptxas` is not
    installed. A failure prints what it says."""
    if shutil.which("ptxas") is None:
        pytest.skip("ptxas is not installed: pip install nvidia-cuda-nvcc")
    texts = [text for entry in entries for text in entry.spelled.values() if "asm" in text]
    lines = [line for text in texts for line in _statements(text)]
    assert len(lines) == sum(text.count("asm") for text in texts)
    source = "\n".join([HEAD, *lines, "  ret;", "}"])
    opened = for_its_target(source.encode()).decode()
    return all(_assembled(text) for text in dict.fromkeys([source, opened]))


def _assembled(source: str) -> bool:
    (target,) = re.findall(r"\.target (\w+)", source)
    command = ["ptxas", f"-arch={target}", "-o", "/dev/null", "/dev/stdin"]
    done = subprocess.run(command, input=source, capture_output=True, text=True)
    print(done.stderr, done.stdout)
    return done.returncode == 0


def _statements(text: str) -> Iterator[str]:
    """The instructions in the inline PTX of an OpenCL text, each in a block that declares a
    register for each operand."""
    for template, outputs, inputs in ASM.findall(text):
        kinds = re.findall(r'"[+=]?(\w)"', f"{outputs},{inputs}")
        declared = " ".join(f".reg .{TYPES[kind]} %o{n};" for n, kind in enumerate(kinds))
        line = "".join(re.findall(r'"([^"]*)"', template)).replace("\\n", "\n")
        yield "  { " + declared + "\n" + re.sub(r"%(\d+)", r"%o\1", line) + "\n }"
