"""The main program of the nursery: a process that starts workers as forks of itself, so that they
share the modules that it has imported.

A worker of its own spends half a second or more on imports alone. The nursery never opens a device:
a driver's threads would not live on in a fork.
"""

import contextlib
import gc
import os
import pickle
import select
import signal
import socket
import sys
import warnings
from collections.abc import Mapping
from typing import NoReturn

from explore.workers.birth import NUMBER, Birth
from explore.workers.child_main import main as be_a_worker
from ir.core.frozen import frozen

HANDED = 4  # descriptors that come with a request


@frozen
class Descriptors:
    """The file descriptors of a worker: its pipe of tasks, the parent's lifeline, the file for its
    error output, and the pipe to which its process id and, at its end, its exit status are
    written."""

    pipe: int
    lifeline: int
    complaints: int
    told: int

    def close(self) -> None:
        for fd in (self.pipe, self.lifeline, self.complaints, self.told):
            os.close(fd)


def main(control: int, before: Mapping[str, str]) -> None:
    """Start a worker for each request that comes from the socket `control`, and report each
    worker's exit status, until the socket closes. `before` are the environment variables from
    before any module was imported: workers also have those that modules set for themselves."""
    gc.disable()  # whatever it loads stays
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    tell: dict[int, int] = {}  # the descriptor for the exit status of each worker
    with socket.socket(fileno=control) as asked:
        while True:
            ready, _, _ = select.select([asked.fileno(), woken], [], [])
            if woken in ready:
                os.read(woken, 4096)
                _bury(tell)
            if asked.fileno() in ready:
                request = _received(asked)
                if request is None:
                    return
                birth, mine = request
                _import_for(birth)
                child = _forked()
                if child == 0:
                    set_by_modules = _changed(before, birth.environment)
                    not_mine = [asked.detach(), woken, wake, *tell.values()]
                    _begin(birth, set_by_modules, mine, not_mine)
                tell[child] = os.dup(mine.told)
                mine.close()


def _received(asked: socket.socket) -> tuple[Birth, Descriptors] | None:
    """The next request and its descriptors; None if the parent has ended."""
    head, handed, _, _ = socket.recv_fds(asked, NUMBER.size, HANDED)
    if len(head) < NUMBER.size:
        return None
    (size,) = NUMBER.unpack(head)
    return pickle.loads(asked.recv(size, socket.MSG_WAITALL)), Descriptors(*handed)


def _import_for(birth: Birth) -> None:
    """Import the modules that a worker's recipe needs. If that fails, it fails again in the worker,
    which reports it."""
    sys.path[:] = birth.path
    with contextlib.suppress(Exception):
        _, _, load = pickle.loads(birth.recipe)
        if load is not None:
            load()
    gc.freeze()  # a collection in a worker need not touch, and so copy, what it shares


def _forked() -> int:
    with warnings.catch_warnings():  # of the threads of a library, which sees to them itself
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _changed(before: Mapping[str, str], asked: Mapping[str, str]) -> dict[str, str]:
    """The environment variables that imported modules set or changed since `before`, but for those
    that the parent changed, too: it has them as `asked`."""
    mine = {k: v for k, v in os.environ.items() if before.get(k) != v}
    return {k: v for k, v in mine.items() if asked.get(k) == before.get(k)}


def _begin(
    birth: Birth, set_by_modules: Mapping[str, str], mine: Descriptors, not_mine: list[int]
) -> NoReturn:
    """Work as the requested worker in the forked process, and end the process then. It has the
    environment variables `set_by_modules` beside those asked for; `not_mine` are descriptors to
    close first."""
    status = 1
    try:
        os.setsid()  # Ctrl-C is for the parent; one kill takes its children too
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for fd in not_mine:
            os.close(fd)
        for stream in (1, 2):
            os.dup2(mine.complaints, stream)
        os.close(mine.complaints)
        os.environ.clear()
        os.environ.update({**birth.environment, **set_by_modules})
        if birth.folder is not None:
            os.chdir(birth.folder)
        os.write(mine.told, NUMBER.pack(os.getpid()))
        os.close(mine.told)
        be_a_worker(mine.pipe, mine.lifeline)
        status = 0
    finally:
        os._exit(status)


def _bury(tell: dict[int, int]) -> None:
    """Report the exit status of each worker that has ended, on the descriptor that `tell` has for
    its process id."""
    while tell:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        with contextlib.suppress(OSError), os.fdopen(tell.pop(pid), "wb", 0) as told:
            told.write(NUMBER.pack(os.waitstatus_to_exitcode(status)))
