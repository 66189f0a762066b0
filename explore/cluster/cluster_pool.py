"""A pool whose workers are those of a cluster: each has one task at a time, and may be lost or
hang.

The pool decides which worker gets which task. So it knows what a lost worker had, and gives that to
another one. A worker that does not answer until long after its task's limit is used no more."""

import contextlib
import os
import pickle
import time
import warnings
from asyncio import CancelledError
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from typing import Any

from explore.cluster.on_worker import Recipe, dismiss, do, key_of, outcome, prepare
from explore.results.records import Failed
from explore.workers.done import Done
from explore.workers.wait_any import wait_any
from ir.errors import UserError

GRACE = 30.0  # seconds after its limit in which a worker must answer; it may replace its child
START = 180.0  # seconds that a worker has to prepare
LOOK = 1.0  # seconds between looks at who is there
NOBODY = 300.0  # seconds that tasks wait where no worker is left
TRIES = 3  # workers that may be lost over a task, before the task is to blame

Find = Callable[[], Mapping[str, Any]]  # the workers there are, by address, with their devices


@dataclass(slots=True)
class _Task:
    task: Any
    limit: float
    lost: int = 0  # workers that were lost over it


@dataclass(slots=True)
class _Held:
    """The work that a worker has at present: a task (None: it prepares for tasks), the future of
    the result, and the times at which the work began and by which it must be done."""

    task: _Task | None
    future: Any
    since: float
    until: float


