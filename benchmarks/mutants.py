"""Do the tests notice faults? A mutation test of laws, index algebra and prover.

`python -m benchmarks.mutants --sample 150 --out runs/mutants` draws mutants of `rewrites/laws`,
`codegen/index` and `codegen/proof` (`benchmarks/mutators.py`) and runs on each the tests that cover
the changed lines, in a copy of the repository. Which tests those are, and how long each takes, is
measured once, by a run under coverage. Outcomes are appended to `mutants.jsonl`: a benchmark that
was stopped goes on where it was. A change of the sources or of the tests begins anew.
"""

# key: m mutant

import argparse
import hashlib
import json
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from xml.etree import ElementTree

import coverage
import numpy  # noqa: F401  (loaded once, before the processes that run tests are forked)
import pytest
import z3  # noqa: F401

from benchmarks.mutators import Mutant, mutants

TOP = Path(__file__).resolve().parents[1]
COPIED = ("ir", "rewrites", "constraints", "codegen", "explore", "tests", "examples", "benchmarks")
AREAS: dict[str, tuple[str, ...]] = {
    "rewrites/laws": ("tests/rewrites/test_laws.py", "tests/rewrites/test_side_conditions.py"),
    "codegen/index": ("tests/codegen/test_index.py", "tests/codegen/test_views.py"),
    "codegen/proof": ("tests/codegen/test_prove.py", "tests/codegen/test_prove_generated.py"),
}
ANSWERS = {0: "survived", 1: "killed", 2: "killed"}  # by the exit status of pytest
START_S, SLOWER = 20.0, 6.0  # a limit: so long to start, and so many times as long as measured


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a mutant: killed, survived, timeout, or uncovered (no test runs its lines)."""

    name: str
    area: str
    answer: str
    tests: int
    seconds: float


Covering = Mapping[str, Mapping[int, Sequence[str]]]  # file -> line -> tests


@dataclass(frozen=True, slots=True)
class CoveringTests:
    """The tests of the areas: which cover a line, and how many seconds each takes."""

    covering: Covering
    seconds: Mapping[str, float]

    def of(self, m: Mutant, budget_s: float) -> list[str]:
        """The tests that cover a mutant's statement, quickest first, as many as the budget has."""
        lines = self.covering.get(m.file, {})
        found = {t for n in range(m.lines[0], m.lines[1] + 1) for t in lines.get(n, ())}
        chosen, spent = list[str](), 0.0
        for test in sorted(found, key=lambda t: (self.seconds.get(t, 1.0), t)):
            spent += self.seconds.get(test, 1.0)
            if chosen and spent > budget_s:
                break
            chosen.append(test)
        return chosen


def main() -> None:
    """The command."""
    given = _arguments()
    out = Path(given.out)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        _copy(copy)
        tests = measured(copy, given.areas, out)
        drawn = sampled(copy, given.areas, given.sample, given.seed)
        outcomes = run(copy, drawn, tests, given, out / "mutants.jsonl")
    print(table(outcomes))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=150, help="mutants to draw, over all areas")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--areas", nargs="+", choices=AREAS, default=list(AREAS))
    parser.add_argument("--budget", type=float, default=20.0, help="seconds of tests a mutant")
    parser.add_argument("--stop-after", type=float, default=float("inf"), help="seconds in all")
    parser.add_argument("--out", default="runs/mutants")
    return parser.parse_args()


def _copy(copy: Path) -> None:
    for name in COPIED:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(TOP / name, copy / name, ignore=ignored)
    shutil.copy(TOP / "pyproject.toml", copy)


def sampled(copy: Path, areas: Iterable[str], count: int, seed: int) -> list[tuple[str, Mutant]]:
    """Mutants drawn from the areas, as many from each."""
    generator, drawn = random.Random(seed), list[tuple[str, Mutant]]()
    chosen = list(areas)
    for i, area in enumerate(chosen):
        files = sorted((copy / area).glob("*.py"))
        every = [m for f in files for m in mutants(str(f.relative_to(copy)), f.read_bytes())]
        share = count // len(chosen) + (i < count % len(chosen))
        drawn += [(area, m) for m in generator.sample(every, min(share, len(every)))]
    generator.shuffle(drawn)
    return drawn


def measured(copy: Path, areas: Sequence[str], out: Path) -> CoveringTests:
    """The tests that cover each line, from an earlier run if nothing has changed since."""
    files = [test for area in areas for test in AREAS[area]]
    kept = out / f"tests-{_digest(copy, files)}.json"
    if not kept.exists():
        kept.write_text(json.dumps(asdict(_measure(copy, areas, files))))
    stored = json.loads(kept.read_text())
    lines = {f: {int(n): t for n, t in at.items()} for f, at in stored["covering"].items()}
    return CoveringTests(lines, stored["seconds"])


