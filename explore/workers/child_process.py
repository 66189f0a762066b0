"""The parent's side of one child process: how it is started, watched and ended."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from multiprocessing.connection import Pipe
from pathlib import Path

from codegen.runtime.process_ending import ending

_START = (
    "import sys; from explore.workers.child_main import main; "
    "main(int(sys.argv[1]), int(sys.argv[2]))"
)


class Worker:
    """A child process that does tasks, its pipe, and the file that takes its error output."""

    def __init__(self, recipe: bytes, env: Mapping[str, str]) -> None:
        self.ready = False
        self.started = time.monotonic()
        self.connection, theirs = Pipe()
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the process)
        lifeline, self._lifeline = os.pipe()
        fds = (theirs.fileno(), lifeline)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _START, *map(str, fds)],
            stdin=subprocess.DEVNULL,
            stdout=self._complaints,
            stderr=self._complaints,
            pass_fds=fds,
            env=dict(env),
            start_new_session=True,  # Ctrl-C is for the parent; one kill takes its children too
        )
        theirs.close()
        os.close(lifeline)
        with contextlib.suppress(OSError):
            self.connection.send_bytes(recipe)

    def how_it_died(self) -> str:
        """The reason in words why the child ended, or that it only closed its pipe."""
        try:
            status = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return "worker closed its pipe"
        return f"worker died {ending(status, self.last_words())}"

    def last_words(self, most: int = 4000) -> str:
        """The end of the child's error output, at most so many bytes of it."""
        size = self._complaints.seek(0, os.SEEK_END)
        self._complaints.seek(max(0, size - most))
        return self._complaints.read().decode(errors="replace")

    def resident_bytes(self) -> int:
        """The resident memory of the child; 0 where the system does not tell."""
        try:
            pages = Path(f"/proc/{self._process.pid}/statm").read_text().split()[1]
        except (OSError, IndexError):
            return 0
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def kill(self) -> None:
        """End the child and whatever it started; it may be called again."""
        if self.connection.closed:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self.connection.close()
        os.close(self._lifeline)


def inherited(extra: Mapping[str, str]) -> dict[str, str]:
    """The environment variables of a child: the parent's, so that the child imports the same
    modules, and `extra`."""
    path = [entry or os.getcwd() for entry in sys.path]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path), **extra}
