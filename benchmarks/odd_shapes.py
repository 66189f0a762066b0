"""A check on convolutions of odd shapes: every family gives the interpreter's results, or says why
it refuses.

    python -m benchmarks.odd_shapes [--count N] [--points 1] [--device D] [--families im2col,…]

Shapes are combinations of the sizes below: either a few that hold every pair of values of two
sizes, or `--count` random ones (0: all). For each family some forms are tried at sampled legal
points. Inputs are whole numbers, so that sums are exact; the result of a family whose laws round
may differ by the known error of its derivation. A variant that is right on whole numbers, but has a
larger error on real numbers than `explore` allows by default, is reported as `inexact`.
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from itertools import combinations, product
from random import Random

import numpy as np

from codegen.compile import generate
from codegen.demand_proofs import proofs
from codegen.runtime.session import Session, choose, open_device
from constraints.devices import Profile
from constraints.solve.explain import explain
from constraints.solve.solver import Solver
from explore.measure.reference import expected, inputs_of, relative_error
from explore.run.target import profile_of
from explore.space.derive_form import constraints, points
from explore.space.lowering import bound
from ir.core.nodes import Program
from ir.errors import Unsupported, UserError
from ir.meaning.inputs import random_inputs
from ir.parse import parse
from rewrites.engine.refused import Refused
from rewrites.families.all_families import FAMILIES, forms
from rewrites.tuning.lower import lower
from rewrites.tuning.lowering import Lowering

BATCH, SIDE, KERNEL = (1, 5), (1, 13, 27), (1, 2, 3, 5, 7, 9, 11)
PAD, STRIDE, CHANNELS = (0, 1, 2, 3), (1, 2, 4), (1, 3, 5, 64)
FEATURES = 6
MAX_ERROR = 1e-4  # what `explore` allows by itself

Shape = dict[str, int]

CONV = """
conv(const weights : [[[[float]C]K]K]M, const biases : [float]M, images : [[[[float]C]W]W]N) =
  map(image ->
      map2d(window ->
          map((kernel, bias) ->
              reduce(bias, (acc, (x, w)) -> acc + x * w, zip(flatten(window), flatten(kernel))),
            zip(weights, biases)),
        slide2d(K, S, pad2d(P, 0.0, image))),
    images)
"""


def shapes() -> list[Shape]:
    """The shapes of convolutions that have at least one window."""
    every = product(BATCH, SIDE, KERNEL, PAD, STRIDE, CHANNELS)
    named = [dict(zip("NWKPSC", values, strict=True)) | {"M": FEATURES} for values in every]
    return [s for s in named if s["W"] + 2 * s["P"] >= s["K"]]


def covering(every: list[Shape], random: Random) -> Iterator[Shape]:
    """A few of the shapes `every` that together hold every pair of values of two sizes; the shape
    with the most pairs comes first."""
    left = {pair for shape in every for pair in pairs(shape)}
    while left:
        best = max(random.sample(every, len(every)), key=lambda shape: len(pairs(shape) & left))
        left -= pairs(best)
        yield best


def pairs(shape: Shape) -> set[tuple[tuple[str, int], ...]]:
    """All pairs of two sizes of a shape, each size as (name, value)."""
    return set(combinations(shape.items(), 2))


def program(shape: Shape) -> Program:
    """The program of the convolution of a batch of images of this shape."""
    return parse(CONV + "where " + ", ".join(f"{name} = {n}" for name, n in shape.items()))


def check(session: Session, source: Program, lowering: Lowering, point: dict[str, int]) -> str:
    """The outcome of a lowering at a point: `right`, `WRONG`, `inexact` with its error, or the
    stage that failed with its reason."""
    inputs = {name: np.asarray(x) for name, x in random_inputs(source, 1).items()}
    try:
        concrete = bound(lowering.program, point)
        made = generate(concrete, max_work_group=session.device.max_work_group)
    except Unsupported as reason:
        return f"emit: {reason}"
    for proof in proofs(made):
        if not proof.ok:
            return f"prove: {proof.summary()[:200]}"
    built = session.build(made.plan)
    right = expected(source, inputs).agrees(built(inputs), lowering.derivation.rounding)
    drawn = inputs_of(source, 1)
    error = relative_error(built(drawn), expected(source, drawn).output)
    if not right:
        return "WRONG"
    return "right" if error <= MAX_ERROR else f"inexact: error {error:.2g}"


def outcomes(
    session: Session, shape: Shape, family: str, wanted: int, most: int, random: Random
) -> Iterator[str]:
    """The outcome of each point that is tried for a family on a shape: of up to `wanted` random
    forms, up to `most` points each."""
    source = program(shape)
    every = forms(source, family)  # none, where a family is for other programs
    first, others = every[:1], every[1:]
    for form in (*first, *random.sample(others, min(wanted - 1, len(others)))):
        device = profile_of(session.device)
        try:
            lowering = lower(source, form)
            _, chosen = points(lowering, device, most, random.randrange(1 << 30))
        except (Refused, Unsupported, UserError) as refused:
            yield f"refused: {refused}"
            continue
        if not chosen:
            yield f"refused: {impossible(lowering, device)}"
        for point in chosen:
            said = check(session, source, lowering, point)
            yield said if said == "right" else f"{form.name} {point}: {said}"


def impossible(lowering: Lowering, device: Profile) -> str:
    """The reason why a lowering has no legal point on a device."""
    system = constraints(lowering, device)
    core = Solver(system).feasible().core
    return explain(core, system.parameters) if core else "no point on the ladder"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int)
    options.add_argument("--forms", type=int, default=2)
    options.add_argument("--points", type=int, default=1)
    options.add_argument("--device")
    options.add_argument("--families", default=",".join(FAMILIES))
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    session = open_device(choose(given.device))
    random = Random(given.seed)
    every = shapes()
    drawn = list(covering(every, random))
    if given.count is not None:
        drawn = random.sample(every, given.count) if given.count else every
    total: Counter[str] = Counter()
    for shape in drawn:
        for family in given.families.split(","):
            for said in outcomes(session, shape, family, given.forms, given.points, random):
                kind = said.split(":")[0] if said[:7] in ("right", "refused") else "bad"
                total[f"{family} {kind}"] += 1
                if kind != "right":
                    print(shape, family, said, flush=True)
    print(f"{len(drawn)} of {len(every)} shapes", *sorted(total.items()), sep="\n")


if __name__ == "__main__":
    main()
