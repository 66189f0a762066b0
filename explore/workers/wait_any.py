"""Waiting for whichever of several groups of workers finishes a task first."""

import time
from collections.abc import Sequence
from multiprocessing.connection import wait
from typing import Any

from explore.workers.done import Done
from explore.workers.workers import Workers

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
