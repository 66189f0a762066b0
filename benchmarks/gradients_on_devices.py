"""Gradients of random convolution-like programs by every family, on devices; fails if any is wrong.

    python -m benchmarks.gradients_on_devices make FOLDER [--count 300] [--seed SEED] [--jobs 1]
                                                          [--families 17] [--seconds S]
    python -m benchmarks.gradients_on_devices run  FOLDER [--device D] [--jobs 1]

`make` draws chains of layers (`torch_layers`, which needs PyTorch), takes the gradient of each in a
parameter drawn at random, and lowers it by each family, or with `--families` by as many in turn:
in a form drawn at random that applies, at a point drawn at random. A file for each program keeps
the plans, the inputs and the interpreter's result; a file that is there already is not made again.
`run` needs no PyTorch: it runs all plans with guarded buffers, those of a program in a process of
their own.
"""

import argparse
import gzip
import pickle
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from time import time
from typing import Any

import numpy as np

from codegen.compile import generate
from codegen.demand_proofs import demand_proofs
from codegen.kernel_facts import TooLarge
from codegen.plan import Plan
from codegen.runtime.session import BuildFailed, choose, open_device
from constraints.devices import profile
from explore.measure.reference import EPSILON, Expected, expected
from explore.space.derive_form import points
from explore.space.lowering import bound
from ir.core.nodes import Program
from ir.errors import Unsupported
from ir.meaning.inputs import shape_of
from rewrites.adjoint.program import gradient
from rewrites.engine.refused import Refused
from rewrites.families.all_families import FAMILIES, forms
from rewrites.tuning.lower import lower

ERROR = 1e-5  # of single precision, in parts of what a result would be if nothing cancelled
TRIES = 6  # forms that are drawn before a family counts as one that refuses the program
SMALL_GROUP, LARGE_GROUP = 64, 1024  # work-items: of a sub-group's instructions, the large one
SECONDS = 300  # for a program's kernels on a device


@dataclass(frozen=True, slots=True)
class Try:
    """A gradient lowered by a family in a form at a point: `words` names these, and `plan` is its
    code. Its result may be off by `rounding` machine epsilons."""

    words: str
    family: str
    plan: Plan
    rounding: float


@dataclass(frozen=True, slots=True)
class Tries:
    """All tries of one gradient, called `name`, with its inputs, its right result, and the families
    that `refused` it."""

    name: str
    inputs: dict[str, np.ndarray]
    right: Expected
    tries: tuple[Try, ...]
    refused: tuple[str, ...]


# ---- making them


