"""Runs on clusters, compared with runs without: on several devices at once, with workers that are
lost, and on another host.

    python -m benchmarks.cluster speedup [--layer vgg-7] [--variants 1000] [--own 0,1] [--jobs N]
    python -m benchmarks.cluster alike   [--variants 12]
    python -m benchmarks.cluster hosts   [--variants 24] [--cut 10]

`speedup` measures variants in random order with all devices that `--own` names at once. Then, as
all of these are built already, it measures them again: for `--few-limit` seconds with all devices,
and for as long with one device; and prints how many were measured in a second. At last it compares
the times of the best variants on each device alone with their times while all devices are busy. The
devices must be of one kind.

`alike` explores a program without a cluster, and on one where three workers measure, of which one
is killed and one is stopped in the middle; the variants and their kernels must be the same.

`hosts` (root, Linux) makes a network namespace, which is a host of its own, begins two workers in
it, and cuts the link between the hosts while a run measures there.
"""

import argparse
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from threading import Thread
from typing import Any

from benchmarks.timed_again import meter, passes, timed
from codegen.runtime.devices import Device, devices, working
from explore.cluster.cluster import EACH, LOOPBACK, joined
from explore.cluster.on_worker import PREFIX
from explore.files.named_programs import meant
from explore.measure.measure_tasks import Again
from explore.options.options import Options
from explore.options.units import show_time
from explore.results.front import usable
from explore.results.pace import Level
from explore.results.records import Failed, Record
from explore.run.run import Run, start
from explore.run.source import Source
from explore.run.target import target_of
from ir.errors import UserError
from ir.program_file import text_of

HERE, THERE = "198.51.100.1", "198.51.100.2"  # of the two hosts: addresses for documentation
BEST = 8  # variants whose times are compared, alone and beside busy devices
TINY = """tiny(const weights : [[float]K]M, xs : [float]N) =
  map(window -> map(kernel -> dot(window, kernel), weights), slide(K, 1, xs))
where K = 4, M = 32, N = 515
"""


@contextmanager
def cluster_of(own: Sequence[int], jobs: int) -> Iterator[Any]:
    """The context of a cluster on this machine: it has a worker for each device number in `own`,
    and `jobs` workers without a device, which build."""
    from distributed import Nanny, Scheduler, SpecCluster

    owned = [{f"{PREFIX}{number}": 1} for number in own] + [{} for _ in range(jobs)]
    made = {
        f"worker-{n}": {"cls": Nanny, "options": {**EACH, **LOOPBACK, "resources": resources}}
        for n, resources in enumerate(owned)
    }
    scheduler = {"cls": Scheduler, "options": {"dashboard": False, "port": 0, **LOOPBACK}}
    with SpecCluster(workers=made, scheduler=scheduler, silence_logs=50) as cluster:
        yield cluster


def source_of(layer: str) -> tuple[Source, tuple[tuple[str, int], ...]]:
    """The text of the program of a named layer, and its sizes."""
    (named,) = meant(Path(layer))
    return Source(text_of(named.file), str(named.file)), named.sizes


def say(line: str) -> None:
    print(line, flush=True)


# ---- several devices


def speedup(given: argparse.Namespace) -> None:
    """Print how many variants a second are measured with all devices that `given` names, and how
    many of the same variants with one of them."""
    own, begun = [int(n) for n in given.own.split(",")], time.monotonic()
    source, sizes = source_of(given.layer)
    options = Options.of(
        variants=given.variants,
        strategy="random",
        families=given.families,
        sizes=dict(sizes),
        jobs=given.jobs,
    )
    runs = {}
    with (
        cluster_of(own, options.workers) as made,
        joined(made.scheduler_address, 1, say) as there,
    ):
        target = target_of(there.kinds()[0], None, ())
        for name, limit in (
            ("all", given.time_limit),
            ("all-again", given.few_limit),
            ("one", given.few_limit),
        ):
            if name == "one":
                owners = [w for w, hired in there.hired().items() if hired.device is not None]
                there.client.retire_workers(owners[1:])
            limited = replace(options, time_limit=limit)
            run, _ = start(source, limited, target, given.out / name, False, there)
            runs[name] = first_round(run)
            failed = sum(isinstance(r.outcome, Failed) for r in runs[name])
            pace, at = pace_of(runs[name]), time.monotonic() - begun
            say(
                f"{name}: {len(runs[name])} variants, {failed} failed, {pace:.2f} a second; "
                f"{at:.0f} s since the start"
            )
    for name in ("all", "all-again"):
        common = len(set(ids(runs["one"])) & set(ids(runs[name])))
        several, one = (pace_of(runs[each][:common]) for each in (name, "one"))
        say(
            f"{name}: the first {common} at {several:.2f} a second, with one device {one:.2f}: "
            f"{several / (len(own) * one):.3f} of linear"
        )
    compare_busy(Run(given.out / "all"), [d for d in working(devices()) if d.index in own])


