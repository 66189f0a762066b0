"""Does Oclgrind report a mutant of emitted text that the proof of the text accepts? Oclgrind judges
beside our own simulator here: it runs the mutants' kernels on whole numbers.

    python -m benchmarks.text_mutants_simulated [--mutants 300] [--seed 0]

It fails if the proof accepts a mutant that Oclgrind reports, and says which. Mutants that the proof
refuses are run too; one that does not end within `LIMIT` seconds, or kills its process, counts as
reported.
"""

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import mkdtemp

import numpy as np

from benchmarks.text_mutants import plans, sample
from codegen.plan import Plan
from codegen.text_proof.prove_text import prove_texts
from explore.results.records import Failed
from explore.workers.pool import Pool
from explore.workers.wait_any import each_done
from tests.support.simulated_plans import ran, session, simulated
from tests.support.text_mutants import Mutant

LIMIT = 60.0  # seconds a mutant
MOST_ITEMS = 4096  # work-items of all kernels of a plan: a simulator is slow


def small(plan: Plan) -> bool:
    """True if a plan is small enough to simulate, and computes with floats alone."""
    items = sum(int(np.prod(kernel.global_size)) for kernel in plan.kernels)
    floats = all(b.scalar == "float" for b in plan.buffers)
    return floats and items <= MOST_ITEMS


def drawn(seed: int, most: int) -> Iterator[tuple[str, Mutant]]:
    """Mutants of small plans, a few of each kind for every plan, each with the name of its program;
    `most` in all, or a few more."""
    random, left = Random(seed), most
    for name, plan in plans(seed):
        if small(plan):
            for mutant in sample(plan, random):
                yield name, mutant
                left -= 1
        if left <= 0:
            return


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--mutants", type=int, default=300)
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    scores: dict[str, Counter[str]] = defaultdict(Counter)
    log, seen = Path(mkdtemp()) / "log", 0
    with Pool[Plan, str](ran, workers=1, timeout=LIMIT, setup=session, env=simulated(log)) as pool:
        for name, mutant in drawn(given.seed, given.mutants):
            proved = all(proof.ok for proof in prove_texts(mutant.plan))
            (done,) = each_done(pool, [mutant.plan])
            text = log.read_text(errors="replace") if log.exists() else ""
            said, seen = text[seen:], len(text)
            said = said or (str(done.result) if isinstance(done.result, Failed) else "")
            outcome = f"{'reported' if said else 'silent'}, {'proved' if proved else 'refused'}"
            scores[mutant.kind][outcome] += 1
            if said and proved:
                print(
                    f"PROVED, and reported: {mutant.kind} of {name}\n{said}\n{mutant.plan.source}"
                )
    total = sum(scores.values(), Counter[str]())
    columns = sorted(total)
    print(" | ".join(["kind", *columns]))
    for kind, score in [*sorted(scores.items()), ("all", total)]:
        print(" | ".join([kind, *(str(score[c]) for c in columns)]), flush=True)
    return 1 if total["reported, proved"] else 0


if __name__ == "__main__":
    sys.exit(main())
