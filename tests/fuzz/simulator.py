"""The run of the fuzzer under Oclgrind, and a reader of the faults that Oclgrind reports."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

SINGLE = "FUZZ_SINGLE"  # set: programs of one kernel alone
LOG = "FUZZ_LOG"  # where the simulator's reports go
CHECKS = {
    "races": ["--data-races"],
    # What the optimizer writes, and what an earlier kernel wrote, this check does not know.
    "uninitialized": ["--uninitialized", "--build-options", "-cl-opt-disable"],
}


def run_simulated(check: str, arguments: list[str]) -> int:
    """Run the fuzzer with these arguments and with Oclgrind as its device, which looks for the
    faults that `check` names; returns the exit status."""
    oclgrind = shutil.which("oclgrind")
    if oclgrind is None:
        print("oclgrind is not installed", file=sys.stderr)
        return 2
    rest = without(arguments, "--oclgrind")
    with TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        env = {**os.environ, LOG: str(log)} | ({SINGLE: "1"} if check == "uninitialized" else {})
        python = [sys.executable, "-m", "tests.fuzz", *rest]
        command = [oclgrind, *CHECKS[check], "--log", str(log), *python]
        return subprocess.run(command, env=env, check=False).returncode


def without(arguments: list[str], option: str) -> list[str]:
    """The arguments without `option` and its value, which is the next argument or follows a `=`."""
    rest, skip = [], False
    for argument in arguments:
        if not skip and not argument.startswith(f"{option}="):
            rest.append(argument)
        skip = argument == option
    return [argument for argument in rest if argument != option]


@dataclass(slots=True)
class Reports:
    """A reader of Oclgrind's log: `fresh` gives the text since the last call, which is empty if
    there is no log."""

    seen: int = 0

    def fresh(self) -> str:
        file = Path(os.environ.get(LOG, os.devnull))
        text = file.read_text(errors="replace") if file.exists() else ""
        new, self.seen = text[self.seen :], len(text)
        return new


def single() -> bool:
    """True if only programs of one kernel are to be run, as an environment variable says."""
    return SINGLE in os.environ
