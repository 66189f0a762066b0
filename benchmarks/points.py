"""Legal points, sampled: does every one compile, prove, and compute what the program means?

    python benchmarks/points.py [--count 1000] [--device D] [--families naive,lift,…] [LAYER …]

Layers are names in examples/layers.toml. Points are spread over the forms of a family.
"""

import argparse
import random
import tomllib
from collections import Counter
from pathlib import Path

import numpy as np

from codegen.compile import generate
from codegen.prove import prove
from codegen.runtime import Session, choose, open_device
from explore.lowering import bound
from explore.space import points
from explore.target import profile_of
from ir.errors import Unsupported, UserError
from ir.inputs import random_inputs
from ir.interpret import evaluate
from ir.nodes import Program
from ir.parse import parse_file
from rewrites.dims import Refused
from rewrites.families import FAMILIES, Lowering, forms, lower

EXAMPLES = Path(__file__).parents[1] / "examples"
LAYERS = ("vgg-0", "vgg-7", "vgg-24", "alexnet-1", "resnet-1", "mec-cv12")


def program(layer: str) -> Program:
    found = dict(tomllib.loads((EXAMPLES / "layers.toml").read_text())[layer])
    file = EXAMPLES / found.pop("file")
    if "W" in found:
        found.setdefault("H", found["W"])
    return parse_file(file, set=found)


def check(
    session: Session, source: Program, lowering: Lowering, point: dict[str, int], reference: object
) -> str:
    """What became of a point, in a word or with the stage and reason of its failure."""
    inputs = {name: np.asarray(x) for name, x in random_inputs(source, 1).items()}
    try:
        made = generate(
            bound(lowering.program, point), max_work_group=session.device.max_work_group
        )
    except Unsupported as reason:
        return f"emit: {reason}"
    proofs = [prove(kernel) for kernel in made.kernels]
    if not all(p.ok for p in proofs):
        return f"prove: {next(p for p in proofs if not p.ok).summary()[:200]}"
    result = session.build(made.plan)(inputs)
    return "right" if np.array_equal(result, np.asarray(reference)) else "WRONG"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("layers", nargs="*", default=LAYERS)
    options.add_argument("--count", type=int, default=1000)
    options.add_argument("--device")
    options.add_argument("--families", default=",".join(FAMILIES))
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    session = open_device(choose(given.device))
    generator = random.Random(given.seed)
    for layer in given.layers:
        source = program(layer)
        inputs = random_inputs(source, 1)
        reference = evaluate(source, inputs)
        for family in given.families.split(","):
            outcome: Counter[str] = Counter()
            every = list(forms(source, family))
            generator.shuffle(every)
            for form in every[: given.count]:
                share = max(1, given.count // len(every))
                try:
                    lowering = lower(source, family, form)
                    _, chosen = points(lowering, profile_of(session.device), share, given.seed)
                except (Refused, UserError, Unsupported):
                    outcome["refused form"] += 1
                    continue
                for point in chosen:
                    said = check(session, source, lowering, point, reference)
                    outcome[said] += 1
                    if said != "right":
                        print(f"  {layer} {family} {form.name!r} {point}: {said}", flush=True)
            print(layer, family, dict(outcome), flush=True)


if __name__ == "__main__":
    main()
