"""A pool of processes that do tasks and may die: a crash, a hang or too much memory becomes
`Failed`, and the run goes on.

A `Pool` keeps its workers alive between tasks (starting one costs more than most builds), replaces
those that died, and hands results back as they come. It serves many processes that build, and the
single one that owns the device.
"""

import contextlib
import pickle
import time
from collections import deque
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any, Generic, TypeVar

from explore.options.units import show_bytes
from explore.results.records import Failed, Stage
from explore.workers.child_process import Worker
from explore.workers.done import Done
from explore.workers.prepared import BEGINS
from explore.workers.wait_any import wait_any

T = TypeVar("T")
R = TypeVar("R")

_START_LIMIT = 120.0  # seconds to start and set up: a cold driver can take long
_BAD_STARTS = 3  # in a row, before a task is given up for want of a worker


class Pool(Generic[T, R]):
    """A pool of worker processes that do `function(task)`, or, with `setup`, `function(setup(),
    task)`.

    `setup` runs once in each; where workers are forks of one process, `load` runs once in that,
    and imports what all of them need. Functions, tasks and results must pickle. `timeout` is
    seconds a task, `max_memory` resident bytes a worker. What goes wrong becomes `Failed(stage,
    ...)`; a function may return `Failed` itself.
    """

    def __init__(
        self,
        function: Callable[..., R | Failed],
        *,
        workers: int = 1,
        timeout: float = 60.0,
        stage: Stage = "run",
        setup: Callable[[], Any] | None = None,
        load: Callable[[], None] | None = None,
        max_memory: int | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._timeout, self._stage, self._max_memory = timeout, stage, max_memory
        self._recipe, self._env = pickle.dumps((function, setup, load)), env or {}
        self._waiting: deque[tuple[T, float]] = deque()
        self._workers = [Worker(self._recipe, self._env) for _ in range(workers)]
        self._running: dict[Worker, tuple[T, float, float]] = {}  # task, limit, since
        self._finished: deque[Done[T, R]] = deque()
        self._bad_starts = self._bad_preparations = 0

    @property
    def pending(self) -> int:
        """The number of submitted tasks whose results were not handed back yet."""
        return len(self._waiting) + len(self._running) + len(self._finished)

    @property
    def free(self) -> int:
        """The number of further tasks that would start at once."""
        return max(0, len(self._workers) - len(self._running) - len(self._waiting))

    def submit(self, task: T, timeout: float | None = None) -> None:
        """Give the pool a task, which waits until a worker is free; `timeout` seconds are its
        limit, or the pool's own if it is None."""
        self._waiting.append((task, self._timeout if timeout is None else timeout))
        self._dispatch()

    def results(self, timeout: float | None = None) -> list[Done[T, R]]:
        """The tasks that finished, after waiting up to `timeout` seconds (None: without limit) for
        the first."""
        return [done for _, done in wait_any([self], timeout)]

    def close(self) -> None:
        """Kill the workers, and forget what they were doing."""
        for worker in self._workers:
            worker.kill()
        self._waiting.clear()
        self._running.clear()

    def __enter__(self) -> "Pool[T, R]":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def connections(self) -> "list[Connection[Any, Any]]":
        """The pipes of the workers that are working on a task or still starting."""
        return [w.connection for w in self._workers if w in self._running or not w.ready]

    def step(self) -> None:
        """Take in the workers' results, end workers past their limits, and give waiting tasks to
        free ones."""
        for i, worker in enumerate(self._workers):
            if worker.connection.poll():
                self._hear(i, worker)
            elif reason := self._why_end(worker):
                self._end(i, worker, *reason)
        self._dispatch()

    def _hear(self, i: int, worker: Worker) -> None:
        try:
            fine, answer = worker.connection.recv()
        except (EOFError, OSError, pickle.UnpicklingError):
            self._end(i, worker, worker.how_it_died())
            return
        except Exception as error:  # the result came but cannot be rebuilt here
            fine, answer = False, (f"{type(error).__name__}: {error}", "")
        if fine is None:
            self._prepares(worker, begins=(fine, answer) == BEGINS)
        elif not worker.ready:
            worker.ready = bool(fine)
            if fine:
                self._bad_starts = 0
            else:
                self._end(i, worker, f"the worker could not start: {answer[0]}", answer[1])
        elif worker in self._running and fine:
            self._finish(worker, answer)
        elif worker in self._running:  # what a task's error left behind is not to be trusted
            self._end(i, worker, *answer)

    def _prepares(self, worker: Worker, begins: bool) -> None:
        """Note that a worker begins to prepare itself for its task, or that it is prepared: the
        task's time counts from then on."""
        now = time.monotonic()
        worker.ready, worker.started = not begins, now
        if worker in self._running:
            task, limit, _ = self._running[worker]
            self._running[worker] = (task, limit, now)
        if not begins:
            self._bad_preparations = 0

    def _why_end(self, worker: Worker) -> tuple[str, str, bool] | None:
        """The reason why a worker must end, its detail, and True if it took too long; None if it
        may go on."""
        now = time.monotonic()
        if not worker.ready and now - worker.started > _START_LIMIT:
            return f"the worker took longer than {_START_LIMIT:g} s to start", "", True
        if not worker.ready or worker not in self._running:
            return None
        _, limit, since = self._running[worker]
        if now - since > limit:
            return f"took longer than {limit:g} s", "", True
        if self._max_memory and worker.resident_bytes() > self._max_memory:
            return f"used more than {show_bytes(self._max_memory)} of memory", "", False
        return None

    def _end(
        self, i: int, worker: Worker, reason: str, detail: str = "", timed_out: bool = False
    ) -> None:
        """Kill worker i and begin another in its place; the task that it had fails for this reason,
        with this detail (if that is empty, the worker's last words). If the worker could not start,
        the task waits for another one, until several in a row could not."""
        worker.kill()
        self._bad_starts = 0 if worker.ready else self._bad_starts + 1
        if not worker.ready and worker in self._running:
            self._bad_preparations += 1
            if self._bad_preparations < _BAD_STARTS:
                task, limit, _ = self._running.pop(worker)
                self._waiting.appendleft((task, limit))
        if self._bad_starts >= _BAD_STARTS and self._waiting:  # it will not get better: say so
            task, limit = self._waiting.popleft()
            self._running[worker] = (task, limit, worker.started)
        if worker in self._running:
            words = detail or worker.last_words()
            stage = self._stage if worker.ready else "start"
            self._finish(worker, Failed(stage, reason, words, timed_out))
        self._workers[i] = Worker(self._recipe, self._env)

    def _finish(self, worker: Worker, result: R | Failed) -> None:
        task, _, since = self._running.pop(worker)
        self._finished.append(Done(task, result, time.monotonic() - since))

    def finished(self) -> list[Done[T, R]]:
        """The finished tasks that were not handed out yet; they are forgotten here."""
        found = list(self._finished)
        self._finished.clear()
        return found

    def _dispatch(self) -> None:
        for worker in self._workers:
            if self._waiting and worker.ready and worker not in self._running:
                task, limit = self._waiting.popleft()
                self._running[worker] = (task, limit, time.monotonic())
                with contextlib.suppress(OSError):  # it just died: heard at the next step
                    worker.connection.send(task)
