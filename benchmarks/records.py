"""Do records make a search shorter, and do two writers at once lose any of them?

    python -m benchmarks.records sizes [--learn 150] [--few 20] [--variants 1000] [--out DIR]
    python -m benchmarks.records again [--variants 20] [--out DIR]
    python -m benchmarks.records writers [--seconds 60]

`sizes` explores convolutions of some sizes (channels×width×kernels) and keeps what it measured.
Then it explores sizes that no record has: few variants from a copy of these records, few without,
and a full search of many without. The fastest of each are timed in turns; 1.05 means 5 % slower
than the full search. Runs that the folder has already are not made again.

`again` explores a program twice from one record file: the seconds until the second run says what is
known, until its first outcome, and in all; and how many variants it measured.

`writers` lets two processes write one record file, kills one now and then, and begins it again.
Every entry that a process said was kept must be there in the end, and the file must be sound.
"""

import argparse
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import mkdtemp

from benchmarks.search import in_turns
from explore.options.options import Options
from explore.record_book.record_book import RecordBook
from explore.run.run import Run, resume, start
from explore.run.source import Source
from explore.run.target import target_of

ROOT = Path(__file__).parents[1]
LAYER = (ROOT / "examples" / "quickstart.lift").read_text()
KNOWN = "8×14×16,16×14×32,16×20×16,32×14×32,8×28×16,32×7×64"
HELD_OUT = "8×20×32,16×16×16,24×14×24,12×18×20,32×10×48,8×24×24,20×12×40,16×28×8,48×7×48,10×15×30"
KILLED_EVERY = (1.0, 4.0)  # seconds, from and to


def options_for(size: str, variants: int) -> Options:
    """The options of a run of `variants` variants of the layer with these sizes:
    channels×width×kernels, such as 32×28×64."""
    channels, width, kernels = map(int, size.replace("x", "×").split("×"))
    sizes = {"C": channels, "W": width, "H": width, "M": kernels}
    return Options.of(variants=variants, sizes=sizes)


def explored(size: str, variants: int, folder: Path, records: Path | None) -> Run:
    """The run of `variants` variants of the layer with the sizes `size`, in a folder, with the
    record book `records` (None: without one). If the folder holds the run already, it is
    continued."""
    if (folder / "run.sqlite").exists():
        return resume(folder, records or False)[0]
    source, target = Source(LAYER, "quickstart.lift"), target_of(None, None, ())
    run, _ = start(source, options_for(size, variants), target, folder, records or False)
    return run


def sizes(given: argparse.Namespace) -> None:
    """For each of some sizes, compare three runs: one of few variants that begins from records, one
    of few and one of many variants that begin from nothing."""
    records, ratios = given.out / "records.sqlite", list[float]()
    for size in given.known.split(","):
        if not (given.out / f"known-{size}" / "report.html").exists():
            explored(size, given.learn, given.out / f"known-{size}", records)
    for size in given.held_out.split(","):
        mine = given.out / f"records-{size}.sqlite"
        if not mine.exists():
            with sqlite3.connect(records) as known, sqlite3.connect(mine) as copy:
                known.backup(copy)
        runs = [
            explored(size, given.few, given.out / f"from-records-{size}", mine),
            explored(size, given.few, given.out / f"few-{size}", None),
            explored(size, given.variants, given.out / f"many-{size}", None),
        ]
        hinted, few, many = in_turns(runs)
        ratios.append(hinted / many)
        print(
            f"{size}: {given.few} from records {hinted / many:.3f}, {given.few} without "
            f"{few / many:.3f} of the time after {given.variants} ({many / 1e3:.1f} µs)",
            flush=True,
        )
    within = sum(ratio <= 1.05 for ratio in ratios)
    print(f"median {median(ratios):.3f}; {within} of {len(ratios)} within 5 %", flush=True)


