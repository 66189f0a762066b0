"""A run's folder is corrupted a thousand times: which commands then end without a message, and
which files do they change?

python -m benchmarks.corrupt_runs [--count 1000] [--seed 0] [--jobs 1] [--device D]

A corruption changes bytes, rows, types, links or names, or plants kernels. Each corrupted folder is
read by every command that reads runs, and given to one of the commands that build. Each command
must end with status 0, or with status 1 and a message; no file outside the folder may change; no
OpenCL text from the folder may be built or exported.
"""

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

from codegen.runtime.devices import choose
from explore.options.options import Options
from explore.run.run import start
from explore.run.source import Source
from explore.run.target import Target, profile_of
from tests.support.attacked_runs import Attack, attack
from tests.support.corruptions import Corruption, corruptions

PROGRAM = """-- A product of matrices
product(a : [[float]k]m, b : [[float]k]n) = map(x -> map(y -> dot(x, y), b), a)
where k = 8, m = 16, n = 24
"""


def small_run(folder: Path, device: str | None) -> Path:
    """The folder of a small run on a device (None: the default one), of which copies are
    corrupted."""
    found = choose(device)
    options = Options(variants=4, families=("naive", "registers"), jobs=1)
    start(Source(PROGRAM, "product.lift"), options, Target(profile_of(found), found), folder)
    return folder


def main() -> None:
    """Corrupt copies of a small run as the command-line arguments say, and print the table of
    faults."""
    parser = argparse.ArgumentParser("python -m benchmarks.corrupt_runs")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes that attack")
    given = parser.parse_args()
    todo = list(corruptions(given.count, given.seed))
    with tempfile.TemporaryDirectory(prefix="corrupt-runs-") as place:
        run = small_run(Path(place) / "sound", given.device)
        begun, found = time.monotonic(), []
        for tried in _attacks(todo, run, Path(place), given.jobs):
            found.append(tried)
            for fault in tried.faults:
                print(f"{tried.corruption}: {fault}", flush=True)
            if len(found) % 50 == 0:
                print(f"{len(found)} after {time.monotonic() - begun:.0f} s", flush=True)
        print("\n".join(table(found)))


def _attacks(todo: Sequence[Corruption], run: Path, place: Path, jobs: int) -> Iterator[Attack]:
    """The results of the corruptions, each of a copy of `run` in a folder under `place`, in the
    order in which they end; `jobs` of them go on at once."""
    spawned = get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=spawned) as pool:
        attacks = [
            pool.submit(attack, corruption, run, place / str(number))
            for number, corruption in enumerate(todo)
        ]
        for done in as_completed(attacks):
            yield done.result()


def table(found: Sequence[Attack]) -> list[str]:
    """The lines of a table with a row for each kind of corruption: the numbers of corrupted runs,
    of commands, of refusals with a message, and of faults."""
    lines = ["| corruption | runs | commands | refused in words | faults |"]
    lines.append("|---|--:|--:|--:|--:|")
    kinds = Counter(attack.corruption.name for attack in found)
    for name, count in kinds.items():
        of_kind = [a for a in found if a.corruption.name == name]
        numbers = (sum(a.commands for a in of_kind), sum(a.refused for a in of_kind))
        lines.append(f"| {name} | {count} | {numbers[0]} | {numbers[1]} | {_faults(of_kind)} |")
    whole = (sum(a.commands for a in found), sum(a.refused for a in found), _faults(found))
    return [*lines, f"| all | {len(found)} | {whole[0]} | {whole[1]} | {whole[2]} |"]


def _faults(found: Sequence[Attack]) -> int:
    return sum(len(a.faults) for a in found)


if __name__ == "__main__":
    main()
