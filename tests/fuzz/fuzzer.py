"""The fuzzer's loop: worker processes try the programs of seeds, and their verdicts are counted and
printed."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path

from explore.results.records import Failed
from explore.workers.pool import Pool
from tests.fuzz.count import Count
from tests.fuzz.simulator import Reports
from tests.fuzz.verdicts import Kind, Tried, Verdict
from tests.fuzz.ways import Way
from tests.fuzz.work import Seed, sessions, work

LIMIT = 300.0  # seconds a program, and its findings made smaller
TOLD_EVERY = 20.0  # seconds


@dataclass(slots=True)
class Fuzzer:
    """A fuzzer that tries the programs of the seeds `seed/0`, `seed/1` and so on, each by the plain
    way and `ways` others, on the device named `device` (None: on all), and keeps findings in
    `folder`."""

    seed: str
    ways: int
    folder: Path
    device: str | None
    counted: Count = field(default_factory=Count)
    reports: Reports = field(default_factory=Reports)

    def run(self, jobs: int, minutes: float, programs: int | None, first: int) -> None:
        """Try programs from number `first` on, `jobs` at once, until the time is over or `programs`
        of them are tried (None: no limit)."""
        print(f"seed {self.seed}", flush=True)
        seeds = self._seeds(time.monotonic() + 60 * minutes, programs, first)
        told = time.monotonic()
        with self._pool(jobs) as pool:
            for _ in range(jobs):
                self._submit(pool, seeds)
            while pool.pending:
                for done in pool.results():
                    self._take(done.task, done.result)
                    self._submit(pool, seeds)
                if time.monotonic() - told > TOLD_EVERY:
                    told = time.monotonic()
                    print(self.counted, flush=True)
        print(*self.counted.table(), self.counted, sep="\n", flush=True)

    def _pool(self, jobs: int) -> Pool[Seed, Tried]:
        setup = partial(sessions, self.device)
        return Pool(work, workers=jobs, timeout=LIMIT, setup=setup)

    def _seeds(self, until: float, programs: int | None, first: int) -> Iterator[Seed]:
        for n in count(first):
            if time.monotonic() > until or (programs is not None and n - first >= programs):
                return
            yield Seed(f"{self.seed}/{n}", self.ways, self.folder)

    def _submit(self, pool: Pool[Seed, Tried], seeds: Iterator[Seed]) -> None:
        task = next(seeds, None)
        if task is not None:
            pool.submit(task)

    def _take(self, task: Seed, result: Tried | Failed) -> None:
        tried = lost(task, result) if isinstance(result, Failed) else result
        tried = self._with_report(tried)
        self.counted.add(tried)
        for finding in tried.findings:
            print(f"{tried.seed}: {finding.kind.value}; {finding.way}\n{finding.detail}")
        if tried.findings:
            print(tried.text, flush=True)

    def _with_report(self, tried: Tried) -> Tried:
        said = self.reports.fresh()
        if not said:
            return tried
        report = Verdict(Kind.REPORT, Way("any"), said)
        return replace(tried, verdicts=(*tried.verdicts, report))


def lost(task: Seed, failed: Failed) -> Tried:
    """The verdict on the program of a task's seed whose worker died or took too long."""
    detail = f"{failed.reason}\n{failed.detail}"
    return Tried(task.seed, "", (Verdict(Kind.HANG, Way("any"), detail),))