def first_round(run: Run) -> list[Record]:
    """The records that a run had before its front was measured again, in the order in which they
    came."""
    return sorted((r for r in run.records if r.round == 0), key=lambda r: r.elapsed_s)


def ids(records: Sequence[Record]) -> list[str]:
    """The ids of the variants of these records, in order."""
    return [r.variant.id for r in records]


def pace_of(records: Sequence[Record]) -> float:
    """The number of variants measured in a second, from the first of these records to the last."""
    at = sorted(r.elapsed_s for r in records)
    return (len(at) - 1) / (at[-1] - at[0])


def compare_busy(run: Run, own: Sequence[Device]) -> None:
    """Time a run's best variants again on the devices `own`: on each of them while the others are
    idle, and on all at once; and print the differences."""
    best = sorted(usable(run.records), key=lambda r: r.time_ns or 0.0)[:BEST]
    plans = tuple(r.variant.plan for r in best if r.variant.plan is not None)
    with ExitStack() as stack:
        workers = [stack.enter_context(meter(run, device)) for device in own]
        alone = [timed(worker, plans) for worker in workers]
        for worker in workers:
            worker.submit(Again(plans))
        busy = [[Level.of(taken) for taken in passes(worker).readings] for worker in workers]
    ratios, spreads = [], []
    for device, before, after in zip(own, alone, busy, strict=True):
        for record, a, b in zip(best, before, after, strict=True):
            ratios.append(b.median_ns / a.median_ns)
            spreads.append(max(a.spread, b.spread))
            say(
                f"device {device.index} {record.variant.id}: alone {show_time(a.median_ns)} "
                f"± {a.spread:.1%}, busy {show_time(b.median_ns)} ± {b.spread:.1%}, "
                f"{ratios[-1]:.3f} times"
            )
    far = max(abs(ratio - 1) for ratio in ratios)
    say(
        f"busy over alone: median {statistics.median(ratios):.4f}, at most {far:.2%} apart; "
        f"spreads: median {statistics.median(spreads):.2%}, at most {max(spreads):.2%}"
    )


# ---- workers that are lost


def alike(given: argparse.Namespace) -> None:
    """Compare a run without a cluster with a run on three workers, of which one is killed and one
    is stopped meanwhile: the variants and kernels of the two runs must be the same."""
    options = Options(variants=given.variants, strategy="random", jobs=1, families=("registers",))
    source, said, target = Source(TINY, "tiny"), list[str](), target_of(None, None, ())
    here, _ = start(source, options, target, given.out / "here", False)
    assert target.device is not None
    own = target.device.index
    with (
        cluster_of([own] * 3, 1) as made,
        joined(made.scheduler_address, 1, said.append) as there,
    ):
        target = target_of(there.kinds()[0], None, ())
        owners = [w for w, hired in there.hired().items() if hired.device is not None]
        killed, stopped = (_pid_of(there.client, worker) for worker in owners[:2])
        loss = Thread(target=_lose, args=(given.out / "there", killed, stopped), daemon=True)
        loss.start()
        try:
            run, finished = start(source, options, target, given.out / "there", False, there)
        finally:
            os.kill(stopped, signal.SIGKILL)
    made = [{r.variant.id: r.variant.plan for r in first_round(each)} for each in (here, run)]
    same, plans = made[0].keys() == made[1].keys(), made[0] == made[1]
    for line in said:
        say(line)
    say(f"finished: {finished}; the same variants: {same}; the same kernels: {plans}")
    for name, each in (("without", here), ("cluster", run)):
        told = ", ".join(f"{r.variant.id} {show_time(r.time_ns)}" for r in each.front)
        say(f"front {name}: {told}")
    if not (finished and same and plans and len(said) >= 2):
        raise SystemExit(1)


def _pid_of(client: Any, worker: str) -> int:
    found: int = client.submit(os.getpid, workers=[worker], pure=False).result(30)
    return found


def _lose(folder: Path, killed: int, stopped: int) -> None:
    """Kill the process `killed` as soon as the run in `folder` has two outcomes, and stop the
    process `stopped` as soon as it has four."""
    _await_outcomes(folder, 2)
    os.kill(killed, signal.SIGKILL)
    _await_outcomes(folder, 4)
    os.kill(stopped, signal.SIGSTOP)


def _await_outcomes(folder: Path, count: int) -> int:
    """Wait until the run in a folder has `count` outcomes; returns how many it has then."""
    while True:
        with suppress(UserError):  # it is not there yet
            if (found := len(Run(folder).records)) >= count:
                return found
        time.sleep(0.1)


# ---- two hosts


