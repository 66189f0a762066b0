"""A board as the only worker of a run on another machine. If its connection breaks, it is opened
again, for some time; the task that the board was working on is sent again."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from explore.board.messages import Message, asked, receive, result_from, send
from explore.options.stored_fields import Damaged
from explore.results.records import Failed
from explore.workers.done import Done
from explore.workers.wait_any import wait_any
from ir.errors import UserError

GRACE = 60.0  # seconds after its limit in which the board must answer
PATIENCE = 60.0  # seconds in which a connection that broke must be open again
ASKED_AGAIN = 3  # times that a task may break a connection, before it is to blame


@dataclass(slots=True)
class _Asked:
    task: Any
    limit: float
    since: float
    broken: int = 0


class BoardPool:
    """The board as a worker: `connect` opens a connection, `given` is the message that is sent
    first on each connection, `limit` is the usual limit of a task in seconds, and `note` prints
    messages."""

    def __init__(
        self,
        connect: "Callable[[], Connection[Any, Any]]",
        given: Message,
        limit: float,
        note: Callable[[str], None],
    ) -> None:
        self._connect, self._given, self._limit, self._note = connect, given, limit, note
        self._waiting: deque[_Asked] = deque()
        self._doing: _Asked | None = None
        self._finished: deque[Done[Any, Any]] = deque()
        self._connection = self._ready()

    def _ready(self) -> "Connection[Any, Any]":
        """A new connection to the board, on which the message `given` was sent and answered."""
        connection = self._connect()
        send(connection, self._given)
        if (answer := receive(connection)).kind != "ready":
            raise UserError(
                f"expected the board to answer that it is ready, found the answer {answer.kind!r}"
            )
        return connection

    @property
    def pending(self) -> int:
        """The number of submitted tasks whose results were not handed out yet."""
        return len(self._waiting) + (self._doing is not None) + len(self._finished)

    @property
    def free(self) -> int:
        """The number of tasks that would start at once if they were submitted now: 1 or 0."""
        return int(self._doing is None and not self._waiting)

    def submit(self, task: Any, timeout: float | None = None) -> None:
        """Submit a task for the board; `timeout` is the most seconds that it may take (None: the
        usual limit)."""
        self._waiting.append(_Asked(task, self._limit if timeout is None else timeout, 0.0))
        self._dispatch()

    def results(self, timeout: float | None = None) -> list[Done[Any, Any]]:
        """The tasks that finished, after waiting up to `timeout` seconds (None: without limit) for
        the first."""
        return [done for _, done in wait_any([self], timeout)]

    def connections(self) -> "list[Connection[Any, Any]]":
        """A list of the one connection to the board, which can be read once the board has
        answered."""
        return [self._connection]

    def finished(self) -> list[Done[Any, Any]]:
        """The finished tasks that were not handed out yet."""
        found = list(self._finished)
        self._finished.clear()
        return found

    def step(self) -> None:
        """Take in the board's answer, and give it the next task."""
        if (doing := self._doing) is not None:
            try:
                if self._connection.poll():
                    self._finish(doing, result_from(receive(self._connection)))
                elif time.monotonic() - doing.since > doing.limit + GRACE:
                    self._broke("it does not answer")
            except Damaged as error:
                self._finish(
                    doing, Failed("run", f"the board's answer is damaged: {error.message}")
                )
            except (EOFError, OSError) as error:
                self._broke(type(error).__name__)
        self._dispatch()

    def _finish(self, doing: _Asked, result: Any) -> None:
        self._doing = None
        self._finished.append(Done(doing.task, result, time.monotonic() - doing.since))

    def _broke(self, why: str) -> None:
        """Open the broken connection again, and let the task that the board had wait to be sent
        again; `why` says what happened."""
        doing, self._doing = self._doing, None
        self._note(f"the connection to the board broke ({why}): it is opened again")
        self._connection.close()
        self._connection = self._again()
        if doing is not None:
            doing.broken += 1
            if doing.broken < ASKED_AGAIN:
                self._waiting.appendleft(doing)
            else:
                self._finish(
                    doing,
                    Failed(
                        "run", f"the board's connection broke {ASKED_AGAIN} times during this task"
                    ),
                )

    def _again(self) -> "Connection[Any, Any]":
        until = time.monotonic() + PATIENCE
        while True:
            try:
                return self._ready()
            except (UserError, EOFError, OSError):
                if time.monotonic() > until:
                    raise
                time.sleep(0.5)

    def _dispatch(self) -> None:
        if self._doing is None and self._waiting:
            self._doing = self._waiting.popleft()
            self._doing.since = time.monotonic()
            try:
                send(self._connection, asked(self._doing.task, self._doing.limit))
            except OSError as error:
                self._broke(type(error).__name__)

    def close(self) -> None:
        """End the connection, and forget the tasks."""
        self._waiting.clear()
        self._doing = None
        self._finished.clear()
        self._connection.close()

    def __enter__(self) -> "BoardPool":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
