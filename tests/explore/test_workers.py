"""Tests of workers that crash, hang or use too much memory: the run goes on."""

import os
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from explore.results.records import Failed
from explore.workers.child_main import collect
from explore.workers.nursery import FORKS, nursery
from explore.workers.pool import Pool
from explore.workers.prepared import prepared
from explore.workers.wait_any import each_done, wait_any

# Tasks: what a worker is asked to do, by name.


def double(n: int) -> int:
    return 2 * n


def nap(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def obey(task: str) -> object:
    match task:
        case "segfault":
            print("free(): invalid pointer", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGSEGV)
        case "exit":
            os._exit(3)
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "raise":
            raise ValueError("no such tile\nand more")
        case "hang":
            time.sleep(1000)
        case "hang in a child":
            subprocess.run(["sleep", "1000"], check=True)
        case "eat":
            return len(bytearray(b"x" * 600_000_000)) + nap(10)
        case "unpicklable":
            return lambda: 0
        case "fail":
            return Failed("verify", "wrong by 7")
    return os.getpid()


def prepare() -> dict[str, int]:
    return {"base": 100}


def broken_prepare() -> None:
    raise OSError("no device here")


def add_base(state: dict[str, int], n: int) -> int:
    state["base"] += 1  # kept from task to task
    return state["base"] + n


@pytest.fixture
def pool() -> Iterator[Pool[str, object]]:
    with Pool[str, object](obey, timeout=1.0, max_memory=400_000_000) as made:
        yield made


def one(pool: Pool[str, object], task: str, timeout: float | None = None) -> object:
    pool.submit(task, timeout)
    (done,) = pool.results(30)
    assert done.task == task
    return done.result


class Loop:
    """An object that refers to itself, so that only a garbage collection frees it."""

    def __init__(self) -> None:
        self.me = self


def freed(task: int) -> list[bool]:
    """Two answers: was an object that refers to itself freed by a second collection, and by a third
    one with `thaw`? It was in use at the first collection, and given up after that. `task` is not
    used."""
    looped = Loop()
    gone = weakref.ref(looped)
    collect()
    del looped
    collect()
    later = gone() is None
    collect(thaw=True)
    return [later, gone() is None]


def test_what_was_frozen_and_given_up_since_is_found_in_the_end() -> None:
    """A collection passes over objects that survived an earlier one; a collection with `thaw` frees
    those that are no longer used."""
    with Pool[int, list[bool]](freed) as pool:
        assert [d.result for d in each_done(pool, [0])] == [[False, True]]


def test_every_task_comes_back_once() -> None:
    with Pool[int, int](double, workers=2) as pool:
        done = list(each_done(pool, range(50)))
    assert sorted((d.task, d.result) for d in done) == [(n, 2 * n) for n in range(50)]


def test_a_pool_is_free_while_a_task_would_start_at_once() -> None:
    with Pool[float, int](nap) as pool:
        assert pool.free == 1
        pool.submit(0.2)
        assert pool.free == 0
        assert [d.task for d in pool.results()] == [0.2]
        assert pool.free == 1


def test_two_workers_work_at_the_same_time() -> None:
    with Pool[float, int](nap, workers=2) as pool:
        assert len({d.result for d in each_done(pool, [0.3, 0.3])}) == 2


def test_a_worker_stays_alive_between_tasks(pool: Pool[str, object]) -> None:
    assert one(pool, "pid") == one(pool, "pid")


def test_what_setup_made_is_there_for_every_task() -> None:
    with Pool[int, int](add_base, setup=prepare) as pool:
        assert [d.result for d in each_done(pool, [1, 1])] == [102, 103]


@pytest.mark.parametrize(
    ("task", "reason"),
    [
        ("segfault", "worker died with signal 11 (SIGSEGV)"),
        ("exit", "worker died with exit status 3"),
        ("killed", "worker died with signal 9 (SIGKILL), as happens when memory runs out"),
        ("raise", "ValueError: no such tile"),
        ("hang", "took longer than 1 s"),
        ("hang in a child", "took longer than 1 s"),
        ("eat", "used more than 381 MiB of memory"),
    ],
)
def test_what_goes_wrong_is_a_value_and_the_next_task_runs(
    pool: Pool[str, object], task: str, reason: str
) -> None:
    failed = one(pool, task, timeout=20 if task == "eat" else None)
    assert isinstance(failed, Failed)
    assert (failed.stage, failed.reason) == ("run", reason)
    assert failed.timed_out == task.startswith("hang")
    assert isinstance(one(pool, "pid"), int)


def test_the_last_words_of_a_worker_are_kept(pool: Pool[str, object]) -> None:
    failed = one(pool, "segfault")
    assert isinstance(failed, Failed)
    assert "free(): invalid pointer" in failed.detail


def test_a_result_that_cannot_travel_is_a_failure(pool: Pool[str, object]) -> None:
    assert isinstance(one(pool, "unpicklable"), Failed)


def test_a_function_may_fail_in_its_own_words(pool: Pool[str, object]) -> None:
    assert one(pool, "fail") == Failed("verify", "wrong by 7")


def test_a_worker_killed_from_outside_is_replaced(pool: Pool[str, object]) -> None:
    first = one(pool, "pid")
    assert isinstance(first, int)
    os.kill(first, signal.SIGKILL)
    time.sleep(0.2)
    results = [one(pool, "pid"), one(pool, "pid")]
    assert any(isinstance(result, int) and result != first for result in results)


def test_a_worker_that_cannot_start_fails_its_tasks_and_does_not_spin() -> None:
    with Pool[int, int](add_base, setup=broken_prepare, stage="build") as pool:
        (done,) = each_done(pool, [1])
    assert isinstance(done.result, Failed)
    assert done.result.stage == "start"
    assert done.result.reason == "the worker could not start: OSError: no device here"


def test_two_pools_are_awaited_together_and_the_quick_one_answers_first() -> None:
    with Pool[float, int](nap) as builders, Pool[float, int](double) as device:
        builders.submit(1.0)
        device.submit(4)
        ((first, done),) = wait_any([builders, device], 10)
        assert (first is device, done.result) == (True, 8)
        ((second, _),) = wait_any([builders, device], 10)
        assert second is builders


def test_waiting_has_an_end() -> None:
    with Pool[float, int](nap) as pool:
        pool.submit(5.0)
        assert pool.results(0.1) == []
        assert pool.pending == 1


def opening(seconds: float) -> str:
    """A task that first opens something, which takes so many seconds (less than none: it cannot be
    opened), and then takes a tenth of a second."""
    prepared(partial(opened_in, seconds))
    time.sleep(0.1)
    return "done"


def opened_in(seconds: float) -> None:
    if seconds < 0:
        raise OSError("no such device")
    time.sleep(seconds)


def test_what_a_worker_prepares_does_not_count_as_time_of_its_task() -> None:
    with Pool[float, str](opening, timeout=0.5) as pool:
        assert [done.result for done in each_done(pool, [1.0])] == ["done"]
        (late,) = each_done(pool, [0.0], timeout=0.01)
    assert isinstance(late.result, Failed)
    assert (late.result.stage, late.result.timed_out) == ("run", True)


def test_a_worker_that_cannot_prepare_itself_could_not_start() -> None:
    """Three workers try, one after the other; then the task fails at its start."""
    with Pool[float, str](opening, stage="build") as pool:
        (done,) = each_done(pool, [-1.0])
        assert isinstance(done.result, Failed)
        assert done.result.stage == "start"
        assert "could not start: OSError: no such device" in done.result.reason
        assert [done.result for done in each_done(pool, [0.0])] == ["done"]


def surroundings(names: tuple[str, ...]) -> tuple[dict[str, str | None], str, bool]:
    """The surroundings of a worker: the values of these environment variables (None: not set), the
    current folder, and True if the worker leads a session of its own."""
    return {name: os.environ.get(name) for name in names}, os.getcwd(), os.getsid(0) == os.getpid()


def test_a_worker_has_the_surroundings_of_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker has the environment variables and the current folder of the moment at which it
    starts, although it is a fork of a process that was started before these changed."""
    with Pool[int, int](double) as pool:
        assert [d.result for d in each_done(pool, [1])] == [2]
    monkeypatch.setenv("CONVLIFT_TEST", "now")
    monkeypatch.chdir(tmp_path)
    names = ("CONVLIFT_TEST", "HOME", "CONVLIFT_ABSENT")
    with Pool[tuple[str, ...], object](surroundings) as pool:
        (done,) = each_done(pool, [names])
    assert done.result == (
        {"CONVLIFT_TEST": "now", "HOME": os.environ.get("HOME"), "CONVLIFT_ABSENT": None},
        str(tmp_path),
        True,
    )


@pytest.mark.skipif(not FORKS, reason="workers are forks on Linux alone")
def test_a_worker_has_the_variables_that_imported_modules_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a module sets or changes when it is imported, as pyopencl does, stays so in workers that
    are forks of the process that imported it, though the process that asks for them never did."""
    module = (
        "import os\nos.environ['CONVLIFT_OF_MODULE'] = 'set'\nos.environ['PATH'] += ':/of/module'\n"
    )
    (tmp_path / "convlift_sets_variable.py").write_text(module)
    monkeypatch.syspath_prepend(tmp_path)
    names = ("CONVLIFT_OF_MODULE", "PATH")
    with Pool[tuple[str, ...], object](surroundings, load=import_what_sets_a_variable) as pool:
        (done,) = each_done(pool, [names])
    found = {"CONVLIFT_OF_MODULE": "set", "PATH": os.environ["PATH"] + ":/of/module"}
    assert done.result == (found, os.getcwd(), True)
    assert "CONVLIFT_OF_MODULE" not in os.environ


def import_what_sets_a_variable() -> None:
    __import__("convlift_sets_variable")


def test_a_worker_may_have_variables_of_its_own_from_its_start() -> None:
    names = ("CONVLIFT_TEST", "PYTHONHASHSEED")
    own = {"CONVLIFT_TEST": "own", "PYTHONHASHSEED": "7"}
    with Pool[tuple[str, ...], object](surroundings, env=own) as pool:
        (done,) = each_done(pool, [names])
    with Pool[str, object](obey, env=own) as dying:
        (failed,) = [d.result for d in each_done(dying, ["exit"])]
    assert done.result == (own, os.getcwd(), True)
    assert isinstance(failed, Failed)
    assert failed.reason == "worker died with exit status 3"


def open_descriptors(task: int) -> list[str]:
    return sorted(os.readlink(entry) for entry in Path("/proc/self/fd").iterdir() if entry.exists())


@pytest.mark.skipif(not FORKS, reason="workers are forks on Linux alone")
def test_a_worker_holds_nothing_of_its_sisters() -> None:
    """No worker has a pipe of another worker open: the end of a pipe is noticed only when no
    process has it open."""
    with Pool[int, list[str]](open_descriptors, workers=3) as pool:
        held = [set(d.result) for d in each_done(pool, range(30)) if isinstance(d.result, list)]
    pipes = [{name for name in names if name.startswith(("pipe:", "socket:"))} for names in held]
    assert {len(names) for names in pipes} == {2}
    assert all(a == b or not a & b for a in pipes for b in pipes)


@pytest.mark.skipif(not FORKS, reason="workers are forks on Linux alone")
def test_the_process_that_starts_workers_is_replaced_when_it_died() -> None:
    with Pool[str, object](obey) as pool:
        worker, first = one(pool, "pid"), nursery(sys.stderr.buffer)
        first.end()
        assert one(pool, "pid") == worker
        failed = one(pool, "exit")
        assert isinstance(failed, Failed)
        assert failed.reason == "worker closed its pipe"
        assert isinstance(one(pool, "pid"), int)
        assert nursery(sys.stderr.buffer) is not first


def test_workers_die_with_a_run_that_is_killed(tmp_path: Path) -> None:
    script = (
        "import sys, time; from tests.explore.test_workers import *\n"
        "pool = Pool(obey, timeout=1000); (pid,) = [d.result for d in each_done(pool, ['pid'])]\n"
        "pool.submit('hang in a child'); print(pid, flush=True); time.sleep(1000)\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, env=env)
    assert run.stdout is not None
    worker = int(run.stdout.readline())
    run.kill()
    run.wait()
    assert gone(worker)


def gone(pid: int) -> bool:
    for _ in range(100):
        stat = Path(f"/proc/{pid}/stat")
        if not stat.exists() or stat.read_text().split()[2] == "Z":
            return True
        time.sleep(0.05)
    return False
