"""A task that a worker has done, with its result."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from explore.results.records import Failed

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Done(Generic[T, R]):
    """A task and its result, with the wall-clock seconds that the worker spent on it."""

    task: T
    result: R | Failed
    seconds: float
