"""Variants of every family, compiled for devices that are not here: which are compiled or refused
with a message, which spill registers, and whether the compiled code makes as many products as the
plan.

    python -m benchmarks.offline_families [--devices mali-g72,mali-g610] [--programs quickstart]
                 [--families lift] [--variants 40] [--limit 60] [--jobs 1] [--seed 0] [--out FILE]
                 [--table]

Needs `explore toolchain mali`. The programs are quickstart, VGG layer 7 on an image of 28 × 28, a
depthwise and a 1×1 layer. Variants are drawn from the forms of a family in turn, as a run draws
them for a device with the least of each of these devices' limits (for each device apart if that has
room for none): a variant is derived, generated and proved once, and its kernels are compiled for
all devices, equal texts once. `--limit` is how many seconds of processor time a compiler has for a
kernel, `--jobs` how many compile at once.

First one variant of each family is compiled for each program, then a second one, and so on up to
`--variants`: broken off at any time, it has tried all of them about equally often. The results are
kept in FILE as they come, a line each, and what FILE has is not compiled again. At the end a line
is printed for each device, program and family: how many variants were tried, how many were
compiled, how many spill; for how many it is known how often loops turn, and how many of these make
as many products as the plan (within 2 %); the fewest tuples (Bifrost) or instructions that a
variant without spills issues for a product of the plan, with its messages to memory; and why
variants failed. `--table` prints only what FILE has.
"""

import argparse
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

from benchmarks.offline_attempts import (
    PROGRAMS,
    Attempt,
    Code,
    Drawings,
    Place,
    Source,
    Tried,
    tried_from,
)
from explore.toolchain.compile_kernel import Compiled, CompileKernel, Compilers, compile_by
from explore.toolchain.offline_devices import DEVICES
from explore.toolchain.running_program import BUSY
from explore.toolchain.toolchain import installed
from explore.workers.pool import Pool
from rewrites.families.all_families import FAMILIES

AHEAD = 8  # kernels that wait for a compiler while others are generated and proved

Compiling = Pool[CompileKernel, Compiled]


def main() -> None:
    """Compile variants as the arguments say, and print a line for each device, program and
    family."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--devices", default=",".join(DEVICES))
    parser.add_argument("--programs", default=",".join(PROGRAMS))
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--variants", type=int, default=40)
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("offline_families.jsonl"))
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    devices = given.devices.split(",")
    sources = [Source(*s) for s in product(given.programs.split(","), given.families.split(","))]
    kept = Kept(given.out)
    if not given.table:
        compile_all(given, devices, sources, kept)
    for source, device in product(sources, devices):
        place = Place(device, source.program, source.family)
        if found := kept.at(place):
            print(_told(place, found), flush=True)


def compile_all(
    given: argparse.Namespace, devices: Sequence[str], sources: Sequence[Source], kept: "Kept"
) -> None:
    """Compile the variants of the sources for the devices, and keep the results."""
    toolchain = installed()
    if toolchain is None:
        raise SystemExit("no toolchain is here: explore toolchain mali")
    with ExitStack() as stack:
        pool: Compiling = Pool(
            *(compile_by,), setup=Compilers, workers=given.jobs, timeout=BUSY * given.limit + 60,
            stage="build", max_memory=4 << 30,
        )  # fmt: skip
        stack.enter_context(pool)
        queue = Queue(pool, kept)
        drawings = Drawings(devices, given.seed, given.variants)
        for number, source in product(range(given.variants), sources):
            for drawing in drawings.of(source):
                for attempt in drawing.attempts(number, toolchain, given.limit):
                    queue.put(attempt)
        queue.finish()


def _told(place: Place, every: "Sequence[Tried]") -> str:
    title = f"{place.device:10}  {place.program:16}  {place.family:13}"
    if every[0].refused:
        return f"{title}  refused: {every[0].refused}"
    compiled = [t for t in every if not t.failed]
    counted = [t for t in compiled if t.products is not None]
    lean = [
        (t.slots / t.planned, t.messages / t.planned) for t in counted if t.planned and not t.spills
    ]
    best = "best {:.2f} and {:.3f} a product".format(*min(lean)) if lean else "no best"
    why = Counter(t.failed[:200] for t in every if t.failed)
    why.update(
        f"not equal: {(t.products or 0) / max(1, t.planned):.3f}" for t in counted if not t.equal
    )
    return (
        f"{title}  {len(every)} tried, {len(compiled)} compiled, "
        f"{sum(t.spills for t in compiled)} spill, "
        f"{sum(t.equal for t in counted)} of {len(counted)} make the plan's products, {best}  "
        + "; ".join(f"{n}: {reason}" for reason, n in why.most_common(4))
    )


class Kept:
    """The results in a file, by the key of their variant; new ones are appended."""

    def __init__(self, file: Path) -> None:
        self._file = file
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        self._found = {t.key: t for t in map(tried_from, filter(None, lines))}

    def find(self, key: str) -> Tried | None:
        return self._found.get(key)

    def at(self, place: Place) -> list[Tried]:
        """The results of a place."""
        return [t for t in self._found.values() if t.place == place]

    def add(self, found: Tried) -> None:
        """Keep a result, unless the file has the same already."""
        if self._found.get(found.key) == found:
            return
        self._found[found.key] = found
        with self._file.open("a", encoding="utf-8") as out:
            out.write(f"{found.line()}\n")


@dataclass(slots=True)
class Queue:
    """The variants whose kernels wait for a compiler of `pool`, and the code of those that were
    compiled (`codes`, by the key of their task); results go to `kept`."""

    pool: Compiling
    kept: Kept
    begun: deque["Attempt"] = field(default_factory=deque)
    asked: dict[int, str] = field(default_factory=dict)  # keys by the numbers of tasks
    codes: dict[str, Code] = field(default_factory=dict)

    def put(self, attempt: "Attempt") -> None:
        """Have a variant's kernels compiled, unless its result is known."""
        if (known := self.kept.find(attempt.key)) is not None:
            self.kept.add(attempt.counted(known))
            return
        if isinstance(attempt.text, str) or attempt.text.wrong:
            self.kept.add(attempt.blank)
            return
        waited = {*self.asked.values(), *self.codes}
        for key, task in attempt.tasks.items():
            if key not in waited:
                number = len(self.asked)
                self.asked[number] = key
                self.pool.submit(replace(task, number=number))
        self.begun.append(attempt)
        while self.pool.pending > AHEAD:
            self._take()
        self._keep_done()

    def finish(self) -> None:
        while self.pool.pending:
            self._take()

    def _take(self) -> None:
        for done in self.pool.results():
            self.codes[self.asked[done.task.number]] = done.result
        self._keep_done()

    def _keep_done(self) -> None:
        """Keep the results of the variants that were begun first, as far as all their kernels are
        compiled."""
        while self.begun and all(key in self.codes for key in self.begun[0].tasks):
            attempt = self.begun.popleft()
            self.kept.add(attempt.result(self.codes))


if __name__ == "__main__":
    main()
