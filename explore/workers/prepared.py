"""Work that a worker does once, when a task first needs it, and that may take long: opening a
device."""

from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, TypeVar

T = TypeVar("T")

BEGINS, ENDS = (None, "begins"), (None, "ends")  # messages to the pool, which no answer is

_pool: list["Connection[Any, Any]"] = []


def belongs_to(pool: "Connection[Any, Any]") -> None:
    """Note that this process is a worker, and which pipe leads to its pool."""
    _pool[:] = [pool]


def prepared(prepare: Callable[[], T]) -> T:
    """The result of `prepare`. In a worker its time counts as that of the worker's start, not of
    the task; if it fails, the worker could not start, and another one gets the task."""
    for pool in _pool:
        pool.send(BEGINS)
    made = prepare()
    for pool in _pool:
        pool.send(ENDS)
    return made
