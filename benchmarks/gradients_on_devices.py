"""Gradients of random convolution-like programs by every family that applies, on devices; fails if
any is wrong.

    python -m benchmarks.gradients_on_devices here FOLDER [--count 300] [--families N] [--device D]
    python -m benchmarks.gradients_on_devices make FOLDER [--count 300] [--families N]
    python -m benchmarks.gradients_on_devices run  FOLDER [--device D]
        [--seed S] [--jobs 1] [--cores 0-7] [--seconds T] [--patience 300]

`here` draws chains of layers (`torch_layers`, which needs PyTorch) and takes the gradient of each
in a parameter drawn at random. Each is lowered by families in an order of its own, in a form and at
a point drawn at random, proved, and run with guarded buffers, until N families have served it or
all were asked: first one family for all programs, then a second, and so on. Each verdict is a line
of FOLDER/verdicts.jsonl at once. What has one is not tried again, so that any later call, with a
larger N, goes on; none is begun after T seconds. Jobs share the programs, and with --cores each
keeps to a core of its own.

Where there is no PyTorch, `make` (elsewhere) writes the plans into FOLDER, a file a program, and
`run` runs these and writes the verdicts.
"""

import argparse
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from time import time
from typing import Any

from benchmarks.gradient_tries import (
    BEGUN,
    CRASHED,
    FAILED,
    REFUSED,
    RIGHT,
    WRONG,
    Drawn,
    Refusal,
    Tries,
    Verdict,
    drawn,
    kept,
    order,
    read,
    tried,
    verdict_on,
    verdicts_in,
    write,
)
from codegen.runtime.session import Session, choose, open_device
from constraints.devices import Profile, profile
from explore.run.target import profile_of
from ir.command import DEEPEST
from rewrites.families.all_families import FAMILIES

LOG = "verdicts.jsonl"
Left = tuple[int, list[str]]  # families that have still to serve a program, and those not tried


def here(folder: Path, given: argparse.Namespace) -> None:
    """Try the gradients of random programs on a device of this machine, and log the verdicts."""
    import benchmarks.torch_layers  # noqa: F401  once, so that child processes need not

    folder.mkdir(parents=True, exist_ok=True)
    end = time() + given.seconds

    def share(first: int) -> None:
        """Go on with one job's share of the programs: until a family has served each, then another,
        and so on."""
        core = given.cores[first % len(given.cores)] if given.cores else None
        for wanted in range(1, given.families + 1):
            while time() < end:
                found = verdicts_in(folder / LOG)
                left = {k: _left(given.seed, k, wanted, found) for k in _programs(first, given)}
                trying = {k: ours for k, ours in left.items() if ours[1]}
                if not trying:
                    break
                tries = partial(_tried_here, given.seed, trying, given.device, core)
                for v in _or_crashed(tries, given):
                    write(folder / LOG, v)
                    if time() > end:
                        return

    with ThreadPoolExecutor(given.jobs) as pool:
        list(pool.map(share, range(given.jobs)))


def _programs(first: int, given: argparse.Namespace) -> range:
    return range(first, given.count, given.jobs)


def _left(seed: str, k: int, wanted: int, found: list[Verdict]) -> Left:
    """The number of families that have still to serve program k, and those that were not tried, in
    their order; none if enough have."""
    known = {v.family: v.word for v in found if v.program == k}
    missing = wanted - sum(word != REFUSED for word in known.values())
    left = [f for f in order(seed, k) if f not in known]
    return (missing, left) if missing > 0 else (0, [])


def _tried_here(
    seed: str, trying: dict[int, Left], device: str | None, core: int | None
) -> Iterator[Verdict]:
    """The verdicts on families that try each program, until so many as are missing serve it; before
    each verdict the news that it is begun. All is done on one core, unless this is None."""
    if core is not None:
        os.sched_setaffinity(0, {core})
    session = open_device(choose(device))
    machine = profile_of(session.device)
    for k, (missing, families) in trying.items():
        yield Verdict(k, families[0], BEGUN)
        d = drawn(seed, k)
        for family in families:
            yield Verdict(k, family, BEGUN)
            v = _tried(d, k, family, seed, machine, session)
            yield v
            missing -= v.word != REFUSED
            if not missing:
                break


def _tried(d: Drawn, k: int, family: str, seed: str, machine: Profile, session: Session) -> Verdict:
    try:
        made = tried(d, family, seed, machine)
        return made.verdict(k) if isinstance(made, Refusal) else verdict_on(d, k, made, session)
    except Exception as why:  # a defect of ours: what has no proof, say
        return Verdict(k, family, FAILED, 0.0, f"{type(why).__name__}: {why}")


def make(folder: Path, given: argparse.Namespace) -> None:
    """Write the tries of random programs into a folder, a file for each program."""
    folder.mkdir(parents=True, exist_ok=True)
    end = time() + given.seconds

    def one(k: int) -> None:
        if time() < end and not kept(folder, k).exists():
            list(_apart(partial(_made, folder, given.seed, given.families, k), None))

    with ThreadPoolExecutor(given.jobs) as pool:
        list(pool.map(one, range(given.count)))
    missing = [k for k in range(given.count) if not kept(folder, k).exists()]
    print(f"{given.count - len(missing)} of {given.count} made; late or failed: {missing}")