def hosts(given: argparse.Namespace) -> None:
    """Explore a program with workers on another host (a network namespace), and cut the link to
    that host for some seconds while they measure."""
    options = Options(variants=given.variants, strategy="random", jobs=1, families=("registers",))
    said, cut = list[str](), list[str]()
    with (
        two_hosts() as (namespace, link),
        scheduler_at(HERE) as made,
        worker_in(namespace, made.scheduler_address, owns=0),
        worker_in(namespace, made.scheduler_address, owns=None),
        joined(made.scheduler_address, 1, said.append) as there,
    ):
        target = target_of(there.kinds()[0], None, ())
        knife = Thread(target=_cut, args=(link, given.out / "run", given.cut, cut))
        knife.start()
        begun = time.monotonic()
        run, finished = start(
            Source(TINY, "tiny"), options, target, given.out / "run", False, there
        )
        took = time.monotonic() - begun
        knife.join()
    first = first_round(run)
    failed = [r.outcome.reason for r in first if isinstance(r.outcome, Failed)]
    for line in (*cut, *said):
        say(line)
    say(
        f"finished: {finished}; {len(first)} of {given.variants} variants in {took:.0f} s, "
        f"{len(failed)} failed {failed[:3]}"
    )
    if not (finished and len(first) == given.variants and cut):
        raise SystemExit(1)


def _cut(link: str, folder: Path, seconds: float, told: list[str]) -> None:
    """Take the network link `link` down for some seconds, as soon as the run in `folder` has three
    outcomes; a line about that is added to `told`."""
    before = _await_outcomes(folder, 3)
    _ip("link", "set", link, "down")
    time.sleep(seconds)
    during = len(Run(folder).records)
    _ip("link", "set", link, "up")
    told.append(
        f"the link was cut for {seconds:g} s after {before} outcomes; {during - before} came "
        "meanwhile"
    )


@contextmanager
def two_hosts() -> Iterator[tuple[str, str]]:
    """The context in which this machine has a second host: yields the names of a network namespace
    and of the link to it, which are removed in the end."""
    namespace, link = f"convlift-{os.getpid()}", f"cl{os.getpid()}"
    taken = subprocess.run(["ip", "route"], check=True, capture_output=True, text=True).stdout
    if HERE.rpartition(".")[0] in taken:
        raise UserError(
            f"expected no network with {HERE}, an address that this trial needs; found\n{taken}"
        )
    _ip("netns", "add", namespace)
    try:
        _ip("link", "add", link, "type", "veth", "peer", "name", "there", "netns", namespace)
        _ip("addr", "add", f"{HERE}/30", "dev", link)
        _ip("link", "set", link, "up")
        _ip("-n", namespace, "addr", "add", f"{THERE}/30", "dev", "there")
        _ip("-n", namespace, "link", "set", "there", "up")
        _ip("-n", namespace, "link", "set", "lo", "up")
        yield namespace, link
    finally:
        with suppress(subprocess.CalledProcessError):
            _ip("link", "del", link)
        _ip("netns", "del", namespace)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


@contextmanager
def scheduler_at(host: str) -> Iterator[Any]:
    """The context of a cluster without workers, whose scheduler listens at this host's address."""
    from distributed import Scheduler, SpecCluster

    options = {"dashboard": False, "port": 0, "host": host}
    scheduler = {"cls": Scheduler, "options": options}
    with SpecCluster(workers={}, scheduler=scheduler, silence_logs=50) as cluster:
        yield cluster


@contextmanager
def worker_in(namespace: str, scheduler: str, owns: int | None) -> Iterator[None]:
    """The context of a worker process in a network namespace, which works for the scheduler at the
    address `scheduler`. It measures on the device number `owns`, or, if that is None, only
    builds."""
    command = [sys.executable, "-m", "distributed.cli.dask_worker", scheduler, "--nthreads", "1"]
    command += ["--no-dashboard", "--memory-limit", "0", "--host", THERE]
    command += [] if owns is None else ["--resources", f"{PREFIX}{owns}=1"]
    with subprocess.Popen(
        ["ip", "netns", "exec", namespace, *command], stderr=subprocess.DEVNULL
    ) as running:
        try:
            yield
        finally:
            running.terminate()


HOW = {"speedup": speedup, "alike": alike, "hosts": hosts}


def main(argv: Sequence[str]) -> None:
    """Run the benchmark that the arguments name."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("how", choices=tuple(HOW))
    options.add_argument("--layer", default="vgg-7")
    options.add_argument("--variants", type=int, default=None)
    options.add_argument("--few-limit", type=float, default=60.0, help="seconds of a later run")
    options.add_argument("--families", default="blocked,registers,winograd")
    options.add_argument("--own", default="0,1", help="numbers of devices of one kind")
    options.add_argument("--jobs", type=int, default=None)
    options.add_argument("--time-limit", type=float, default=None, help="seconds of a run")
    options.add_argument("--cut", type=float, default=10.0)
    options.add_argument("--out", type=Path, default=None)
    given = options.parse_args(argv)
    given.out = given.out or Path(mkdtemp(prefix="cluster-"))
    given.variants = given.variants or {"speedup": 1000, "alike": 12, "hosts": 24}[given.how]
    HOW[given.how](given)


if __name__ == "__main__":
    main(sys.argv[1:])
