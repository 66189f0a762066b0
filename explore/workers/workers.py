"""What does tasks for a run: processes here, or workers elsewhere; whoever it is, a run asks in the
same way."""

from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from typing import Any, Protocol

from explore.workers.done import Done


class Workers(Protocol):
    """Workers that do tasks and may die; `wait_any` waits for them."""

    @property
    def pending(self) -> int:
        """The number of submitted tasks whose results were not handed back yet."""

    @property
    def free(self) -> int:
        """The number of further tasks that would start at once."""

    def submit(self, task: Any, timeout: float | None = None) -> None:
        """Give the workers a task, with a limit in seconds."""

    def results(self, timeout: float | None = None) -> list[Done[Any, Any]]:
        """The tasks that finished, after waiting up to `timeout` seconds for the first."""

    def map(self, tasks: Sequence[Any], timeout: float | None = None) -> Iterator[Done[Any, Any]]:
        """The results of all tasks, in the order in which they finish."""

    def step(self) -> None:
        """Take in results, end what is past its limits, and give waiting tasks to free workers."""

    def finished(self) -> list[Done[Any, Any]]:
        """The tasks that have finished and were not handed back yet."""

    def connections(self) -> "list[Connection[Any, Any]]":
        """The connections on which there will be something to read when a worker has news."""

    def close(self) -> None:
        """End the workers, and forget what they were doing."""

    def __enter__(self) -> "Workers": ...

    def __exit__(self, *error: object) -> None: ...
