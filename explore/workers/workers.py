"""The interface of whatever does tasks for a run: processes on this machine, or workers
elsewhere."""

from multiprocessing.connection import Connection
from typing import Any, Protocol

from explore.workers.done import Done


class Workers(Protocol):
    """Workers that do tasks, and that may die meanwhile."""

    @property
    def pending(self) -> int:
        """The number of submitted tasks whose results were not handed out yet."""

    @property
    def free(self) -> int:
        """The number of tasks that could be submitted now and would start at once."""

    def submit(self, task: Any, timeout: float | None = None) -> None:
        """Submit a task; `timeout` is the most seconds that it may take (None: these workers' usual
        limit)."""

    def results(self, timeout: float | None = None) -> list[Done[Any, Any]]:
        """The tasks that have finished; if there are none yet, those that finish within `timeout`
        seconds (None: without limit), as soon as the first does."""

    def step(self) -> None:
        """Take in results, end workers whose task has run out of time, and give waiting tasks to
        free workers."""

    def finished(self) -> list[Done[Any, Any]]:
        """The finished tasks that were not handed out yet."""

    def connections(self) -> "list[Connection[Any, Any]]":
        """The connections that can be read once a worker has something to report."""

    def close(self) -> None:
        """End the workers, and forget their tasks."""

    def __enter__(self) -> "Workers": ...

    def __exit__(self, *error: object) -> None: ...
