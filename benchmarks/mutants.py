"""Do the tests notice faults? A mutation test of laws, index algebra and prover.

`python -m benchmarks.mutants --sample 150 --out runs/mutants.jsonl` draws mutants of
`rewrites/laws`, `codegen/index` and `codegen/proof` (`benchmarks/mutators.py`). Each is tried in a
fork of a process that has loaded the tests: the code of the changed function is exchanged, and the
tests that cover it are run: of a law its own, of what laws use those of the laws of its file, of
others those of their room. No file is changed. Outcomes are appended to the file, so a benchmark
that was stopped goes on where it was. The table at the end counts what the file has of the sample.
"""

# key: m mutant

import argparse
import gc
import json
import multiprocessing
import os
import random
import re
import resource
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import CodeType, FunctionType

import pytest

from benchmarks.mutators import Mutant, mutants

TOP = Path(__file__).resolve().parents[1]
LAW_TESTS = ("tests/rewrites/test_laws.py", "tests/rewrites/test_side_conditions.py")
AREAS: dict[str, tuple[str, ...]] = {
    "rewrites/laws": LAW_TESTS,
    "codegen/index": ("tests/codegen/test_index.py", "tests/codegen/test_views.py"),
    "codegen/proof": ("tests/codegen/test_prove.py",),
}
RULE = re.compile(rb"@rule\([^@]*?\)\ndef (\w+)", re.DOTALL)
NOT_LOADED = 99  # exit status
PROCESSOR_S = 120  # of processor time: the tests of a file take far less without a mutant
OPTIONS = ("-x", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=0")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a mutant: killed (a test fails), timeout (no end), or survived."""

    name: str
    area: str
    answer: str
    seconds: float


def main() -> None:
    """The command."""
    given = _arguments()
    file = Path(given.out)
    file.parent.mkdir(parents=True, exist_ok=True)
    drawn = sampled(TOP, given.areas, given.sample, given.seed)
    known = stored(file)
    left = [(area, m) for area, m in drawn if m.name not in known]
    stop = time.monotonic() + given.stop_after
    pytest.main([*OPTIONS, "--collect-only", *(f for area in given.areas for f in AREAS[area])])
    fork = multiprocessing.get_context("fork")
    jobs = [
        fork.Process(target=_run, args=(left[n :: given.jobs], file, stop))
        for n in range(given.jobs)
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    known = stored(file)
    print(table([known[m.name] for _, m in drawn if m.name in known]))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=150, help="mutants to draw, over all areas")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--areas", nargs="+", choices=AREAS, default=list(AREAS))
    parser.add_argument("--jobs", type=int, default=1, help="mutants at a time")
    parser.add_argument("--stop-after", type=float, default=float("inf"), help="seconds in all")
    parser.add_argument("--out", default="runs/mutants.jsonl")
    return parser.parse_args()


def sampled(top: Path, areas: Iterable[str], count: int, seed: int) -> list[tuple[str, Mutant]]:
    """Mutants drawn from the areas, as many from each, in a random order."""
    generator, drawn = random.Random(seed), list[tuple[str, Mutant]]()
    chosen = list(areas)
    for i, area in enumerate(chosen):
        files = sorted((top / area).glob("*.py"))
        every = [m for f in files for m in mutants(str(f.relative_to(top)), f.read_bytes())]
        share = count // len(chosen) + (i < count % len(chosen))
        drawn += [(area, m) for m in generator.sample(every, min(share, len(every)))]
    generator.shuffle(drawn)
    return drawn


def stored(file: Path) -> dict[str, Outcome]:
    """The outcomes that a file has, by the mutants' names."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return {o.name: o for o in (Outcome(**json.loads(line)) for line in lines)}


def _run(left: Sequence[tuple[str, Mutant]], file: Path, stop: float) -> None:
    """Append the outcome of each mutant to the file, until it is time to stop."""
    for area, m in left:
        if time.monotonic() > stop:
            break
        found = outcome(TOP, area, m, run_by(area, m, (TOP / m.file).read_bytes()))
        with file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(asdict(found), ensure_ascii=False) + "\n")
        print(f"{found.answer:8}  {m.name}", flush=True)


def run_by(area: str, m: Mutant, source: bytes) -> list[str]:
    """The arguments with which pytest runs a mutant's tests: of a law its own, of a function that
    laws use those of all laws of the file."""
    laws = [name.decode() for name in RULE.findall(source)]
    own = [law for law in laws if law == m.function.partition(".")[0]]
    chosen = ["-k", " or ".join(own or laws)] if area == "rewrites/laws" and laws else []
    return [*AREAS[area], *chosen]


def outcome(top: Path, area: str, m: Mutant, tests: Sequence[str]) -> Outcome:
    """Whether a test fails on a mutant of a module that is loaded."""
    began = time.monotonic()
    fork = multiprocessing.get_context("fork")
    process = fork.Process(target=_test, args=(top, m, tests))
    process.start()
    process.join()
    if process.exitcode == NOT_LOADED:
        raise RuntimeError(f"no function {m.function} of {m.file} is loaded")
    answer = "survived" if process.exitcode == 0 else "killed"
    if process.exitcode is None or process.exitcode < 0:
        answer = "timeout"
    return Outcome(m.name, area, answer, round(time.monotonic() - began, 1))


def _test(top: Path, m: Mutant, tests: Sequence[str]) -> None:
    """Exchange the mutant's function, run tests, and exit with pytest's status."""
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_S, PROCESSOR_S))
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    os.chdir(top)
    if not exchange(top / m.file, m):
        os._exit(NOT_LOADED)
    os._exit(pytest.main([*OPTIONS, *tests]))


def exchange(path: Path, m: Mutant) -> int:
    """Give the functions of a loaded module their code in the mutant; how many these are."""
    new = dict(_codes(compile(m.applied(path.read_bytes()), str(path), "exec")))
    loaded = [f for f in gc.get_objects() if isinstance(f, FunctionType)]
    ours = [f for f in loaded if f.__code__.co_filename == str(path)]
    changed = [f for f in ours if f.__code__.co_qualname in new]
    for f in changed:
        f.__code__ = new[f.__code__.co_qualname]
    return len([f for f in changed if f.__name__ == m.function.partition(".")[0]])


def _codes(code: CodeType) -> Iterator[tuple[str, CodeType]]:
    """(name, code) of the functions and methods of a module; those inside them are theirs."""
    for const in code.co_consts:
        if isinstance(const, CodeType):
            is_class = "__qualname__" in const.co_names
            yield from _codes(const) if is_class else [(const.co_qualname, const)]


def table(outcomes: Sequence[Outcome]) -> str:
    """The score of each area: killed mutants (a timeout is one) of all that were run."""
    rows = ["| area | mutants | killed | survived | score |", "|---|---|---|---|---|"]
    for area in (*sorted({o.area for o in outcomes}), "all"):
        found = [o.answer for o in outcomes if area in (o.area, "all")]
        survived = found.count("survived")
        killed = len(found) - survived
        score = f"{killed / len(found):.0%}" if found else "–"
        rows.append(f"| {area} | {len(found)} | {killed} | {survived} | {score} |")
    return "\n".join(rows)


if __name__ == "__main__":
    main()
