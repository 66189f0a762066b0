"""The progress of a run: a live bar on a terminal, and elsewhere a plain line now and then."""

import time
from collections.abc import Callable, Sequence
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from explore.options.units import show_time
from explore.results.front import pareto
from explore.results.lost_forms import LostForm, lost_lines
from explore.results.records import Failed, Record
from ir.text.counted import counted

_EVERY = 10.0  # seconds between plain lines
_DERIVING = "deriving forms"
_KNOWN = 20  # variants after which the pace is known


class Audience(Protocol):
    """A listener that is told of a run's progress besides the terminal, such as an open page."""

    def saw(self, record: Record, says: str) -> None: ...
    def lost(self, form: LostForm) -> None: ...
    def note(self, says: str) -> None: ...


class Watch:
    """The display of a run's progress: `with Watch(1000) as watch: watch.saw(record)`.

    Records in `before`, stored by earlier starts of the run, count as done, but not for the pace.
    """

    def __init__(
        self,
        total: int,
        *,
        console: Console | None = None,
        before: Sequence[Record] = (),
        clock: Callable[[], float] = time.monotonic,
        live: Audience | None = None,
    ) -> None:
        self._console = console or Console(stderr=True)
        self._total, self._clock, self._live = total, clock, live
        self._begun, self._spoke = clock(), clock()
        self._here = self._done = self._failed = self._lost = 0
        self._front: list[tuple[float, float]] = []
        self._best: Record | None = None
        self._bar = _bar(self._console) if self._console.is_terminal else None
        self._task = (
            self._bar.add_task("", total=None, says="", count="") if self._bar else TaskID(0)
        )
        for record in before:
            self._count(record)

    def saw(self, record: Record) -> None:
        """Count a record's outcome, and show the progress."""
        self._here += 1
        self._count(record)
        self._show(self._done, self._total, self.says())
        if self._live:
            self._live.saw(record, f"{self._done}/{self._total}  {self.says()}")

    def derived(self, done: int, total: int) -> None:
        """Show that `done` of `total` forms are derived."""
        self._show(done, total, _DERIVING)
        if self._live:
            self._live.note(f"{_DERIVING}: {done}/{total}")

    def _show(self, done: int, total: int, says: str) -> None:
        """Show on the bar that `done` of `total` are done, and what the run `says`; where there is
        no bar, print this as a line, if the last line was printed some time ago."""
        if self._bar:
            count = f"{done}/{total}"
            self._bar.update(self._task, completed=done, total=total, says=says, count=count)
        elif self._clock() - self._spoke >= _EVERY or self._done == self._total:
            self._spoke = self._clock()
            self._console.print(Text(f"{done}/{total}  {says}"), soft_wrap=True)

    def lost(self, form: LostForm) -> None:
        """Count a form that was not derived, which does not count as a variant, and print the
        reason at once."""
        self._lost += 1
        if self._live:
            self._live.lost(form)
        for line in lost_lines([form]):
            self.note(line)

    def note(self, text: str) -> None:
        """Print a message once, above the bar."""
        if self._live:
            self._live.note(text)
        self._console.print(Text(text), soft_wrap=True)

    def says(self) -> str:
        best = f"best {show_time(self._best.time_ns)}" if self._best else "nothing has run yet"
        name = f" ({self._best.variant.id})" if self._best else ""
        lost = f"{counted(self._lost, 'form')} not derived" if self._lost else ""
        counts = (f"{self._failed} failed", lost, f"front {len(self._front)}")
        parts = (*counts, best + name, self._left())
        return "  ".join(part for part in parts if part)

    def _count(self, record: Record) -> None:
        self._done += 1
        self._failed += isinstance(record.outcome, Failed)
        if record.time_ns is None:
            return
        point = (record.time_ns, float(record.memory_bytes or 0))
        self._front = pareto([*self._front, point], lambda p: p)
        if self._best is None or record.time_ns < (self._best.time_ns or 0):
            self._best = record

    def _left(self) -> str:
        if self._here < min(_KNOWN, self._total) or self._done >= self._total:
            return ""
        pace = (self._clock() - self._begun) / self._here
        minutes, seconds = divmod(round(pace * (self._total - self._done)), 60)
        return f"{minutes}:{seconds:02d} left"

    def __enter__(self) -> "Watch":
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar:
            self._bar.stop()


def _bar(console: Console) -> Progress:
    return Progress(
        SpinnerColumn(),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[count]}", markup=False),
        TimeElapsedColumn(),
        TextColumn("{task.fields[says]}", markup=False),
        console=console,
        refresh_per_second=4,
    )
