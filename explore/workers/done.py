"""A task that a worker has done, with its result."""

from typing import Generic, TypeVar

from explore.results.records import Failed
from ir.core.frozen import frozen

T = TypeVar("T")
R = TypeVar("R")


@frozen
class Done(Generic[T, R]):
    """A task and its result, with the wall-clock seconds that the worker spent on it."""

    task: T
    result: R | Failed
    seconds: float
