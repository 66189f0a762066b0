"""The parent's side of one child process: how it is started, watched and ended."""

import contextlib
import os
import tempfile
import time
from collections.abc import Mapping
from multiprocessing.connection import Pipe
from pathlib import Path

from codegen.process_ending import ending
from explore.workers.begin import begun


class Worker:
    """A child process that does tasks, its pipe, and the file that takes its error output."""

    def __init__(self, recipe: bytes, env: Mapping[str, str]) -> None:
        self.ready = False
        self.started = time.monotonic()
        self.connection, theirs = Pipe()
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the process)
        lifeline, self._lifeline = os.pipe()
        self._process = begun(recipe, theirs, lifeline, self._complaints, env=env)
        theirs.close()
        os.close(lifeline)
        with contextlib.suppress(OSError):
            self.connection.send_bytes(recipe)

    def how_it_died(self) -> str:
        """The reason in words why the child ended, or that it only closed its pipe."""
        status = self._process.wait(timeout=5)
        if status is None:
            return "worker closed its pipe"
        return f"worker died {ending(status, self.last_words())}"

    def last_words(self, most: int = 4000) -> str:
        """The end of the child's error output, at most `most` bytes of it."""
        size = self._complaints.seek(0, os.SEEK_END)
        self._complaints.seek(max(0, size - most))
        return self._complaints.read().decode(errors="replace")

    def resident_bytes(self) -> int:
        """The resident memory of the child; 0 where the system does not tell."""
        try:
            pages = Path(f"/proc/{self._process.pid()}/statm").read_text().split()[1]
        except (OSError, IndexError):
            return 0
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def kill(self) -> None:
        """End the child and whatever it started; it may be called again."""
        if self.connection.closed:
            return
        self._process.kill()
        self.connection.close()
        os.close(self._lifeline)
