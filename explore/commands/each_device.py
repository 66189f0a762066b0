"""A program explored on a device of every kind by one command, with a folder for each device.

Devices whose times are not disturbed by builds, such as GPUs, are explored at the same time, each
by a process. CPUs are explored after them, one at a time, since their times need an idle
machine."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from explore.commands.stored_runs import INTERRUPTED, ran
from explore.commands.whose_hands import Workplace, of_cluster
from explore.options.options import Options
from explore.report.runs_beside import runs_in, told_side_by_side
from explore.run.book_keeping import Records
from explore.run.run import resume, start
from explore.run.source import Source
from explore.run.target import Target
from explore.run.worker_pools import Here
from explore.workers.at_once import at_once
from explore.workers.hands import Hands
from ir.command import guard
from ir.core.frozen import frozen

LONGEST = 40  # characters of a folder's name


@frozen
class OnDevice:
    """A program's run on one of several devices, as the process that carries it out is told of it.
    `cluster` is the address of the cluster whose workers build and measure (None: this machine
    does); `live` is the port on which the run's report is served (0: any that is free; None: it is
    not served)."""

    source: Source
    options: Options
    target: Target
    folder: Path
    records: Records
    cluster: str | None
    live: int | None

    def explored(self, hands: Hands) -> int:
        """Carry out this run in this process; returns the exit status."""
        print(f"{self.target.name}, {self.target.platform}:", flush=True)
        made = (self.source, self.options, self.target, self.folder, self.records, hands, self.live)
        return ran(partial(start, *made))


def explored_on_each(
    source: Source,
    options: Options,
    targets: Sequence[Target],
    folder: Path,
    records: Records,
    *,
    place: Workplace,
    live: int | None = None,
) -> int:
    """Explore a program on several targets, in folders below `folder`, and print their fronts side
    by side; returns the exit status. If one target fails, the others are still explored."""
    names = folder_names([t.name for t in targets])
    status = 0
    for shift in shifts(targets):
        asked, port = options, live
        if len(shift) > 1:
            asked = replace(options, jobs=max(1, options.workers // len(shift)))
            port = None if live is None else 0
        runs = [
            OnDevice(source, asked, targets[n], folder / names[n], records, place.cluster, port)
            for n in shift
        ]
        found = _together(runs) if len(runs) > 1 else guard(partial(runs[0].explored, place.hands))
        if found == INTERRUPTED:
            return found
        status = max(status, found)
    told_side_by_side(folder)
    return status


def shifts(targets: Sequence[Target]) -> list[list[int]]:
    """The targets, by position, in groups that are explored one after the other: first, together,
    all that builds do not disturb; then each of the others alone."""
    calm = [n for n, target in enumerate(targets) if not target.disturbed_by_builds]
    others = [[n] for n, target in enumerate(targets) if target.disturbed_by_builds]
    return [*([calm] if calm else []), *others]


def folder_names(titles: Sequence[str]) -> list[str]:
    """The names of folders for devices with these names: only letters, digits and dashes, all
    different."""
    made: list[str] = []
    for title in titles:
        words = re.sub(r"\((r|tm|c)\)", " ", title.lower())
        base = re.sub(r"[^a-z0-9]+", "-", words).strip("-")[:LONGEST].strip("-") or "device"
        several = (base if n == 1 else f"{base}-{n}" for n in range(1, len(titles) + 2))
        made.append(next(name for name in several if name not in made))
    return made


def resumed_on_each(folder: Path, records: Records, place: Workplace, live: int | None) -> int:
    """Go on with the runs below a folder, one after the other; returns the exit status. `live` is
    the port on which each run's report is served (0: any that is free; None: none is served)."""
    status = 0
    for inner in runs_in(folder):
        print(f"{inner.name}:", flush=True)
        found = guard(
            partial(ran, partial(resume, inner, records, place.hands, place.devices, live))
        )
        if found == INTERRUPTED:
            return found
        status = max(status, found)
    told_side_by_side(folder)
    return status


def _together(runs: Sequence[OnDevice]) -> int:
    """Carry runs out at once, each in a process of its own; returns the exit status."""
    for number, run in enumerate(runs, 1):
        print(f"[{number}] {run.target.name}, {run.target.platform}", flush=True)
    statuses = at_once(_alone, runs)
    return INTERRUPTED if INTERRUPTED in statuses else max(statuses)


def _alone(run: OnDevice) -> int:
    """Carry a run out in a process of its own; returns the exit status."""
    return guard(lambda: _explored(run))


def _explored(run: OnDevice) -> int:
    if run.cluster is None:
        return run.explored(Here())
    with of_cluster(run.cluster, run.options) as place:
        return run.explored(place.hands)