def _digest(copy: Path, files: Sequence[str]) -> str:
    texts = [p.read_bytes() for p in sorted(copy.rglob("*.py"))]
    return hashlib.sha256(b"".join([repr(files).encode(), *texts])).hexdigest()[:12]


def _measure(copy: Path, areas: Sequence[str], files: Sequence[str]) -> CoveringTests:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files]
    command += [f"--cov={area}" for area in areas]
    command += ["--cov-context=test", "--cov-report=", "--junitxml=times.xml"]
    command += ["-o", "junit_family=xunit1", "--hypothesis-seed=0"]
    subprocess.run(command, cwd=copy, env=_environment(copy), check=True)
    data = coverage.CoverageData(basename=str(copy / ".coverage"))
    data.read()
    lines = {
        str(Path(file).relative_to(copy)): {
            n: sorted({c.partition("|")[0] for c in found if c})
            for n, found in data.contexts_by_lineno(file).items()
        }
        for file in data.measured_files()
    }
    cases = ElementTree.parse(copy / "times.xml").iter("testcase")
    seconds = {f"{c.get('file')}::{c.get('name')}": float(c.get("time") or 0) for c in cases}
    return CoveringTests(lines, seconds)


def _environment(copy: Path) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(copy)}


def run(
    copy: Path,
    drawn: Sequence[tuple[str, Mutant]],
    tests: CoveringTests,
    given: argparse.Namespace,
    file: Path,
) -> list[Outcome]:
    """The outcome of each mutant; those that the file has are not run again."""
    stored = [Outcome(**json.loads(line)) for line in file.open()] if file.exists() else []
    known, began = {o.name: o for o in stored}, time.monotonic()
    for n, (area, m) in enumerate(drawn, 1):
        if time.monotonic() - began > given.stop_after:
            break
        if m.name not in known:
            known[m.name] = outcome(copy, area, m, tests, given.budget)
            with file.open("a") as lines:
                lines.write(json.dumps(asdict(known[m.name]), ensure_ascii=False) + "\n")
        print(f"{n}/{len(drawn)}  {known[m.name].answer:9}  {m.name}", flush=True)
    return [known[m.name] for _, m in drawn if m.name in known]


def outcome(copy: Path, area: str, m: Mutant, tests: CoveringTests, budget_s: float) -> Outcome:
    """Whether a test that covers a mutant fails on it; the file is as it was afterwards."""
    chosen, began = tests.of(m, budget_s), time.monotonic()
    if not chosen:
        return Outcome(m.name, area, "uncovered", 0, 0.0)
    path = copy / m.file
    source = path.read_bytes()
    for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):
        compiled.unlink()
    path.write_bytes(m.applied(source))
    limit = START_S + SLOWER * sum(tests.seconds.get(t, 1.0) for t in chosen)
    try:
        answer = _answer(copy, chosen, limit)
    finally:
        path.write_bytes(source)
    return Outcome(m.name, area, answer, len(chosen), round(time.monotonic() - began, 2))


def _answer(copy: Path, tests: Sequence[str], limit_s: float) -> str:
    """The answer of tests in a process of their own, which has what is slow to load already."""
    process = multiprocessing.get_context("fork").Process(target=_test, args=(copy, tests))
    process.start()
    process.join(limit_s)
    if process.is_alive():
        process.kill()
        process.join()
        return "timeout"
    return ANSWERS.get(process.exitcode or 0, "killed")


def _test(copy: Path, tests: Sequence[str]) -> None:
    """Run tests in the copy and exit with pytest's status; nothing is printed or compiled."""
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    os.chdir(copy)
    os.environ.update(_environment(copy))
    sys.dont_write_bytecode = True
    sys.path[:] = [str(copy), *(p for p in sys.path if Path(p or ".").resolve() != TOP)]
    for name in [n for n in sys.modules if n.partition(".")[0] in COPIED]:
        del sys.modules[name]
    options = ["-x", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=0"]
    os._exit(pytest.main([*options, *tests]))


def table(outcomes: Sequence[Outcome]) -> str:
    """The score of each area: killed mutants (a timeout is one) of all that were run."""
    rows = [
        "| area | mutants | killed | survived | uncovered | score |",
        "|---|---|---|---|---|---|",
    ]
    for area in (*sorted({o.area for o in outcomes}), "all"):
        found = [o.answer for o in outcomes if area in (o.area, "all")]
        killed = found.count("killed") + found.count("timeout")
        rest = f"{found.count('survived')} | {found.count('uncovered')}"
        score = f"{killed / len(found):.0%}" if found else "–"
        rows.append(f"| {area} | {len(found)} | {killed} | {rest} | {score} |")
    return "\n".join(rows)


if __name__ == "__main__":
    main()