def _made(folder: Path, seed: str, families: int, k: int) -> Iterator[str]:
    d, found, refused = drawn(seed, k), [], []
    for family in order(seed, k):
        made = tried(d, family, seed, profile("h200"))
        if isinstance(made, Refusal):
            refused.append(made)
        else:
            found.append(made)
        if len(found) == families:
            break
    Tries(k, d, tuple(found), tuple(refused)).write(folder)
    yield "made"


def run(folder: Path, given: argparse.Namespace) -> None:
    """Run the tries of all files in a folder on a device, and log the verdicts."""
    known = {(v.program, v.family) for v in verdicts_in(folder / LOG)}
    end = time() + given.seconds

    def one(k: int) -> None:
        done = read(folder, k)
        for refusal in done.refused:
            if (k, refusal.family) not in known:
                write(folder / LOG, refusal.verdict(k))
        left = [t for t in done.tries if (k, t.family) not in known]
        while left and time() < end:
            for v in _or_crashed(partial(_run, done, [*left], given.device), given):
                write(folder / LOG, v)
                left = [t for t in left if t.family != v.family]

    with ThreadPoolExecutor(given.jobs) as pool:
        list(pool.map(one, (k for k in range(given.count) if kept(folder, k).exists())))


def _run(done: Tries, left: list[Any], device: str | None) -> Iterator[Verdict]:
    session = open_device(choose(device))
    for one in left:
        yield Verdict(done.program, one.family, BEGUN)
        yield verdict_on(done.drawn, done.program, one, session)


# ---- in a process of its own


def _or_crashed(f: Callable[[], Iterator[Verdict]], given: argparse.Namespace) -> Iterator[Verdict]:
    """The verdicts that f gives in a child process; if that ends in between, or takes longer for
    one than the command's patience, the last is that what was begun has crashed."""
    begun: Verdict | None = None
    for v in _apart(f, given.patience):
        begun = v if v.word == BEGUN else None
        if begun is None:
            yield v
    if begun is not None:
        yield Verdict(begun.program, begun.family, CRASHED)


def _apart(f: Callable[[], Iterator[Any]], seconds: float | None) -> Iterator[Any]:
    """The values that f yields, computed in a child process, which is killed in the end. There are
    fewer if the process ends early, or takes longer than `seconds` for one value (None: no
    limit)."""
    context = get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_sent, args=(f, theirs))
    process.start()
    theirs.close()
    try:
        while ours.poll(seconds):
            given = ours.recv()
            if given is None:
                break
            yield given
    except EOFError:
        pass
    finally:
        process.kill()
        process.join()


def _sent(f: Callable[[], Iterator[Any]], to: Connection) -> None:
    for given in f():
        to.send(given)
    to.send(None)


def told(found: list[Verdict]) -> None:
    """Print the verdicts: each that is strange, how many there are by family, and the reasons for
    which families refused."""
    tally = Counter((v.family, v.word) for v in found)
    words = sorted({v.word for v in found})
    for v in found:
        if v.word not in (RIGHT, REFUSED):
            print(f"{v.program}: {v.word}, {v.lost:.2g} away: {v.family} {v.told}")
    for family in FAMILIES:
        print(f"  {family:14}", ", ".join(f"{tally[family, w]} {w}" for w in words))
    reasons = Counter((v.family, v.told) for v in found if v.word == REFUSED)
    for (family, reason), n in reasons.most_common(40):
        print(f"  {n} refused by {family}: {reason}")
    served = {v.program for v in found if v.word == RIGHT}
    most = max((v.lost for v in found if v.word == RIGHT), default=0.0)
    ran = sum(v.word != REFUSED for v in found)
    wrong = sum(v.word == WRONG for v in found)
    print(
        f"gradients of {len(served)} programs, {ran} tries, {wrong} wrong, those that are right at"
        f" most {most:.2g} of what they sum up away"
    )


def _cores(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def main() -> None:
    """Make or run the tries, as the arguments say, and print the verdicts so far; the exit status
    is 1 if any is wrong."""
    sys.setrecursionlimit(max(DEEPEST, sys.getrecursionlimit()))
    does = {"here": here, "make": make, "run": run}
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("what", choices=does)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--count", type=int, default=300)
    arguments.add_argument("--seed", default="1")
    arguments.add_argument("--jobs", type=int, default=1)
    arguments.add_argument("--families", type=int, default=len(FAMILIES))
    arguments.add_argument("--seconds", type=float, default=float("inf"))
    arguments.add_argument("--patience", type=float, default=300.0)
    arguments.add_argument("--cores", type=_cores, default=(), help="a core for each job: 0-7")
    arguments.add_argument("--device")
    given = arguments.parse_args()
    does[given.what](given.folder, given)
    found = verdicts_in(given.folder / LOG)
    told(found)
    raise SystemExit(any(v.word == WRONG for v in found))


if __name__ == "__main__":
    main()
