"""Tests of clusters: a run with one finds the same variants as a run without, also if workers are
killed or stopped."""

import os
import pickle
import signal
import sqlite3
import time
from asyncio import CancelledError
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, Nanny, Scheduler, SpecCluster, Worker

from codegen.runtime.devices import Device, kind_of
from explore.cluster import cluster_pool
from explore.cluster.cluster import LOOPBACK, joined
from explore.cluster.cluster_pool import ClusterPool
from explore.cluster.on_worker import PREFIX, Recipe, do, owned_by
from explore.options.options import Options
from explore.results.records import Failed, Measured, Record
from explore.run.run import Run, resume, start
from explore.run.source import Source
from explore.run.target import target_of
from explore.run_store.guarded_database import FILE
from ir.errors import UserError

TEXT = """tiny(const weights : [[float]K]M, xs : [float]N) =
  map(window -> map(kernel -> dot(window, kernel), weights), slide(K, 1, xs))
where K = 4, M = 8, N = 19
"""


def cluster_of(**workers: dict[str, Any]) -> SpecCluster:
    """A cluster on this machine with a worker for each name. A worker's options are those of Dask,
    and `process`: true for a worker that is a process of its own."""
    return SpecCluster(
        workers={
            name: {
                "cls": Nanny if options.pop("process", False) else Worker,
                "options": {"nthreads": 1, "dashboard": False, **LOOPBACK, **options},
            }
            for name, options in workers.items()
        },
        scheduler={"cls": Scheduler, "options": {"dashboard": False, "port": 0, **LOOPBACK}},
        silence_logs=50,
    )


def first_round(folder: Path) -> list[Record]:
    """The records of the variants that the search of a run tried, as they were done: what is
    measured once more comes later."""
    return [r for r in Run(folder).records if r.round == 0]


def by_id(records: Sequence[Record]) -> dict[str, Record]:
    """Records by the ids of their variants."""
    return {r.variant.id: r for r in records}


def test_a_cluster_tries_the_variants_that_a_run_without_one_tries(
    device: Device, tmp_path: Path
) -> None:
    options = Options(variants=4, families=("registers",), strategy="random", jobs=1)
    source, said = Source(TEXT, "<test>"), list[str]()
    target = target_of(device, None, ())
    start(source, options, target, tmp_path / "here", False)
    with (
        cluster_of(one={}, own={"resources": {f"{PREFIX}{device.index}": 1}}) as made,
        joined(made.scheduler_address, 1, said.append) as cluster,
    ):
        (found,) = cluster.kinds()
        assert kind_of(found) == kind_of(device)
        there = target_of(found, None, ())
        start(source, options, there, tmp_path / "there", False, cluster)
        before = by_id(first_round(tmp_path / "there")).keys()
        with closing(sqlite3.connect(tmp_path / "there" / FILE)) as store, store:
            store.execute("DELETE FROM outcome WHERE rowid > (SELECT min(rowid) FROM outcome) + 1")
        resume(tmp_path / "there", False, cluster, cluster.kinds)
        assert by_id(first_round(tmp_path / "there")).keys() == before
    here, there_ = first_round(tmp_path / "here"), first_round(tmp_path / "there")
    assert len(here) == len(there_) == len(before) == options.variants
    others = by_id(there_)
    assert by_id(here).keys() == others.keys()
    for record in here:
        other = others[record.variant.id]
        assert record.variant.plan == other.variant.plan
        assert type(record.outcome) is type(other.outcome)
    assert any(isinstance(r.outcome, Measured) for r in there_)
    assert said == []


# ---- workers that are lost


def nap_and_double(state: int, n: int) -> int | Failed:
    """The number 2 n, after 0.4 s. If n is negative, the process that calls this kills itself; it
    has to be a child of the cluster's worker. `state` is not used."""
    if n < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.4)
    return 2 * n


def ready() -> int:
    """The state of a worker whose tasks use none: 0."""
    return 0


def plain(device: Device | None) -> Callable[[], int]:
    """A function that makes the state of a worker for a device (None: without one): always
    `ready`."""
    return ready


@pytest.fixture
def workers() -> Iterator[tuple[Any, Client]]:
    """A cluster of three workers (one in this process, two that are processes of their own), and
    its client."""
    with (
        cluster_of(stays={}, killed={"process": True}, stopped={"process": True}) as made,
        Client(made, set_as_default=False) as client,
    ):
        yield made, client


def pid_of(client: Client, worker: str) -> int:
    found: int = client.submit(os.getpid, workers=[worker], pure=False).result(30)
    return found


