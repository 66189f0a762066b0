"""A function carried out for several tasks at the same time, each in a process of its own, whose
lines are printed here and which is interrupted with this process."""

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")
CRASHED = 1  # the status of what a signal ended


def at_once(function: Callable[[T], int], tasks: Sequence[T]) -> list[int]:
    """The exit statuses that a function returns for these tasks. Each task runs in a process of its
    own; what it prints is printed here, each line after the task's number.

    If this process is interrupted, it interrupts each task's process once and waits for it. If this
    process dies, the tasks' processes are interrupted, too.
    """
    context = get_context("spawn")  # a fork of a process with threads is not safe
    begun = []
    for task in tasks:
        words, told = context.Pipe(duplex=False)
        held, lifeline = context.Pipe(duplex=False)
        child = context.Process(target=_carry_out, args=(function, task, told, held))
        child.start()
        told.close()
        held.close()
        begun.append((child, words, lifeline))
    with _interruptions_for([child for child, _, _ in begun]):
        _print_words({words: f"[{n}] " for n, (_, words, _) in enumerate(begun, 1)})
        for child, _, lifeline in begun:
            child.join()
            lifeline.close()
    statuses = (child.exitcode or 0 for child, _, _ in begun)
    return [CRASHED if status < 0 else status for status in statuses]


@contextmanager
def _interruptions_for(children: Sequence[Any]) -> Iterator[None]:
    """The context in which an interruption (SIGINT) of this process is handed on to its child
    processes."""

    def hand_on(number: int, frame: object) -> None:
        for child in children:
            with suppress(ProcessLookupError):
                if child.is_alive():
                    os.kill(child.pid, signal.SIGINT)

    before = signal.signal(signal.SIGINT, hand_on)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _print_words(names: "dict[Connection[Any, Any], str]") -> None:
    """Print what children write to their pipes, line by line, each line after the child's name,
    until all pipes are closed."""
    rest = dict.fromkeys(names, b"")
    while rest:
        for ready in wait(list(rest)):
            assert isinstance(ready, Connection)
            said = os.read(ready.fileno(), 1 << 16)
            *lines, rest[ready] = (rest[ready] + said).split(b"\n")
            if not said and rest[ready]:
                lines.append(rest[ready])
            for line in lines:
                print(f"{names[ready]}{line.decode(errors='replace')}", flush=True)
            if not said:
                del rest[ready]


def _carry_out(
    function: Callable[[T], int],
    task: T,
    told: "Connection[Any, Any]",
    held: "Connection[Any, Any]",
) -> None:
    """Carry out a function for a task, and end this process with the status that it returns. What
    it prints goes to the pipe `told`; when the other end of the pipe `held` closes, because the
    parent has died, this process is interrupted."""
    os.setsid()  # an interruption comes from the parent, once
    for stream in (1, 2):
        os.dup2(told.fileno(), stream)
    told.close()
    Thread(target=_end_with_parent, args=(held,), daemon=True).start()
    sys.exit(function(task))


def _end_with_parent(held: "Connection[Any, Any]") -> None:
    with suppress(EOFError, OSError):
        held.recv_bytes()
    os.kill(os.getpid(), signal.SIGINT)
