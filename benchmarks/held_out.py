"""Do 20 measurements that begin from records reach what a full search of a layer finds, where no
record has the layer?

    python -m benchmarks.held_out run --out DIR [--lanes 0,1:2,3:…] [--minutes 19] [--variants 1000]
        [--known LAYER,…] [--held-out LAYER,…]
    python -m benchmarks.held_out summary --out DIR

`run` searches on several lanes at once. A lane is a few cores, to which its processes are bound,
and a device: `0,1` searches on the CPU that has these two cores alone, `0-15@0` on the device with
the number 0. First, full searches of some sizes fill a record book. Then each layer
that the book does not have is searched three times: in full without records, with few variants from
a copy of the book, and with few variants without records. The best of these are timed in turns, in
several processes. What is done is kept, and `run` goes on where it was stopped; after `--minutes`
it stops by itself. `summary` prints what there is so far; 1.05 means 5 % slower than the full
search.
"""

import argparse
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from threading import Condition, Thread
from typing import Any, Literal

from benchmarks.search import in_turns
from explore.options.units import show_time
from explore.results.front import pick
from explore.results.records import Failed
from explore.run.run import Run
from ir.errors import UserError

ROOT = Path(__file__).parents[1]
PROGRAMS = {"3x3": "quickstart.lift", "1x1": "conv1x1.lift"}
# window:channels×width×kernels
KNOWN = "3x3:32x24x32,3x3:64x16x48,1x1:64x20x96,3x3:16x40x32,1x1:128x24x64"
HELD_OUT = (
    "3x3:32x28x32,1x1:64x28x64,3x3:24x36x24,1x1:128x14x128,3x3:64x14x64,"
    "3x3:20x27x36,1x1:96x28x48,3x3:48x24x32,1x1:72x36x56,3x3:16x28x64"
)
CPU = "cpu"  # the device of a lane that names none
LANES = ":".join(f"{n},{n + 1}" for n in range(0, 14, 2))
COMPARED = 7  # processes in which the best variants are timed in turns
PATIENCE = 10.0  # seconds that a search is given to stop
Kind = Literal["known", "full", "few", "bare", "compare"]


@dataclass(frozen=True, slots=True)
class Job:
    """A process that is to run on a lane: a search of a layer (known: it fills the record book;
    full, few and bare: those that are compared), or the comparison of a layer's searches."""

    kind: Kind
    layer: str

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.layer.replace(':', '-')}"

    def done(self, out: Path) -> bool:
        """True if the job was done in the folder `out`."""
        return (out / f"{self.name}.done").exists()


@dataclass(slots=True)
class Work:
    """The jobs that are left, in the order in which they are begun, shared by all lanes. `running`
    has the processes, and the clock reaches `until` when all have to stop."""

    given: argparse.Namespace
    jobs: list[Job]
    until: float
    changed: Condition
    running: dict[Job, "subprocess.Popen[bytes] | None"]  # None: it is about to begin

    def next(self) -> Job | None:
        """The next job that can begin, once there is one; None if none is left, or time is up."""
        with self.changed:
            while self.jobs and time.monotonic() < self.until:
                for job in self.jobs:
                    if all(needed.done(self.given.out) for needed in needs(job, self.given)):
                        self.jobs.remove(job)
                        self.running[job] = None
                        return job
                if not self.changed.wait(1.0) and not self.running:
                    return None  # what the others need has failed
        return None

    def lane(self, lane: str) -> None:
        """Do jobs on this lane until none is left."""
        cores, _, device = lane.partition("@")
        while (job := self.next()) is not None:
            begun, out = time.monotonic(), self.given.out
            command = ["taskset", "-c", cores, *command_of(job, device or CPU, self.given)]
            with open(out / f"{job.name}.log", "ab") as log:
                process = subprocess.Popen(
                    command, stdout=log, stderr=log, cwd=ROOT, process_group=0
                )
            with self.changed:
                self.running[job] = process
            status = process.wait()
            took = time.monotonic() - begun
            with open(out / "jobs.jsonl", "a") as jobs:
                line = {"job": job.name, "lane": lane, "seconds": took, "status": status}
                jobs.write(json.dumps(line) + "\n")
            with self.changed:
                del self.running[job]
                if status == 0:
                    (out / f"{job.name}.done").touch()
                self.changed.notify_all()
            print(f"{job.name} on {lane}: {took:.0f} s, status {status}", flush=True)

    def stop(self) -> None:
        """Stop what runs: searches keep what they have found so far, and can be continued."""
        with self.changed:
            left = [process for process in self.running.values() if process is not None]
        for process in left:
            process.send_signal(signal.SIGINT)
        until = time.monotonic() + PATIENCE
        for process in left:
            try:
                process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)


def needs(job: Job, given: argparse.Namespace) -> list[Job]:
    """The jobs that must be done before this one begins."""
    match job.kind:
        case "few":
            return [Job("known", layer) for layer in given.known.split(",")]
        case "compare":
            return [Job("full", job.layer), Job("few", job.layer), Job("bare", job.layer)]
    return []


def jobs_of(given: argparse.Namespace) -> list[Job]:
    """All jobs: those that fill the record book, then layer by layer."""
    held = given.held_out.split(",")
    known = [Job("known", layer) for layer in given.known.split(",")]
    kinds: tuple[Kind, ...] = ("full", "few", "bare", "compare")
    rest = [Job(kind, layer) for layer in held for kind in kinds]
    return [job for job in (*known, *rest) if not job.done(given.out)]