class ClusterPool:
    """Workers of a cluster that carry out the tasks of a recipe; workers that join the cluster
    later are used, too."""

    def __init__(
        self, client: Any, find: Find, recipe: Recipe, note: Callable[[str], None]
    ) -> None:
        self._client, self._find, self._note = client, find, note
        self._recipe, self._limit = pickle.dumps(recipe), recipe.timeout
        self._stage = recipe.stage
        self._key = key_of(self._recipe)
        self._waiting: deque[_Task] = deque()
        self._held: dict[str, _Held] = {}  # by worker
        self._idle: list[str] = []
        self._left_out: set[str] = set()
        self._finished: deque[Done[Any, Any]] = deque()
        self._news: SimpleQueue[tuple[str, Any]] = SimpleQueue()
        self._dismissed: list[Any] = []  # held, so that the workers hear of it
        self._looked = 0.0
        self._alone: float | None = None  # since when tasks wait where no worker is left
        reading, self._bell = os.pipe()
        self._ear: Connection[Any, Any] = Connection(reading, writable=False)
        self.step()

    @property
    def pending(self) -> int:
        """The number of submitted tasks whose results were not handed out yet."""
        doing = sum(held.task is not None for held in self._held.values())
        return len(self._waiting) + doing + len(self._finished)

    @property
    def free(self) -> int:
        """The number of further tasks that it is useful to submit: as many as would start at once,
        but at least one if no task waits or if there are no workers."""
        return max(0, max(1, len(self._idle)) - len(self._waiting)) if self._any() else 1

    def _any(self) -> bool:
        return bool(self._idle or self._held)

    def submit(self, task: Any, timeout: float | None = None) -> None:
        """Submit a task, which waits until a worker is free; it may take `timeout` seconds (None:
        the usual limit)."""
        self._waiting.append(_Task(task, self._limit if timeout is None else timeout))
        self._dispatch()

    def results(self, timeout: float | None = None) -> list[Done[Any, Any]]:
        """The tasks that finished, after waiting up to `timeout` seconds (None: without limit) for
        the first."""
        return [done for _, done in wait_any([self], timeout)]

    def connections(self) -> "list[Connection[Any, Any]]":
        """The connection that can be read once a worker has something to report."""
        return [self._ear]

    def finished(self) -> list[Done[Any, Any]]:
        """The finished tasks that were not handed out yet."""
        found = list(self._finished)
        self._finished.clear()
        return found

    def step(self) -> None:
        """Take in what workers report, notice workers that came or went, and give waiting tasks to
        free workers."""
        while self._ear.poll():
            os.read(self._ear.fileno(), 4096)
        with contextlib.suppress(Empty):
            while True:
                self._hear(*self._news.get_nowait())
        now = time.monotonic()
        if now - self._looked > LOOK:
            self._looked = now
            self._look(self._find())
            for worker in [w for w, held in self._held.items() if now > held.until]:
                self._left_out.add(worker)
                self._lose(worker, "does not answer and is left out")
            self._mind(now)
        self._dispatch()

    def _mind(self, now: float) -> None:
        """Note once that tasks wait and no worker is left; a UserError if none has come for a long
        time."""
        if self._any() or not self._waiting:
            self._alone = None
        elif self._alone is None:
            self._alone = now
            self._note(f"no worker is left to {self._stage}: waiting for one to join")
        elif now - self._alone > NOBODY:
            raise UserError(
                f"no worker to {self._stage} has joined the cluster for {NOBODY:g} s: start one, "
                "and go on with `explore resume`"
            )

    # ---- workers

    def _look(self, there: Mapping[str, Any]) -> None:
        """Begin to use new workers, and take back the tasks of those that are gone; `there` are the
        workers connected now."""
        for worker in [w for w in (*self._held, *self._idle) if w not in there]:
            self._lose(worker, "was lost")
        for worker, device in there.items():
            if worker not in self._held and worker not in self._idle:
                if worker in self._left_out:
                    continue
                self._give(worker, None, START, prepare, self._recipe, device)

    def _lose(self, worker: str, what: str) -> None:
        """Take back the task of a lost worker; `what` says how it was lost."""
        held = self._held.pop(worker, None)
        if worker in self._idle:
            self._idle.remove(worker)
        told = f"{worker} {what}"
        if held is not None:
            with contextlib.suppress(Exception):  # the scheduler may not know it any more
                held.future.cancel()
            if held.task is not None:
                self._again(held.task)
                told += "; what it had in its hands is tried elsewhere"
        self._note(told)

    def _again(self, task: _Task) -> None:
        """Let a task wait again, unless too many workers were lost with it: then it has failed."""
        task.lost += 1
        if task.lost < TRIES:
            self._waiting.appendleft(task)
        else:
            failed = Failed(self._stage, f"{task.lost} workers were lost while they did this task")
            self._finished.append(Done(task.task, failed, 0.0))

    def _give(self, worker: str, task: _Task | None, limit: float, *call: Any) -> None:
        """Let this worker, and no other, make a `call` (a function and its arguments) that takes at
        most `limit` seconds, for a task or, if that is None, to prepare for tasks."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")  # a recipe has what is right
            future = self._client.submit(
                *call, workers=[worker], allow_other_workers=False, pure=False, retries=0
            )
        now = time.monotonic()
        self._held[worker] = _Held(task, future, now, now + limit + GRACE)
        future.add_done_callback(lambda done: self._rang(worker, done))

    def _rang(self, worker: str, future: Any) -> None:
        """Note that a worker has finished a call; another thread calls this method."""
        self._news.put((worker, future))
        with contextlib.suppress(OSError):
            os.write(self._bell, b".")

    def _hear(self, worker: str, future: Any) -> None:
        """Take in the end of a call that a worker was making, with the result `future`: hand the
        result on; or, if the call failed, or its result is gone with the worker, count the worker
        as lost, and take back its task."""
        held = self._held.get(worker)
        if held is None or held.future is not future:
            return
        if future.status == "error":
            if held.task is None:
                self._left_out.add(worker)
            self._lose(worker, f"failed: {_said(future)}")
            return
        try:
            answer = future.result(timeout=GRACE)
        except (Exception, CancelledError):  # it ended before its result was fetched
            self._lose(worker, "was lost")
            return
        del self._held[worker]
        self._idle.append(worker)
        if held.task is not None:
            result, seconds = outcome(answer)
            self._finished.append(Done(held.task.task, result, seconds))

    def _dispatch(self) -> None:
        while self._waiting and self._idle:
            task, worker = self._waiting.popleft(), self._idle.pop(0)
            self._give(worker, task, task.limit, do, self._key, pickle.dumps(task.task), task.limit)

    def close(self) -> None:
        """Forget all tasks, and let the workers end their child processes."""
        for held in self._held.values():
            with contextlib.suppress(Exception):
                held.future.cancel()
        for worker in self._idle:
            with contextlib.suppress(Exception):  # the cluster may be gone
                self._dismissed.append(
                    self._client.submit(dismiss, self._key, workers=[worker], pure=False)
                )
        self._waiting.clear()
        self._held.clear()
        self._idle.clear()
        self._finished.clear()

    def __enter__(self) -> "ClusterPool":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
        self._ear.close()
        with contextlib.suppress(OSError):
            os.close(self._bell)


def _said(future: Any) -> str:
    """The message of the error with which a task ended on a worker."""
    try:
        error = future.exception(timeout=5)
    except Exception as error_of_asking:
        error = error_of_asking
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]
