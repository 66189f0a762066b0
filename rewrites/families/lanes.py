"""The family `lanes`: the lanes of a sub-group share each sum, and combine their parts of it by an
instruction.

A sub-group makes `tr` neighbouring results, a group has `sr` sub-groups, and a lane takes `k` steps
of a sum at once. The family is for few results of long sums, such as fully connected layers, whose
results alone would not fill a device.
"""

# key: p program

from collections.abc import Iterator
from math import prod

from ir.core.nodes import Program
from ir.core.type_rules import type_of
from ir.core.types import Array, Type
from ir.instructions.entries.lane_exchanges import SIZES
from rewrites.engine.rule import Strategy
from rewrites.engine.strategy import seq
from rewrites.kernels.each_kernel import wherever
from rewrites.kernels.register_block import weight
from rewrites.kernels.sums_over_lanes import shared_by_lanes
from rewrites.nest.normal_form import normalise
from rewrites.storing.one_reduction_each import one_each
from rewrites.tuning.family import (
    Family,
    Form,
    Parameter,
    Sides,
    Trait,
    Tuning,
    Way,
    parameter_names,
)
from rewrites.tuning.sums_of_programs import sums_of

FEW = 1 << 16  # results: with more of them, each work-item makes some alone
STEPS = 4  # of a sum, at least, for each lane


def lanes(params: frozenset[str], count: int) -> Strategy:
    """The strategy that lowers every kernel with sums that `count` lanes share. `params` are the
    names of the program's parameters."""
    return seq(one_each(params, normalise), wherever(shared_by_lanes(count)))


TUNING = Tuning(
    "lanes",
    {
        "tr": Parameter("neighbouring results of a sub-group", (1, 2, 3, 4, 6, 8)),
        "sr": Parameter("sub-groups of a group", (1, 2, 4, 8)),
        "k": Parameter("steps of a sum that a lane takes at once", (1, 2, 4, 8, 16)),
    },
    kept=("tr",),
    sides=Sides(pixels=(), channels=("tr", "sr")),
)
TRAITS = {
    n: Trait(f"of-{n}", f"{n} lanes of a sub-group share each sum", instruction=f"lanes_sum_{n}")
    for n in reversed(SIZES)
}


def _forms(p: Program) -> Iterator[Form]:
    results = _elements(type_of(p.body))
    longest = max((prod(sums) for sums in sums_of(p)), default=0)
    for count, trait in TRAITS.items():
        if 1 < results <= FEW and longest >= STEPS * count:
            yield Form("lanes", (trait,), Way(lanes, parameter_names(p), count), TUNING)


def _elements(t: Type) -> int:
    """The number of elements of an array of numbers or tuples; 1 for other types."""
    return weight(t.size) * _elements(t.elem) if isinstance(t, Array) else 1


FAMILY = Family("lanes", "the lanes of a sub-group share each sum", _forms)