def command_of(job: Job, device: str, given: argparse.Namespace) -> list[str]:
    """The command that does a job on a device; it goes on with a full search that was begun. The
    record book of a search with few variants is a copy, so that none begins from another's
    measurements."""
    out: Path = given.out
    if job.kind == "compare":
        part = (sys.executable, "-m", "benchmarks.held_out", "compare", job.layer)
        return [*part, "--out", str(out)]
    folder, records = out / job.name, ["--no-records"]
    if job.kind == "known":
        records = ["--records", str(out / "known.sqlite")]
    if job.kind == "few":
        mine = out / f"{job.name}.sqlite"
        mine.unlink(missing_ok=True)
        with sqlite3.connect(out / "known.sqlite") as known, sqlite3.connect(mine) as copy:
            known.backup(copy)
        records = ["--records", str(mine)]
    if (folder / "run.sqlite").exists() and job.kind in ("known", "full"):
        return [sys.executable, "-m", "explore", "resume", str(folder), *records]
    shutil.rmtree(folder, ignore_errors=True)
    window, sizes = job.layer.split(":")
    channels, width, kernels = sizes.split("x")
    bound = {"C": channels, "W": width, "H": width, "M": kernels}
    return [
        *(sys.executable, "-m", "explore", str(ROOT / "examples" / PROGRAMS[window])),
        *("--device", device, "--out", str(folder), *records),
        *("--variants", str(variants_of(job, given))),
        *(word for name, size in bound.items() for word in ("--set", f"{name}={size}")),
    ]


def variants_of(job: Job, given: argparse.Namespace) -> int:
    """The number of variants that a job's search tries."""
    every, few = int(given.variants), int(given.few)
    known = int(given.known_variants or every)
    return {"known": known, "few": few, "bare": few}.get(job.kind, every)


def run(given: argparse.Namespace) -> None:
    """Do all jobs on the lanes, as far as time allows, and print the summary."""
    begun = time.monotonic()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a script may ignore it
    work = Work(given, jobs_of(given), begun + given.minutes * 60, Condition(), {})
    lanes = [Thread(target=work.lane, args=(lane,)) for lane in given.lanes.split(":")]
    for lane in lanes:
        lane.start()
    for lane in lanes:
        lane.join(max(0.0, work.until - time.monotonic()))
    work.stop()
    for lane in lanes:
        lane.join()
    summary(given)


def compare(given: argparse.Namespace) -> None:
    """Time the best variants of a layer's three searches in turns, in several processes, and keep
    the times."""
    kinds: tuple[Kind, ...] = ("full", "few", "bare")
    jobs = [Job(kind, given.layer) for kind in kinds]
    runs = [Run(given.out / job.name) for job in jobs]
    times = [in_turns(runs) for _ in range(COMPARED)]
    found = {
        job.kind: {
            "times_ns": [each[n] for each in times],
            "variant": pick(run.records).variant.id,
            "measured": len({r.variant.id for r in run.records}),
            "failed": sum(isinstance(r.outcome, Failed) for r in run.records if r.round == 0),
        }
        for n, (job, run) in enumerate(zip(jobs, runs, strict=True))
    }
    file = given.out / f"{Job('compare', given.layer).name}.json"
    file.write_text(json.dumps(found, indent=1))


def summary(given: argparse.Namespace) -> None:
    """Print what was found so far, a line for each layer."""
    ratios, rows = list[float](), list(_rows(given))
    for layer, found in rows:
        full, few, bare = (found[kind]["times_ns"] for kind in ("full", "few", "bare"))
        each = [a / b for a, b in zip(few, full, strict=True)]
        ratios.append(median(each))
        print(
            f"{layer}: {found['few']['measured']} from records {median(each):.3f} "
            f"({min(each):.3f} to {max(each):.3f}), {found['bare']['measured']} without "
            f"{median(a / b for a, b in zip(bare, full, strict=True)):.3f} of the time after "
            f"{found['full']['measured']} ({show_time(median(full))}, "
            f"{found['full']['variant']}; {found['full']['failed']} failed); "
            f"{_seconds(given.out, Job('few', layer)):.0f} and "
            f"{_seconds(given.out, Job('full', layer)):.0f} s"
        )
    if ratios:
        within = sum(ratio <= 1.05 for ratio in ratios)
        print(f"median {median(ratios):.3f}; {within} of {len(ratios)} within 5 %")
    left = [job.name for job in jobs_of(given)]
    print(f"{len(left)} jobs left {left[:4]}" if left else "all is done", flush=True)


def _rows(given: argparse.Namespace) -> Iterator[tuple[str, dict[str, dict[str, Any]]]]:
    for layer in given.held_out.split(","):
        file = given.out / f"{Job('compare', layer).name}.json"
        if file.exists():
            yield layer, json.loads(file.read_text())


def _seconds(out: Path, job: Job) -> float:
    """The seconds that a job took, with those of processes that were stopped."""
    lines = (out / "jobs.jsonl").read_text().splitlines()
    return sum(float(d["seconds"]) for d in map(json.loads, lines) if d["job"] == job.name)


HOW = {"run": run, "compare": compare, "summary": summary}


def main(argv: Sequence[str]) -> None:
    """Run the part of the benchmark that the arguments name."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("how", choices=tuple(HOW))
    options.add_argument("layer", nargs="?", help="for compare")
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--lanes", default=LANES, help="cores of each, and a device: 0-15@0")
    options.add_argument("--minutes", type=float, default=19.0)
    options.add_argument("--variants", type=int, default=1000)
    options.add_argument("--known-variants", type=int, help="in the book (as in full searches)")
    options.add_argument("--few", type=int, default=20)
    options.add_argument("--known", default=KNOWN)
    options.add_argument("--held-out", default=HELD_OUT)
    given = options.parse_args(argv)
    given.out = given.out.resolve()
    given.out.mkdir(parents=True, exist_ok=True)
    HOW[given.how](given)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except UserError as error:
        raise SystemExit(str(error)) from None
