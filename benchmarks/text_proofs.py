"""The time it takes to read a kernel's text and to prove it, and whether it is proved.

The kernels are those of variants of all examples and families.

    python -m benchmarks.text_proofs [--kernels 500] [--seed 0]

A kernel that comes a second time is remembered, and not counted.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np

from codegen.compile import generate
from codegen.plan import Plan
from codegen.text_proof.prove_text import prove_texts
from constraints.devices import profile
from explore.space.derive_form import Derived, derive
from explore.space.forms_to_derive import Derive
from explore.space.lowering import bound
from ir.errors import Unsupported
from ir.parse import parse_file
from rewrites.families.all_families import FAMILIES, forms

EXAMPLES = Path(__file__).parent.parent / "examples"
PROFILES = ("cpu", "h200", "mali-g72")


def plans(random: Random) -> Iterator[tuple[str, Plan]]:
    """An endless stream of pairs (name of program, family and form; plan): the plans of one example
    by each family, then those of the next; forms and points are random."""
    programs = [parse_file(path) for path in sorted(EXAMPLES.glob("*.lift"))]
    while True:
        for program in programs:
            for family in FAMILIES:
                every = forms(program, family)
                if every:
                    target = profile(random.choice(PROFILES))
                    form, seed = random.choice(every), random.randrange(1 << 30)
                    found = derive(Derive(program, form, target, 1, seed))
                    if isinstance(found, Derived):
                        yield from _generated(f"{program.name} {family} [{form.name}]", found)


def _generated(name: str, found: Derived) -> Iterator[tuple[str, Plan]]:
    for variant in found.variants[:1]:
        point = dict(variant.parameters)
        try:
            yield f"{name} {point}", generate(bound(found.lowered.program, point)).plan
        except Unsupported:
            return


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kernels", type=int, default=500)
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    taken: list[float] = []
    seen: set[str] = set()
    unproved = 0
    for name, plan in plans(Random(given.seed)):
        new = {kernel.source for kernel in plan.kernels} - seen
        begun = time.process_time()
        open_ = [proof for proof in prove_texts(plan) if not proof.ok]
        taken += [1e3 * (time.process_time() - begun) / max(1, len(new))] * len(new)
        seen |= new
        unproved += len(open_)
        for proof in open_:
            print(f"{name}\n{proof.summary()}")
        if len(taken) >= given.kernels:
            break
    middle, most = np.percentile(taken, (50, 95))
    print(f"{len(taken)} kernels, {unproved} not proved")
    print(f"median {middle:.1f} ms, 95 % in {most:.0f} ms")
    print(f"the longest {max(taken):.0f} ms; texts of {max(map(len, seen)):,} characters at most")
    return 1 if unproved else 0


if __name__ == "__main__":
    sys.exit(main())