def again(given: argparse.Namespace) -> None:
    """Explore a program twice with one record book, and print of the second run after how many
    seconds it says what is known, has its first outcome, and ends."""
    command = [sys.executable, "-m", "explore", str(ROOT / "examples" / "quickstart.lift")]
    command += ["--variants", str(given.variants), "--records", str(given.out / "again.sqlite")]
    subprocess.run([*command, "--out", str(given.out / "first")], check=True, capture_output=True)
    begun = time.monotonic()
    second = [*command, "--out", str(given.out / "second")]
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(second, stderr=pipe, stdout=nowhere, text=True) as running:
        for line in running.stderr or ():
            if line.startswith("known since") or "/" in line.split(" ")[0]:
                print(f"{time.monotonic() - begun:.2f} s: {line.strip()}", flush=True)
    print(f"{time.monotonic() - begun:.2f} s in all")
    print(f"{len({r.variant.id for r in Run(given.out / 'second').records})} measured", flush=True)


def writers(given: argparse.Namespace) -> None:
    """Let two processes write to one record book, kill one or the other now and then, and check
    that no entry is lost."""
    file, said = given.out / "written.sqlite", [set[str](), set[str]()]
    running = [_writer(file, seed, given.out) for seed in (0, 1)]
    until, killed = time.monotonic() + given.seconds, 0
    while time.monotonic() < until:
        time.sleep(random.uniform(*KILLED_EVERY))
        at = killed % 2
        said[at] |= _ended(running[at], given.out / f"said-{at}")
        running[at] = _writer(file, at, given.out)
        killed += 1
    for at in (0, 1):
        said[at] |= _ended(running[at], given.out / f"said-{at}")
    with RecordBook(file) as book:
        held = [
            {e.record.variant.id for e in book.every() if e.place.driver == f"{seed}"}
            for seed in (0, 1)
        ]
    with sqlite3.connect(file) as connection:
        (verdict,) = connection.execute("PRAGMA integrity_check").fetchone()
    lost = sum(len(mine - kept) for mine, kept in zip(said, held, strict=True))
    print(
        f"{given.seconds:g} s, {killed} kills: {sum(map(len, said))} entries were said to be kept, "
        f"{lost} are lost; the file is {verdict}"
    )
    if lost or verdict != "ok":
        raise SystemExit(1)


def _writer(file: Path, seed: int, folder: Path) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "tests.support.record_writer", str(file), str(seed)]
    with open(folder / f"said-{seed}", "wb") as said:
        return subprocess.Popen(command, stdout=said, cwd=ROOT)


def _ended(writer: "subprocess.Popen[bytes]", said: Path) -> set[str]:
    """Kill a writer, and return the whole lines that it had printed to the file `said`. If the
    writer had ended by itself, the benchmark ends."""
    alive = writer.poll() is None
    writer.kill()
    writer.wait()
    if not alive:
        raise SystemExit(f"a writer ended by itself, with status {writer.returncode}")
    *whole, _ = said.read_text().split("\n")
    return set(whole)


HOW = {"sizes": sizes, "again": again, "writers": writers}


def main(argv: Sequence[str]) -> None:
    """Run the benchmark that the arguments name."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("how", choices=tuple(HOW))
    options.add_argument("--variants", type=int, default=None)
    options.add_argument("--learn", type=int, default=150, help="variants of each known size")
    options.add_argument("--few", type=int, default=20)
    options.add_argument("--known", default=KNOWN)
    options.add_argument("--held-out", default=HELD_OUT)
    options.add_argument("--seconds", type=float, default=60.0)
    options.add_argument("--out", type=Path, default=None)
    given = options.parse_args(argv)
    given.variants = given.variants or (20 if given.how == "again" else 1000)
    given.out = given.out or Path(mkdtemp(prefix="records-"))
    given.out.mkdir(parents=True, exist_ok=True)
    HOW[given.how](given)


if __name__ == "__main__":
    main(sys.argv[1:])
