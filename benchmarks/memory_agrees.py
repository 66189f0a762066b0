"""A check, at sampled points of all families, that generated code takes as much memory and as many
work-items as inference says.

    python -m benchmarks.memory_agrees [--points 5000] [--seed 0] [--profile cpu] [LAYER …]

Compared are memory, workspace, the largest allocation, local memory, work-items and groups: the
amounts that constraints limit. Families and layers take turns, with `EACH` points a form; nothing
is built. Layers are those of benchmarks/trial.py. Each difference is printed when it is found.
"""

import argparse
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from random import Random

from benchmarks.trial import program
from codegen.compile import generate
from codegen.plan import Plan
from constraints.devices import Profile, profile
from constraints.quantities.quantities import Quantities, local_at, quantities
from explore.building.promise_check import disagreements
from explore.space.derive_form import points
from explore.space.lowering import bound, lowering
from ir.core.nodes import Program
from ir.core.types import BYTES
from ir.errors import Unsupported, UserError
from rewrites.families.all_families import FAMILIES, forms

LAYERS = ("small", "product", "separable", "block", "vgg-7", "alexnet-conv1", "mec-cv12")
EACH = 4  # points of a form, and then the next
LOCAL = re.compile(
    r"^ +__local ([a-z]+)(\d*) \w+\[(\d+)\] __attribute__\(\(aligned\((\d+)\)\)\);", re.M
)


@dataclass(frozen=True, slots=True)
class Sample:
    """A point of a family's form for a layer, with the program lowered by that form."""

    layer: str
    family: str
    form: str
    program: Program
    point: dict[str, int]

    def differences(self, max_work_group: int) -> list[str]:
        """A message for each amount of this point that is not the same by inference and in the
        generated code; groups have at most `max_work_group` items."""
        made = generate(bound(self.program, self.point), max_work_group=max_work_group)
        found = disagreements(quantities(self.program), self.point, made)
        return [*found, *local_differences(quantities(self.program), self.point, made.plan)]


def local_differences(known: Quantities, point: dict[str, int], plan: Plan) -> Iterator[str]:
    """A message for each kernel of the plan whose text declares more or fewer local bytes than
    inference (`known`) says for the point."""
    for k, kernel in zip(known.kernels, plan.kernels, strict=True):
        inferred, taken = local_at(k, point), declared_bytes(kernel.text)
        if inferred != taken:
            yield f"{kernel.name}: local bytes inferred {inferred}, its text declares {taken}"


def declared_bytes(text: str) -> int:
    """The bytes of the local arrays in a kernel's text, each begun at the next multiple of its
    alignment."""
    at = 0
    for kind, width, elements, alignment in LOCAL.findall(text):
        unit, size = int(alignment), BYTES[kind] * int(width or 1) * int(elements)
        at = -(-(-(-at // unit) * unit + size) // unit) * unit
    assert text.count("__local ") == len(LOCAL.findall(text)) + text.count("(__local ")
    return at


def samples(layers: Sequence[str], limits: Profile, seed: int) -> Iterator[Sample]:
    """Legal points (within `limits`) of all families on these layers, one family after the other in
    turn; another seed draws other points."""
    cells = [_of_family(layer, family, limits, seed) for layer in layers for family in FAMILIES]
    return (found for found in chain.from_iterable(zip_longest(*cells)) if found is not None)


def _of_family(layer: str, family: str, limits: Profile, seed: int) -> Iterator[Sample]:
    names = [form.name for form in forms(program(layer), family)]
    Random(f"{seed} {layer} {family}").shuffle(names)
    for name in names:
        try:
            low = lowering(program(layer), family, name)
            _, chosen = points(low, limits, EACH, seed)
        except (UserError, Unsupported):
            continue
        yield from (Sample(layer, family, name, low.program, point) for point in chosen)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("layers", nargs="*", default=LAYERS)
    options.add_argument("--points", type=int, default=5000)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--profile", type=profile, default="cpu")
    given = options.parse_args()
    tried, wrong = Counter[str](), 0
    for sample in islice(samples(given.layers, given.profile, given.seed), given.points):
        tried[sample.family] += 1
        if told := sample.differences(given.profile.group_items):
            wrong += 1
            print(sample.layer, sample.family, sample.form, sample.point, *told, sep="\n  ")
    print(", ".join(f"{n} {family}" for family, n in sorted(tried.items())))
    print(f"{wrong} of {tried.total()} points differ")


if __name__ == "__main__":
    main()
