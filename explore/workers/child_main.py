"""The other end of a worker: takes tasks from a pipe until it closes. Imports next to nothing."""

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

COLLECT_EVERY = 1.0  # seconds, at least


def main(pipe: int, lifeline: int) -> None:
    """`pipe` carries tasks and results; `lifeline` closes when the parent is gone."""
    for fd in (pipe, lifeline):  # what a build starts must not hold them open
        os.set_inheritable(fd, False)
    threading.Thread(target=_die_with_parent, args=(lifeline,), daemon=True).start()
    _prefer_me_when_memory_runs_out()
    connection: Connection[Any, Any] = Connection(pipe)
    try:
        function = _made(connection.recv_bytes())
        connection.send((True, None))
    except BaseException as error:
        connection.send((False, _told(error)))
        return
    collect_between_tasks()
    collected = time.monotonic()
    while True:
        try:
            request = connection.recv_bytes()
        except (EOFError, OSError):
            return
        connection.send_bytes(_answer(function, request))
        if time.monotonic() - collected > COLLECT_EVERY:
            collect()
            collected = time.monotonic()


def collect_between_tasks() -> None:
    """No pauses within a task, where most of what lives is needed."""
    collect()
    gc.disable()


def collect() -> None:
    """Collect garbage, then freeze what survives: a cache keeps it, so it is not scanned again."""
    gc.collect()
    gc.freeze()


def _made(recipe: bytes) -> Callable[[Any], Any]:
    """The function of the pool; with a `setup`, it also gets what that returned."""
    function, setup = pickle.loads(recipe)
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
    """The kernel's out-of-memory killer takes the highest score: a worker, never the run."""
    if sys.platform == "linux":
        try:
            with open("/proc/self/oom_score_adj", "w") as score:
                score.write("1000")
        except OSError:
            pass
