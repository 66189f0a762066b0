"""Waiting for whichever of several groups of workers finishes a task first, or for all of one."""

import time
from collections.abc import Iterable, Iterator, Sequence
from multiprocessing.connection import wait
from typing import Any, Protocol, TypeVar

from explore.workers.done import Done
from explore.workers.workers import Workers

T = TypeVar("T")
R = TypeVar("R")

GLANCE = 0.05  # seconds between looks at the workers


def wait_any(
    groups: Sequence[Workers], timeout: float | None = None
) -> list[tuple[Workers, Done[Any, Any]]]:
    """The tasks that have finished in any of the groups; if there are none yet, those that finish
    within `timeout` seconds (None: without limit), as soon as the first does."""
    until = None if timeout is None else time.monotonic() + timeout
    while True:
        for group in groups:
            group.step()
        found = [(group, done) for group in groups for done in group.finished()]
        left = GLANCE if until is None else min(GLANCE, until - time.monotonic())
        if found or left <= 0 or not any(group.pending for group in groups):
            return found
        wait([c for group in groups for c in group.connections()], left)


class Doing(Protocol[T, R]):
    """Workers that do tasks of one type."""

    @property
    def pending(self) -> int:
        """The number of submitted tasks whose results were not handed out yet."""

    def submit(self, task: T, timeout: float | None = None) -> None:
        """Submit a task."""

    def results(self, timeout: float | None = None) -> list[Done[T, R]]:
        """The tasks that finish first."""


def each_done(
    workers: Doing[T, R], tasks: Iterable[T], timeout: float | None = None
) -> Iterator[Done[T, R]]:
    """The results of all tasks that the workers have or are given here, in the order in which they
    finish; `timeout` is the most seconds that a task given here may take (None: these workers'
    usual limit)."""
    for task in tasks:
        workers.submit(task, timeout)
    while workers.pending:
        yield from workers.results()
