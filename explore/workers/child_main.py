"""The main program of a worker process: it takes tasks from a pipe until that closes. It imports
next to nothing."""

import gc
import os
import pickle
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from explore.workers.prepared import belongs_to
from ir.command import DEEPEST

COLLECT_EVERY = 1.0  # seconds, at least
THAW_EVERY = 60  # collections


def main(pipe: int, lifeline: int) -> None:
    """Do tasks from the descriptor `pipe`, and send results back; end when `lifeline`, the
    parent's, closes."""
    for fd in (pipe, lifeline):  # what a build starts must not hold them open
        os.set_inheritable(fd, False)
    threading.Thread(target=_die_with_parent, args=(lifeline,), daemon=True).start()
    _prefer_me_when_memory_runs_out()
    sys.setrecursionlimit(max(DEEPEST, sys.getrecursionlimit()))
    connection: Connection[Any, Any] = Connection(pipe)
    try:
        function = _made(connection.recv_bytes())
        belongs_to(connection)
        connection.send((True, None))
    except BaseException as error:
        connection.send((False, _told(error)))
        return
    collect_between_tasks()
    collected, times = time.monotonic(), 0
    while True:
        try:
            request = connection.recv_bytes()
        except (EOFError, OSError):
            return
        connection.send_bytes(_answer(function, request))
        if time.monotonic() - collected > COLLECT_EVERY:
            times += 1
            collect(thaw=times % THAW_EVERY == 0)
            collected = time.monotonic()


def collect_between_tasks() -> None:
    """Collect garbage between tasks only, so that none is interrupted for it."""
    collect()
    gc.disable()


def collect(thaw: bool = False) -> None:
    """Collect garbage, then exempt what survives (caches) from later scans. With `thaw`, what was
    exempt is scanned too."""
    if thaw:
        gc.unfreeze()
    gc.collect()
    gc.freeze()


def _made(recipe: bytes) -> Callable[[Any], Any]:
    """The function that a child calls with each task, from its pickle; if there is a `setup`, its
    result is the first argument."""
    function, setup, load = pickle.loads(recipe)
    if load is not None:
        load()
    if setup is None:
        return function  # type: ignore[no-any-return]
    state = setup()
    return lambda task: function(state, task)


def _answer(function: Callable[[Any], Any], request: bytes) -> bytes:
    try:
        return pickle.dumps((True, function(pickle.loads(request))))
    except BaseException as error:
        return pickle.dumps((False, _told(error)))


def _told(error: BaseException) -> tuple[str, str]:
    reason = f"{type(error).__name__}: {error}".strip().splitlines()[0]
    return reason, "".join(traceback.format_exception(error))


def _die_with_parent(lifeline: int) -> None:
    os.read(lifeline, 1)
    os.killpg(0, signal.SIGKILL)


def _prefer_me_when_memory_runs_out() -> None:
    """Make the kernel's out-of-memory killer end this worker, and never the run."""
    if sys.platform == "linux":
        try:
            with open("/proc/self/oom_score_adj", "w") as score:
                score.write("1000")
        except OSError:
            pass
