"""Tests of a run on a cluster that loses workers: with one of three killed and one stopped in the
middle, it finds what a run without a cluster finds."""

import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest

from codegen.runtime.devices import Device
from explore.cluster import cluster_pool
from explore.cluster.cluster import EACH, joined
from explore.cluster.on_worker import PREFIX
from explore.options.options import Options
from explore.report.run_difference import difference
from explore.results.front import front
from explore.results.records import Measured, Record
from explore.run.run import Run, start
from explore.run.source import Source
from explore.run.target import target_of
from ir.errors import UserError
from tests.explore.test_cluster import cluster_of, first_round, pid_of

TEXT = """tiny(const weights : [[float]K]M, xs : [float]N) =
  map(window -> map(kernel -> dot(window, kernel), weights), slide(K, 1, xs))
where K = 4, M = 32, N = 131
"""
VARIANTS = 14
KILLED_AFTER, STOPPED_AFTER = 2, 4  # outcomes


def at_outcome(folder: Path, count: int, pid: int, sent: signal.Signals) -> None:
    """Send a signal to a process as soon as the run in a folder has some outcomes."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        with suppress(UserError):  # the run is not there yet
            if len(Run(folder).records) >= count:
                os.kill(pid, sent)
                return
        time.sleep(0.05)


def least_memory(records: Sequence[Record]) -> int:
    return min(r.memory_bytes or 0 for r in front(records))


def test_a_run_that_loses_two_of_three_workers_finds_what_a_run_without_a_cluster_finds(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_pool, "GRACE", 8.0)
    options = Options(variants=VARIANTS, families=("registers",), strategy="random", jobs=1)
    source, said = Source(TEXT, "<test>"), list[str]()
    start(source, options, target_of(device, None, ()), tmp_path / "here", False)
    own = {**EACH, "resources": {f"{PREFIX}{device.index}": 1}, "process": True}
    with (
        cluster_of(builds=dict(EACH), stays=dict(own), killed=dict(own), stopped=dict(own)) as made,
        joined(made.scheduler_address, 1, said.append) as cluster,
    ):
        (found,) = cluster.kinds()
        address = {name: made.workers[name].worker_address for name in ("killed", "stopped")}
        killed, stopped = (pid_of(cluster.client, worker) for worker in address.values())
        folder = tmp_path / "there"
        losses = [
            Thread(target=at_outcome, args=(folder, KILLED_AFTER, killed, signal.SIGKILL)),
            Thread(target=at_outcome, args=(folder, STOPPED_AFTER, stopped, signal.SIGSTOP)),
        ]
        for loss in losses:
            loss.start()
        try:
            target = target_of(found, None, ())
            _, finished = start(source, options, target, folder, False, cluster)
            for loss in losses:
                loss.join()
        finally:
            os.kill(stopped, signal.SIGKILL)
    assert finished
    here, there = first_round(tmp_path / "here"), first_round(folder)
    plans = {r.variant.id: r.variant.plan for r in here}
    assert len(there) == len(plans) == VARIANTS
    assert {r.variant.id: r.variant.plan for r in there} == plans
    assert all(isinstance(r.outcome, Measured) for r in (*here, *there))  # or given up as slow
    apart = difference(here, there)
    assert apart.broken == apart.mended == ()
    assert least_memory(here) == least_memory(there)
    assert any(address["killed"] in line and "was lost" in line for line in said), said
    assert any(address["stopped"] in line and "is left out" in line for line in said), said