def until(what: Callable[[], bool], step: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not what():
        assert time.monotonic() < end, "it took too long"
        step()


def test_a_killed_worker_and_a_stopped_one_cost_nothing_but_time(
    workers: tuple[Any, Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, client = workers
    monkeypatch.setattr(cluster_pool, "GRACE", 3.0)
    said = list[str]()
    by_name = {
        name: worker.worker_address
        for name, worker in made.workers.items()
        if hasattr(worker, "worker_address")
    }
    names = {**by_name, "stays": made.workers["stays"].address}
    pids = {name: pid_of(client, names[name]) for name in ("killed", "stopped")}
    there = dict.fromkeys(names.values())

    def find() -> dict[str, None]:
        known = client.scheduler_info(n_workers=-1)["workers"]
        return {w: None for w in there if w in known}

    recipe = Recipe(nap_and_double, plain, "run", 2.0)
    with ClusterPool(client, find, recipe, said.append) as pool:
        until(lambda: len(pool._idle) == 3, pool.step)
        tasks = [1, 2, 3, -4, *range(5, 13)]
        for task in tasks:
            pool.submit(task)
        assert pool.pending == len(tasks)
        done = pool.results(30)
        os.kill(pids["killed"], signal.SIGKILL)
        os.kill(pids["stopped"], signal.SIGSTOP)
        try:
            while pool.pending:
                done += pool.results(60)
        finally:
            os.kill(pids["stopped"], signal.SIGKILL)
    results = {d.task: d.result for d in done}
    assert len(done) == len(tasks)
    assert {t: r for t, r in results.items() if t > 0} == {t: 2 * t for t in tasks if t > 0}
    assert isinstance(results[-4], Failed)
    assert any(names["stopped"] in line and "is left out" in line for line in said)
    assert any(names["killed"] in line and "was lost" in line for line in said)


def test_a_task_over_which_workers_are_lost_again_and_again_is_to_blame() -> None:
    class Nobody:
        def submit(self, *call: Any, **options: Any) -> Any:
            raise AssertionError("there is no worker")

    recipe = Recipe(nap_and_double, plain, "run", 2.0)
    with ClusterPool(Nobody(), dict, recipe, lambda said: None) as pool:
        task = cluster_pool._Task(7, 1.0)
        for _ in range(cluster_pool.TRIES):
            assert not pool.finished()
            pool._again(task)
        (done,) = pool.finished()
        assert done.task == 7
        assert isinstance(done.result, Failed)


@pytest.mark.parametrize("gone", [TimeoutError, CancelledError])
def test_a_result_that_went_with_its_worker_is_made_elsewhere(gone: type[BaseException]) -> None:
    class Answer:
        """A future of a call that ended, of which the result can be fetched or is `gone`."""

        status = "finished"

        def __init__(self, found: Any) -> None:
            self.found = found

        def add_done_callback(self, call: Callable[[Any], None]) -> None:
            call(self)

        def cancel(self) -> None:
            pass

        def result(self, timeout: float) -> Any:
            if self.found is gone:
                raise gone
            return self.found

    class Workers:
        def submit(self, call: Any, *given: Any, workers: list[str], **options: Any) -> Answer:
            if call is not do:
                return Answer(None)
            return Answer(gone if workers == ["dies"] else pickle.dumps((42, 0.1)))

    said, there = list[str](), {"dies": None}
    recipe = Recipe(nap_and_double, plain, "run", 2.0)
    with ClusterPool(Workers(), lambda: there, recipe, said.append) as pool:
        until(lambda: bool(pool._idle), pool.step)
        pool.submit(21)
        del there["dies"]
        there["stays"] = None
        (done,) = pool.results(30)
    assert (done.task, done.result) == (21, 42)
    assert said == ["dies was lost; what it had in its hands is tried elsewhere"]


def test_tasks_that_no_worker_is_left_for_wait_a_while_and_then_the_run_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cluster_pool, "LOOK", 0.0)
    said = list[str]()
    recipe = Recipe(nap_and_double, plain, "run", 2.0)
    with ClusterPool(None, dict, recipe, said.append) as pool:
        pool.step()
        assert said == []  # nothing waits
        pool.submit(1)
        pool.step()
        pool.step()
        assert said == ["no worker is left to run: waiting for one to join"]
        monkeypatch.setattr(cluster_pool, "NOBODY", 0.0)
        with pytest.raises(UserError, match="explore resume"):
            pool.results(5)


def test_a_worker_owns_the_device_that_its_resource_names() -> None:
    assert owned_by({f"{PREFIX}3": 1.0, "GPU": 2.0}) == 3
    assert owned_by({"GPU": 1.0}) is None
    assert owned_by({f"{PREFIX}x": 1.0}) is None


def test_where_no_cluster_answers_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    from explore.cluster import cluster

    monkeypatch.setattr(cluster, "JOINING", 0.2)
    with (
        pytest.raises(UserError, match="no cluster answers"),
        joined("tcp://127.0.0.1:9", 1, print),
    ):
        pass


def test_an_address_that_is_not_encrypted_where_that_is_demanded_is_refused() -> None:
    import dask.config

    with (
        dask.config.set({"distributed.comm.require-encryption": True}),
        pytest.raises(UserError, match="encryption required"),
        joined("tcp://127.0.0.1:9", 1, print),
    ):
        pass
