"""Trials of tests on mutants, in forks of a process that has collected the tests, each with a time
limit.

`Trials` is a plug-in of pytest: when the tests are collected, it tries mutants on them instead of
running them. A fork exchanges the code of the changed function and runs the mutant's tests until
one fails, the quickest tests first. No file is changed.
"""

# key: m mutant

import gc
import multiprocessing
import os
import resource
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from types import CodeType, FunctionType
from typing import Literal, cast

import pytest

from benchmarks.mutators import Mutant

NOT_LOADED = 99  # exit status
PATIENCE = 5  # times what a test takes without a mutant,
LEAST_S = 10  # and these seconds besides, of processor time
FORK = multiprocessing.get_context("fork")

Answer = Literal["killed", "timeout", "survived"]
Chosen = Callable[[Mutant, Sequence[str]], Sequence[str]]  # of the names of tests


@dataclass
class Trials:
    """A pytest plug-in that tries each mutant on those collected tests that `chosen` picks for it.

    `done` is called with a mutant, its answer, and the seconds of its trial; before each trial
    `enough` is called, and True ends the trials. `jobs` mutants are tried at once. A test may take
    a few times as long as without a mutant, and `least_s` seconds more. `top` is the folder from
    which mutants name their files.
    """

    top: Path
    mutants: Sequence[Mutant]
    chosen: Chosen
    done: Callable[[Mutant, Answer, float], None]
    jobs: int = 1
    enough: Callable[[], bool] = lambda: False
    least_s: float = LEAST_S

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try the mutants, several at a time, in place of running the tests; True, which tells
        pytest that nothing is left to run."""
        if session.testsfailed or not self.mutants:
            return True
        items = {item.nodeid: item for item in session.items}
        names = {m: self.chosen(m, tuple(items)) for m in self.mutants}
        used = {name for own in names.values() for name in own}
        seconds = times([item for name, item in items.items() if name in used])
        limits = {name: self.least_s + PATIENCE * s for name, s in seconds.items()}
        tests = {
            m: [items[n] for n in sorted(own, key=seconds.__getitem__)] for m, own in names.items()
        }
        jobs = [
            FORK.Process(target=self._try, args=(self.mutants[n :: self.jobs], tests, limits))
            for n in range(self.jobs)
        ]
        for job in jobs:
            job.start()
        for job in jobs:
            job.join()
        return True

    def _try(
        self,
        share: Sequence[Mutant],
        tests: Mapping[Mutant, Sequence[pytest.Item]],
        limits: Mapping[str, float],
    ) -> None:
        for m in share:
            if self.enough():
                return
            began = time.monotonic()
            answer = tried(self.top, m, partial(fails, tests[m], limits))
            self.done(m, answer, time.monotonic() - began)


def times(items: Sequence[pytest.Item]) -> dict[str, float]:
    """The seconds of processor time that each of these tests takes without a mutant, by the test's
    name; all must pass."""
    ours, theirs = FORK.Pipe(duplex=False)
    process = FORK.Process(target=_send_times, args=(items, theirs))
    process.start()
    theirs.close()
    found = cast(dict[str, float], ours.recv())
    process.join()
    if missing := [item.nodeid for item in items if item.nodeid not in found]:
        raise RuntimeError(f"expected tests that pass without a mutant, but this fails: {missing}")
    return found


def _send_times(items: Sequence[pytest.Item], end: Connection) -> None:
    _silence()
    found = dict[str, float]()
    for item in items:
        began = time.process_time()
        if not fails([item], {}):
            found[item.nodeid] = time.process_time() - began
    end.send(found)
    os._exit(0)


def fails(items: Sequence[pytest.Item], limits: Mapping[str, float]) -> bool:
    """True if one of these tests fails; they run in this order. A test that runs longer than its
    limit (seconds by the test's name) ends the process."""
    for item, following in zip(items, (*items[1:], None), strict=True):
        if item.nodeid in limits:
            _limit(time.process_time() + limits[item.nodeid])
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if item.session.testsfailed:
            item.session.testsfailed = 0
            item.session.shouldfail = False
            return True
    return False


def _limit(processor_s: float) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(processor_s) + 1, hard))


def tried(top: Path, m: Mutant, fails: Callable[[], bool]) -> Answer:
    """The answer on a mutant: a fork of this process puts the mutant's code into the loaded
    function, and calls `fails`; its exit status says whether that found a failing test."""
    process = FORK.Process(target=_test, args=(top, m, fails))
    process.start()
    process.join()
    if process.exitcode == NOT_LOADED:
        raise RuntimeError(f"no function {m.function} of {m.file} is loaded")
    if process.exitcode is None or process.exitcode < 0:
        return "timeout"
    return "survived" if process.exitcode == 0 else "killed"


def _test(top: Path, m: Mutant, fails: Callable[[], bool]) -> None:
    """In a fork of the process: put the mutant's code into its function, run tests by `fails`, and
    exit with a status that says whether one failed."""
    _silence()
    os.chdir(top)
    if not exchange(top / m.file, m):
        os._exit(NOT_LOADED)
    os._exit(int(fails()))


def _silence() -> None:
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)


def exchange(path: Path, m: Mutant) -> int:
    """Put the code of a mutant into the functions of the loaded module at `path`; returns how many
    functions were changed."""
    new = dict(_codes(compile(m.applied(path.read_bytes()), str(path), "exec")))
    loaded = [f for f in gc.get_objects() if isinstance(f, FunctionType)]
    ours = [f for f in loaded if f.__code__.co_filename == str(path)]
    changed = [f for f in ours if f.__code__.co_qualname in new]
    for f in changed:
        f.__code__ = new[f.__code__.co_qualname]
    return len([f for f in changed if f.__name__ == m.function.partition(".")[0]])


def _codes(code: CodeType) -> list[tuple[str, CodeType]]:
    """The pairs (name, code) of all functions and methods in a module's code, without those that
    are inside functions."""
    found = list[tuple[str, CodeType]]()
    for const in code.co_consts:
        if isinstance(const, CodeType):
            is_class = "__qualname__" in const.co_names
            found += _codes(const) if is_class else [(const.co_qualname, const)]
    return found
