"""The memory that the workers of a run take while it goes on, in a table.

python -m benchmarks.worker_memory [FILE] [--variants 600] [--every 50] [--set C=64]… [--device D]

Explores a program in a folder of its own. Each time that `--every` more outcomes are stored, it
prints the resident bytes of the process that builds kernels and of the one that owns the device.
"""

import argparse
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

MIB = 1 << 20
GLANCE = 0.5  # seconds


def main() -> None:
    """Explore a program as the command-line arguments say, and print the memory of its workers."""
    parser = argparse.ArgumentParser("python -m benchmarks.worker_memory")
    parser.add_argument("file", nargs="?", default="examples/quickstart.lift")
    parser.add_argument("--variants", type=int, default=600)
    parser.add_argument("--every", type=int, default=50)
    parser.add_argument("--set", action="append", default=[], dest="sizes")
    parser.add_argument("--device")
    given = parser.parse_args()
    print("| outcomes | seconds | build worker MiB | device worker MiB |\n|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory(prefix="worker-memory-") as place:
        for row in curve(_command(given, Path(place) / "run"), Path(place) / "run", given.every):
            print(f"| {' | '.join(map(str, row))} |", flush=True)


def _command(given: argparse.Namespace, folder: Path) -> list[str]:
    words = [sys.executable, "-m", "explore", given.file, "--variants", str(given.variants)]
    words += ["--jobs", "1", "--out", str(folder)]
    words += [word for size in given.sizes for word in ("--set", size)]
    return [*words, *(["--device", given.device] if given.device else [])]


def curve(command: list[str], folder: Path, every: int) -> Iterator[tuple[int, int, int, int]]:
    """Rows of numbers (outcomes, seconds, MiB of the worker that builds, MiB of the device's
    worker), at the start and after every `every` outcomes of a run that `command` starts in
    `folder`."""
    begun, due = time.monotonic(), 1
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as run:
        while run.poll() is None:
            time.sleep(GLANCE)
            if (done := outcomes(folder)) >= due:
                building, device = [*resident(run.pid), 0, 0][:2]
                yield done, round(time.monotonic() - begun), building // MIB, device // MIB
                due = done - done % every + every


def outcomes(folder: Path) -> int:
    """The number of outcomes that the run in `folder` has stored so far."""
    try:
        with closing(sqlite3.connect(f"file:{folder}/run.sqlite?mode=ro", uri=True)) as store:
            return int(store.execute("SELECT count(*) FROM outcome").fetchone()[0])
    except sqlite3.Error:
        return 0


def resident(process: int) -> list[int]:
    """The resident bytes of each child of a process, the oldest child first; empty if the process
    has ended. In a run, the oldest child is the worker that builds."""
    children = Path(f"/proc/{process}/task/{process}/children")
    try:
        return [_resident(int(child)) for child in children.read_text().split()]
    except OSError:
        return []


def _resident(process: int) -> int:
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) << 10
    return 0


if __name__ == "__main__":
    main()
