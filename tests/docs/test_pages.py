"""Tests that pages for users work: the files that a page shows are written to a folder, its
commands run there in order, and print what the page says. A page that continues another one uses
the same folder."""

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
STORIES = {  # pages that share a folder, and the least number of commands in all of them
    "tutorial": (("tutorial.md",), 7),
    "first convolution": (("first_convolution.md", "reading_a_front.md", "deploy.md"), 7),
    "recipes": (("recipes.md",), 1),
    "questions": (("faq.md",), 4),
}


@dataclass(frozen=True, slots=True)
class Step:
    """Commands of a page that run together, and what the page shows that they print (None: it shows
    nothing); … in it stands for any text."""

    commands: str
    printed: str | None


def files_and_steps(text: str) -> tuple[dict[str, str], list[Step]]:
    """The files that a page of Markdown (its text) shows, by name, and the page's commands with
    their outputs."""
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
    """A pattern that matches the outputs which agree with `printed`, the output on a page: each …
    stands for any text, also for several lines."""
    return re.compile(".*".join(map(re.escape, printed.strip().split("…"))), re.DOTALL)


@pytest.fixture
def environment(device: Device, tmp_path: Path) -> dict[str, str]:
    """The environment variables for the commands of pages: they run with the convlift of this
    repository, the Python of this process, and the OpenCL of `device`."""
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
        "VIRTUAL_ENV": sys.prefix,
    }


@pytest.mark.long
@pytest.mark.parametrize("story", STORIES)
def test_every_command_of_a_page_prints_what_it_says(
    story: str, environment: dict[str, str], tmp_path: Path
) -> None:
    pages, least = STORIES[story]
    folder = tmp_path / "work"
    folder.mkdir()
    done = 0
    for page in pages:
        files, steps = files_and_steps((TOP / "docs" / page).read_text(encoding="utf-8"))
        for name, content in files.items():
            (folder / name).write_text(content)
        for step in steps:
            carry_out(step, folder, environment)
        done += len(steps)
    assert done >= least


def carry_out(step: Step, folder: Path, environment: dict[str, str]) -> None:
    """Run the commands of a step in a folder; they must succeed, and print what the page shows."""
    command = ["bash", "-ec", step.commands]
    ran = subprocess.run(
        command, cwd=folder, env=environment, stdout=PIPE, stderr=STDOUT, text=True
    )
    assert ran.returncode == 0, f"{step.commands}{ran.stdout}"
    if step.printed is not None:
        assert expected(step.printed).search(ran.stdout), f"{step.commands}{ran.stdout}"
