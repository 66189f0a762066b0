"""A mutation test of laws, index algebra and prover: do the tests notice faults?

`python -m benchmarks.mutants --sample 150 --out runs/mutants.jsonl` draws mutants of
`rewrites/laws`, `rewrites/number_laws`, `codegen/index` and `codegen/proof`
(`benchmarks/mutators.py`), and runs the tests that cover each (`benchmarks/mutant_trials.py`): for
a law, the tests of that law; for a function that laws call, those of all laws of its file; for
anything else, those of its room. Outcomes are appended to the file, so that a benchmark that was
stopped goes on where it was. The table at the end counts the outcomes of the sample that are in the
file.
"""

# key: m mutant

import argparse
import json
import random
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest
from hypothesis import Phase, settings

from benchmarks.mutant_trials import Trials
from benchmarks.mutators import Mutant, mutants

TOP = Path(__file__).resolve().parents[1]
LAWS = ("rewrites/laws", "rewrites/number_laws")
LAW_TESTS = ("test_laws.py", "test_law_cases.py", "test_side_conditions.py")
INDEX_TESTS = (
    *("test_index.py", "test_conditions.py", "test_digits.py", "test_injectivity.py"),
    "test_views.py",
)
PROOF_TESTS = ("test_prove.py", "test_guard_facts.py", "test_z3_questions.py")
AREAS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(LAWS, tuple(f"tests/rewrites/{name}" for name in LAW_TESTS)),
    "codegen/index": tuple(f"tests/codegen/{name}" for name in INDEX_TESTS),
    "codegen/proof": tuple(f"tests/codegen/{name}" for name in PROOF_TESTS),
}
RULE = re.compile(rb"@rule\([^@]*?\)\ndef (\w+)", re.DOTALL)
OPTIONS = ("-q", "-s", "--tb=no", "--assert=plain", "-p", "no:cacheprovider", "--hypothesis-seed=0")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a mutant by its `name`: the `answer` of its tests is killed (a test fails),
    timeout (a test does not end) or survived. The mutant is of the part `area` of the project; its
    trial took `seconds`."""

    name: str
    area: str
    answer: str
    seconds: float


def main() -> None:
    """Draw mutants, try those without an outcome in the file, and print the table, as the
    command-line arguments say."""
    given = _arguments()
    file = Path(given.out)
    file.parent.mkdir(parents=True, exist_ok=True)
    drawn = sampled(TOP, given.areas, given.sample, given.seed)
    known = stored(file)
    area_of = {m: area for area, m in drawn if m.name not in known}
    stop = time.monotonic() + given.stop_after
    trials = Trials(
        TOP,
        tuple(area_of),
        lambda m, names: covering(area_of[m], m, names),
        lambda m, answer, seconds: keep(
            file, Outcome(m.name, area_of[m], answer, round(seconds, 1))
        ),
        given.jobs,
        lambda: time.monotonic() > stop,
    )
    do_not_shrink()
    pytest.main([*OPTIONS, *(f for area in given.areas for f in AREAS[area])], plugins=[trials])
    known = stored(file)
    print(table([known[m.name] for _, m in drawn if m.name in known]))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=150, help="mutants to draw, over all areas")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--areas", nargs="+", choices=AREAS, default=list(AREAS))
    parser.add_argument("--jobs", type=int, default=1, help="mutants to try at a time")
    parser.add_argument(
        "--stop-after", type=float, default=float("inf"), help="seconds after which to stop"
    )
    parser.add_argument("--out", default="runs/mutants.jsonl")
    return parser.parse_args()


def sampled(top: Path, areas: Iterable[str], count: int, seed: int) -> list[tuple[str, Mutant]]:
    """Mutants drawn with a seed from the areas under `top`, `count` in all, equally many from each
    area, in a random order; each with its area."""
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
    """The outcomes in a file, by the mutants' names."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return {o.name: o for o in (Outcome(**json.loads(line)) for line in lines)}


def keep(file: Path, found: Outcome) -> None:
    """Append the outcome `found` to a file, and print it."""
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(asdict(found), ensure_ascii=False) + "\n")
    print(f"{found.answer:8}  {found.name}", flush=True)


def covering(area: str, m: Mutant, names: Sequence[str]) -> list[str]:
    """The tests, of all those named in `names`, that cover a mutant of an area: for a law, the
    tests of that law; for a function that laws call, the tests of all laws of its file; for
    anything else, the tests of its area."""
    laws = laws_of(m, (TOP / m.file).read_bytes()) if area in LAWS else []
    of_area = [name for name in names if name.partition("::")[0] in AREAS[area]]
    return [name for name in of_area if any(law in name for law in laws)] if laws else of_area


def laws_of(m: Mutant, source: bytes) -> list[str]:
    """The names of the laws that the mutant m may change, where `source` is the text of the
    mutant's file: the law in which the changed place stands; or, if it stands in another function,
    all laws of the file."""
    laws = [name.decode() for name in RULE.findall(source)]
    return [law for law in laws if law == m.function.partition(".")[0]] or laws


def do_not_shrink() -> None:
    """Make Hypothesis stop at the first example that fails, without looking for a smaller one,
    which a mutant's trial does not need."""
    settings.register_profile("mutants", phases=(Phase.explicit, Phase.generate))
    settings.load_profile("mutants")


def table(outcomes: Sequence[Outcome]) -> str:
    """The table of scores, in Markdown: the score of an area is its killed mutants (timeouts among
    them) out of all that were run."""
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
