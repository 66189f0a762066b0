"""The running of plans under Oclgrind, in a process of its own, with the reports of Oclgrind."""

import os
import subprocess
from pathlib import Path

import numpy as np

from codegen.plan import Plan, Role
from codegen.runtime.devices import choose
from codegen.runtime.results import BuildFailed, RunFailed
from codegen.runtime.session import Session, open_device
from ir.errors import UserError


def session() -> Session:
    """A session on Oclgrind's device."""
    return open_device(choose(None))


def simulated(log: Path) -> dict[str, str]:
    """The environment variables by which a process sees only Oclgrind's device, which writes its
    reports to the file `log`."""
    command = ["oclgrind", "--data-races", "--log", str(log), "env", "-0"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    pairs = (line.partition("=") for line in told.split("\0"))
    return {name: value for name, _, value in pairs if os.environ.get(name) != value and name}


def ran(opened: Session, plan: Plan) -> str:
    """The error message of running a plan in the session `opened` on whole numbers; empty if it ran
    without error."""
    random = np.random.default_rng(0)
    given = [b for b in plan.buffers if b.role in (Role.INPUT, Role.CONST)]
    inputs = {b.name: random.integers(-3, 4, b.shape).astype(np.float32) for b in given}
    try:
        opened.build(plan)(inputs)
    except (RunFailed, BuildFailed, UserError) as error:
        return f"{type(error).__name__}: {error}"
    return ""