def make(folder: Path, count: int, seed: str, jobs: int, families: int, seconds: float) -> int:
    """Write the tries of `count` programs, each by `families` families, into a folder, a file for
    each program; `jobs` are made at once, and none is begun after so many `seconds`. Returns how
    many programs failed."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = [k for k in range(count) if not _file(folder, k).exists()]
    end = time() + seconds

    def one(k: int) -> str:
        if time() > end:
            return "late"
        return "".join(_apart(partial(_made, folder, seed, families, k), None))

    with ThreadPoolExecutor(jobs) as pool:
        told = [*pool.map(one, missing)]
    failed = [k for k, word in zip(missing, told, strict=True) if not word]
    print(f"{told.count('made')} made, {told.count('late')} late, {len(failed)} failed: {failed}")
    return len(failed)


def _file(folder: Path, k: int) -> Path:
    return folder / f"{k:04}.pickle.gz"


def _made(folder: Path, seed: str, families: int, k: int) -> Iterator[str]:
    from benchmarks.torch_layers import chain

    r = Random(f"{seed} {k}")
    x, rng = chain(r), np.random.default_rng(r.randrange(1 << 30))
    name = r.choice(sorted(x.shapes))
    p = gradient(x.program(), name)
    shapes = {q.var.name: shape_of(q.var.type) for q in p.params}
    given = {n: rng.normal(size=shape).astype(np.float32) for n, shape in shapes.items()}
    found, refused = list[Try](), list[str]()
    for family in islice(cycle(FAMILIES), families * k % len(FAMILIES), None):
        if len(found) + len(refused) == families:
            break
        made = _try(p, family, r)
        found += [] if made is None else [made]
        refused += [] if made is not None else [family]
    wide = {n: a.astype(np.float64) for n, a in given.items()}
    done = Tries(f"{k}: {name}", given, expected(p, wide), tuple(found), tuple(refused))
    part = _file(folder, k).with_suffix(".part")
    part.write_bytes(gzip.compress(pickle.dumps(done)))
    part.rename(_file(folder, k))
    yield "made"


def _try(p: Program, family: str, r: Random) -> Try | None:
    """The gradient p lowered by a family in a random form at a random point, and proved; None if
    none of the forms that were drawn can be generated."""
    every = forms(p, family)
    for form in r.sample(every, min(TRIES, len(every))):
        try:
            low = lower(p, form)
        except (Refused, Unsupported):
            continue
        largest = LARGE_GROUP if form.instructions else SMALL_GROUP
        _, found = points(low, profile("h200"), 1, seed=r.randrange(1 << 20))
        if found:
            try:
                made = generate(bound(low.program, found[0]), max_work_group=largest)
            except TooLarge:
                continue
            demand_proofs(made)
            words = f"{family} {form.name} at {found[0]}"
            return Try(words, family, made.plan, low.derivation.rounding)
    return None


# ---- running them


def run(folder: Path, device: str | None, jobs: int) -> int:
    """Run the tries of all files in `folder` on a device, by `jobs` processes at once; returns how
    many are wrong."""
    files, start = sorted(folder.glob("*.pickle.gz")), time()
    tally, wrong, most = Counter[str](), 0, 0.0
    with ThreadPoolExecutor(jobs) as pool:
        for file, told in zip(files, pool.map(partial(_on_device, device), files), strict=True):
            for family, verdict, lost, words in told:
                tally[f"{family} {verdict}"] += 1
                wrong += verdict == "wrong"
                most = max(most, lost) if verdict == "right" else most
                if verdict not in ("right", "refused"):
                    print(f"{file.name}: {verdict}, {lost:.2g} away: {words}", flush=True)
    tried = sum(n for key, n in tally.items() if not key.endswith("refused"))
    print(
        f"{len(files)} gradients, {tried} tries, {wrong} wrong, the others at most {most:.2g} of"
        f" what they sum up away, {time() - start:.0f} s"
    )
    for key in sorted(tally):
        print(f"  {key}: {tally[key]}")
    return wrong


Verdict = tuple[str, str, float, str]  # family, verdict, error, words


def _on_device(device: str | None, file: Path) -> list[Verdict]:
    """The verdicts on all tries in a file, made on a device by a child process. If a try ends that
    process, the verdict on it is `crashed`, and a new process goes on with the next try."""
    done = pickle.loads(gzip.decompress(file.read_bytes()))
    told: list[Verdict] = [(family, "refused", 0.0, "") for family in done.refused]
    first = 0
    while first < len(done.tries):
        verdicts = [*_apart(partial(_verdicts, done, first, device), SECONDS)]
        told += verdicts
        first += len(verdicts)
        if first < len(done.tries):
            told.append((done.tries[first].family, "crashed", 0.0, done.tries[first].words))
            first += 1
    return told


def _verdicts(done: Tries, first: int, device: str | None) -> Iterator[Verdict]:
    session = open_device(choose(device))
    for one in done.tries[first:]:
        try:
            out = np.asarray(session.build(one.plan, checking=True)(done.inputs))
        except BuildFailed as why:
            yield one.family, "not built", 0.0, f"{one.words}: {str(why)[:200]}"
            continue
        lost = done.right.lost(out)
        right = lost <= ERROR + one.rounding * EPSILON
        yield one.family, "right" if right else "wrong", lost, one.words


# ---- in a process of its own


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


def main() -> None:
    """Make or run the tries, as the arguments say; the exit status is 1 if a program failed or a
    try is wrong."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("what", choices=("make", "run"))
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--count", type=int, default=300)
    arguments.add_argument("--seed", default="1")
    arguments.add_argument("--jobs", type=int, default=1)
    arguments.add_argument("--families", type=int, default=len(FAMILIES))
    arguments.add_argument("--seconds", type=float, default=float("inf"))
    arguments.add_argument("--device")
    given = arguments.parse_args()
    if given.what == "make":
        some = {"families": given.families, "seconds": given.seconds}
        raise SystemExit(make(given.folder, given.count, given.seed, given.jobs, **some) > 0)
    raise SystemExit(run(given.folder, given.device, given.jobs) > 0)


if __name__ == "__main__":
    main()
