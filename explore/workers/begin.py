"""The beginning of a worker process: a fork of the nursery, or a process of its own where forks are
not safe."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import IO, Any

from explore.workers.nursery import FORKS, Forked, inherited, nursery

_START = (
    "import sys; from explore.workers.child_main import main; "
    "main(int(sys.argv[1]), int(sys.argv[2]))"
)


class Spawned:
    """A worker that was started as a new process, not as a fork."""

    def __init__(
        self,
        theirs: "Connection[Any, Any]",
        lifeline: int,
        complaints: IO[bytes],
        env: Mapping[str, str],
    ) -> None:
        fds = (theirs.fileno(), lifeline)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _START, *map(str, fds)],
            stdin=subprocess.DEVNULL,
            stdout=complaints,
            stderr=complaints,
            pass_fds=fds,
            env={**inherited(), **env},
            start_new_session=True,  # Ctrl-C is for the parent; one kill takes its children too
        )

    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def wait(self, timeout: float) -> int | None:
        """The exit status; None if the worker has not ended after `timeout` seconds."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(timeout)
        return None

    def kill(self) -> None:
        """Kill the worker and all processes that it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def begun(
    recipe: bytes,
    theirs: "Connection[Any, Any]",
    lifeline: int,
    complaints: IO[bytes],
    *,
    env: Mapping[str, str],
) -> Forked | Spawned:
    """A new worker that follows a pickled recipe. `theirs` is the worker's end of the pipe of
    tasks; the worker ends when `lifeline` closes, writes its error output to the file `complaints`,
    and has the environment variables `env` besides this process's own.

    With variables of its own it is no fork: libraries read them when they are loaded."""
    if FORKS and not env:
        return nursery(complaints).start(recipe, theirs, lifeline, complaints)
    return Spawned(theirs, lifeline, complaints, env)
