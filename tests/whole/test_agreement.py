"""Tests that kernels give the interpreter's results on every device there is, and on a third
implementation of OpenCL, which comes with the toolchain for Mali; and that Oclgrind finds no races
in them."""

import os
import shutil
import subprocess
import sys
from contextlib import closing
from itertools import product
from pathlib import Path

import pytest

from codegen.proof.prove import prove
from codegen.runtime.session import Session
from explore.toolchain.toolchain import installed
from ir.meaning.inputs import random_inputs
from tests.support.agreement import (
    EXAMPLES,
    FAMILIES,
    FAULTS,
    SMALL,
    WRITTEN,
    difference,
    disagreement,
    every,
    shortest,
    written,
)
from tests.support.emulated_device import EmulatedDevice

ROOT = Path(__file__).resolve().parents[2]
TOOLCHAIN = installed()  # the user's, asked for before tests get a cache of their own


@pytest.mark.parametrize("name", WRITTEN)
def test_every_example_and_family_agrees_on_every_device(
    sessions: tuple[Session, ...], name: str
) -> None:
    for case, session, integers in product(written(name), sessions, (True, False)):
        assert disagreement(session, case, integers) is None


def test_every_family_agrees_on_a_third_implementation(tmp_path: Path) -> None:
    """Rusticl's llvmpipe, run in an emulator, gives the interpreter's results on whole numbers."""
    if TOOLCHAIN is None:
        pytest.skip(
            "Rusticl's llvmpipe is not here, it comes with the command explore toolchain mali"
        )
    with closing(EmulatedDevice(TOOLCHAIN, tmp_path)) as device:
        for case in map(shortest, FAMILIES):
            inputs = random_inputs(case.program, 1, True)
            assert difference(case, inputs, device.run(case.made.plan, inputs), device.name) is None


def test_every_example_is_run() -> None:
    assert sorted(SMALL) == sorted(file.stem for file in EXAMPLES.glob("*.lift"))


def test_all_of_them_are_proved() -> None:
    for case in every():
        for kernel in case.made.kernels:
            proof = prove(kernel)
            assert proof.ok, f"{case.name}: {proof.summary()}"


# The simulator

CHECKS = {
    "all": ["--data-races"],
    # What the optimizer writes, and what an earlier kernel wrote, this check does not know.
    "single": ["--uninitialized", "--build-options", "-cl-opt-disable"],
}


def simulated(which: str, options: list[str], log: Path) -> str:
    """The output of `tests.support.agreement` with the argument `which`, run under Oclgrind with
    these options; Oclgrind's reports go to the log."""
    oclgrind = shutil.which("oclgrind")
    if oclgrind is None:
        pytest.skip("oclgrind is not installed")
    python = [sys.executable, "-m", "tests.support.agreement", which]
    command = [oclgrind, *options, "--log", str(log), *python]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("which", CHECKS)
def test_oclgrind_agrees_and_reports_nothing(which: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert simulated(which, CHECKS[which], log).split("\n") == ["Oclgrind Simulator", ""]
    assert log.read_text() == ""


def test_oclgrind_reports_a_fault_where_there_is_one(tmp_path: Path) -> None:
    log = tmp_path / "log"
    options = [option for check in CHECKS.values() for option in check]
    simulated("faulty", options, log)
    reported = log.read_text()
    for name in FAULTS:
        assert f"Kernel: {name}" in reported
