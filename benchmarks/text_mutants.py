"""The share of unsafe kernel texts that the proof of texts refuses.

Faults are planted in the printed kernels of all families; a simulator of all work-items tells which
texts are unsafe, and which only wrong.

    python -m benchmarks.text_mutants [--mutants 1000] [--seed 0]

It fails if an unsafe text is proved, and says which.
"""

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from random import Random

from codegen.compile import generate
from codegen.plan import Plan
from constraints.devices import profile
from explore.space.derive_form import Derived, derive
from explore.space.forms_to_derive import Derive
from explore.space.lowering import bound
from ir.errors import Unsupported
from rewrites.families.all_families import FAMILIES, forms
from tests.support.agreement import SMALL, example
from tests.support.text_mutants import Mutant, Outcome, mutants, outcome

PROFILES = ("cpu", "h200", "mali-g72")
PROGRAMS = SMALL | {"vgg": {"C": 4, "W": 8, "M": 8}, "matmul": {"M": 8, "N": 16, "K": 8}}
EACH = 2  # mutants of a kind of a plan

Scores = dict[str, Counter[Outcome]]


def plans(seed: int) -> Iterator[tuple[str, Plan]]:
    """An endless stream of pairs (name of a program and a family, plan): the plans of one small
    program by each family, then those of the next; forms and points are random."""
    random = Random(seed)
    while True:
        for family in FAMILIES:
            name = random.choice(sorted(PROGRAMS))
            plan = drawn(random, name, family)
            if plan is not None:
                yield f"{name} {family}", plan


def drawn(random: Random, name: str, family: str) -> Plan | None:
    """A plan for the program `name` by a family, in a random form at a random point; None if the
    family has no such form or point."""
    program = example(name, PROGRAMS[name])
    every = forms(program, family)
    if not every:
        return None
    target = profile(random.choice(PROFILES))
    found = derive(Derive(program, random.choice(every), target, 1, random.randrange(1 << 30)))
    if not isinstance(found, Derived) or not found.variants:
        return None
    point = dict(found.variants[0].parameters)
    try:
        return generate(bound(found.lowered.program, point), max_work_group=64).plan
    except Unsupported:
        return None


def sample(plan: Plan, random: Random) -> Iterator[Mutant]:
    """A few mutants of each kind of a plan, drawn at random."""
    kinds: dict[str, list[Mutant]] = defaultdict(list)
    for mutant in mutants(plan):
        kinds[mutant.kind].append(mutant)
    for found in kinds.values():
        yield from random.sample(found, min(EACH, len(found)))


def tried(most: int, seed: int) -> Scores:
    """The numbers of mutants by kind and outcome, after `most` mutants or a few more; each unsafe
    mutant that was proved is printed."""
    scores: Scores = defaultdict(Counter)
    random = Random(seed)
    for name, plan in plans(seed):
        for mutant in sample(plan, random):
            found = outcome(mutant)
            scores[mutant.kind][found] += 1
            if found is Outcome.MISSED:
                print(f"PROVED, and unsafe: {mutant.kind} of {name}\n{mutant.plan.source}")
        if sum(map(Counter.total, scores.values())) >= most:
            return scores
    raise AssertionError("there is always another plan")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--mutants", type=int, default=1000)
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    scores = tried(given.mutants, given.seed)
    columns = [o for o in Outcome if any(o in score for score in scores.values())]
    total = sum(scores.values(), Counter[Outcome]())
    print(" | ".join(["kind", *(o.value for o in columns)]))
    for kind, score in [*sorted(scores.items()), ("all", total)]:
        print(" | ".join([kind, *(str(score[o]) for o in columns)]))
    return 1 if total[Outcome.MISSED] else 0


if __name__ == "__main__":
    sys.exit(main())
