"""The parent's side of the nursery, a process that starts workers as forks of itself."""

import atexit
import contextlib
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import IO, Any

from explore.workers.birth import NUMBER, Birth

_BEFORE = "import os, sys\nbefore = dict(os.environ)\n"
_LOADING = "import contextlib\nwith contextlib.suppress(Exception):\n  import {}\n"
_START = "from explore.workers.nursery_main import main\nmain(int(sys.argv[1]), before)"
FORKS = sys.platform == "linux"  # elsewhere a fork of a process with libraries is not safe
PATIENCE = 5.0  # seconds for the nursery to tell what it must know


class Forked:
    """A worker that the nursery started as a fork of itself."""

    def __init__(self, nursery: "Nursery", told: int) -> None:
        self._nursery, self._told = nursery, told
        self._pid: int | None = None
        self._status: int | None = None

    def pid(self, timeout: float = 0.0) -> int | None:
        """The process id; None if the worker has not started after `timeout` seconds."""
        if self._pid is None:
            self._pid = self._next(timeout)
        return self._pid

    def wait(self, timeout: float) -> int | None:
        """The exit status as `subprocess` gives it; None if the worker has not ended after
        `timeout` seconds."""
        if self._status is None and self.pid(timeout) is not None:
            self._status = self._next(timeout)
        return self._status

    def kill(self) -> None:
        """Kill the worker and all processes that it started."""
        if self._status is None:
            pid = self.pid(PATIENCE)
            if pid is None:  # imports that do not end, or the nursery is dead
                self._nursery.end()
            else:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(pid, signal.SIGKILL)
                self.wait(PATIENCE)
        os.close(self._told)

    def _next(self, timeout: float) -> int | None:
        if not select.select([self._told], [], [], timeout)[0]:
            return None
        told = os.read(self._told, NUMBER.size)
        return int(NUMBER.unpack(told)[0]) if told else None


class Nursery:
    """The nursery as its parent sees it: a process that starts workers, and the socket on which the
    parent asks for them."""

    def __init__(self, complaints: IO[bytes], modules: Sequence[str] = ()) -> None:
        self._asking, theirs = socket.socketpair()
        self._lock = threading.Lock()
        loading = _LOADING.format(", ".join(modules)) if modules else ""
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _BEFORE + loading + _START, str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=complaints,
            stderr=complaints,
            pass_fds=(theirs.fileno(),),
            env=inherited(),
            start_new_session=True,
        )
        theirs.close()
        atexit.register(self.end)  # so that the time its workers took is counted as ours

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def start(
        self, recipe: bytes, theirs: "Connection[Any, Any]", lifeline: int, complaints: IO[bytes]
    ) -> Forked:
        """Start a worker that follows a pickled recipe, with copies of these descriptors: its end
        of the pipe of tasks, the lifeline, and the file for its error output."""
        told, telling = os.pipe()
        birth = pickle.dumps(Birth(recipe, _path(), _folder(), inherited()))
        fds = [theirs.fileno(), lifeline, complaints.fileno(), telling]
        with self._lock, contextlib.suppress(OSError):  # a dead nursery: heard from the pipe
            socket.send_fds(self._asking, [NUMBER.pack(len(birth))], fds)
            self._asking.sendall(birth)
        os.close(telling)
        return Forked(self, told)

    def end(self) -> None:
        """Kill the nursery; its workers live on."""
        self._process.kill()
        self._process.wait()


_making = threading.Lock()
_nurseries: dict[int, Nursery] = {}  # one of each process that forks


def begin_nursery(modules: Sequence[str]) -> None:
    """Start the nursery of this process, if it has none, before any worker is asked for; it imports
    these modules in the meantime. If an import fails, it fails again in the workers, and they
    report it."""
    if not FORKS:
        return
    with _making, tempfile.TemporaryFile() as complaints:
        if (found := _nurseries.get(os.getpid())) is None or not found.alive:
            _nurseries[os.getpid()] = Nursery(complaints, modules)


def nursery(complaints: IO[bytes]) -> Nursery:
    """The nursery of this process; a new one, which writes its error output to the file
    `complaints`, if there is none or it has died."""
    with _making:
        found = _nurseries.get(os.getpid())
        if found is None or not found.alive:
            found = _nurseries[os.getpid()] = Nursery(complaints)
        return found


def inherited() -> dict[str, str]:
    """The environment variables of a child process: this process's own, with its import path in
    PYTHONPATH, so that the child and its children import the same modules."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(_path())}


def _path() -> tuple[str, ...]:
    return tuple(entry or os.getcwd() for entry in sys.path)


def _folder() -> str | None:
    with contextlib.suppress(OSError):
        return os.getcwd()
    return None
