"""Tests that the tutorial works: its files are written to one folder, its commands run there in
order, and print what it says."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE, STDOUT

import pytest

from codegen.runtime.session import Device

TOP = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^(?:--|/\*|#) (\w+\.\w+)")
NEEDED = ("gcc", "make")


@dataclass(frozen=True, slots=True)
class Step:
    """Commands of the tutorial, and the output that it shows for them (… stands for any text); None
    if it shows none."""

    commands: str
    printed: str | None


def files_and_steps(text: str) -> tuple[dict[str, str], list[Step]]:
    """The files that a page of Markdown shows, by name, and its commands with their outputs."""
    files, steps = dict[str, str](), list[Step]()
    for kind, content in BLOCK.findall(text):
        if kind == "sh":
            steps.append(Step(content, None))
        elif kind == "text":
            steps[-1] = Step(steps[-1].commands, content)
        else:
            named = FILE.match(content)
            assert named is not None, f"a block of {kind} that does not begin with its name"
            files[named[1]] = content
    return files, steps


def expected(printed: str) -> re.Pattern[str]:
    """The pattern of the outputs that a text with … matches; at the end of a line, … may stand for
    several lines."""
    return re.compile(".*".join(map(re.escape, printed.strip().split("…"))), re.DOTALL)


@pytest.fixture
def environment(device: Device, tmp_path: Path) -> dict[str, str]:
    """The environment variables of the commands: they find this convlift, its Python, and this
    device's OpenCL."""
    if missing := [name for name in NEEDED if not shutil.which(name)]:
        pytest.skip(f"{missing[0]} is not installed")
    if not Path("/usr/include/CL").exists():
        pytest.skip("the headers of OpenCL are not installed")
    commands, runtimes = tmp_path / "bin", tmp_path / "vendors"
    commands.mkdir()
    runtimes.mkdir()
    for name, options in (("python", ""), ("explore", "-m explore ")):
        (commands / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {options}"$@"\n')
        (commands / name).chmod(0o755)
    (runtimes / "only.icd").write_text(device.library)
    return os.environ | {
        "PATH": f"{commands}:{os.environ['PATH']}",
        "PYTHONPATH": str(TOP),
        "OCL_ICD_VENDORS": str(runtimes),
        "LD_LIBRARY_PATH": str(Path(device.library).parent),
    }


@pytest.mark.long
def test_every_command_of_the_tutorial_prints_what_it_says(
    environment: dict[str, str], tmp_path: Path
) -> None:
    files, steps = files_and_steps((TOP / "docs" / "tutorial.md").read_text(encoding="utf-8"))
    folder = tmp_path / "work"
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_text(content)
    assert len(steps) > 10
    for step in steps:
        command = ["bash", "-ec", step.commands]
        ran = subprocess.run(
            command, cwd=folder, env=environment, stdout=PIPE, stderr=STDOUT, text=True
        )
        assert ran.returncode == 0, f"{step.commands}{ran.stdout}"
        if step.printed is not None:
            assert expected(step.printed).search(ran.stdout), f"{step.commands}{ran.stdout}"
