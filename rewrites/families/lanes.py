"""The family `lanes`: the lanes of a sub-group share each sum, and combine their parts of it by an
instruction.

A sub-group makes `tr` neighbouring results, a group has `sr` sub-groups, and a lane takes `k` steps
of a sum at once. The family is for few results of long sums, such as fully connected layers, whose
results alone would not fill a device.
"""

# key: p program, e term

from collections.abc import Iterator
from math import prod

from ir.core.nodes import Expr, Level, Program, Reduce
from ir.core.size import exact, named
from ir.core.type_rules import size_of, type_of
from ir.core.types import Array, Type
from ir.instructions.entries.lane_exchanges import SIZES
from ir.instructions.table import ACROSS
from rewrites.analysis.folds import operator
from rewrites.engine.refused import Refused, shown
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.stages import stage
from rewrites.engine.strategy import attempt, seq
from rewrites.kernels.each_kernel import wherever
from rewrites.kernels.register_block import (
    on_reduction,
    over,
    split_innermost,
    unrolled_spine,
    weight,
)
from rewrites.kernels.split_reduction import made_apart, on_parts
from rewrites.laws.lower import to_parallel, to_seq
from rewrites.laws.reductions import partial_reduce, release_init, stride_parts
from rewrites.nest.named_nest import arranged, standing
from rewrites.nest.normal_form import normalise, perfect, simplify
from rewrites.nest.spine import body, inside, nest
from rewrites.number_laws.instructions import instruct
from rewrites.number_laws.lane_results import first_lane
from rewrites.number_laws.units import round_fold
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
FOLDS = {"+": "sum", "max": "max", "min": "min"}  # of operators: in names of instructions
GROUPS = ("batch", "tiles")
TR, SR, K = map(named, ("tr", "sr", "k"))


def lanes(params: frozenset[str], count: int) -> Strategy:
    """The strategy that lowers every kernel with sums that `count` lanes share. `params` are the
    names of the program's parameters."""
    return seq(one_each(params, normalise), wherever(shared_by_lanes(count)))


def shared_by_lanes(lanes: int) -> Strategy:
    """The strategy that lowers a kernel to groups of `sr` sub-groups, each of which makes `tr`
    neighbouring results; `lanes` lanes share each sum, and take `k` steps at once."""

    def run(e: Expr) -> Rewritten | None:
        maps = nest(e)
        if not maps:
            raise Refused("expected an array of results, found one: no sub-groups share it")
        tiles = (
            arranged(batch=range(len(maps) - 1), results=[len(maps) - 1])
            .tile("results", TR * SR, "tiles", "results", told_as="sr times tr")
            .split("results", TR, "items", "block", told_as="tr")
        )
        apart = made_apart(tiles, (*GROUPS, "items"), _part_of_each_lane(lanes))
        items = stage("over sub-groups", to_parallel(level=Level.LOCAL, dim=1))
        block = inside(seq(body(inside(_block(lanes))), items))
        return over(apart, Level.GROUP, GROUPS, block)(e)

    return run


def _part_of_each_lane(lanes: int) -> Strategy:
    """The strategy that turns a fold into one of as many parts as there are lanes; neighbouring
    lanes read neighbours."""

    def run(e: Expr) -> Rewritten | None:
        if not isinstance(e, Reduce):
            return None
        n = size_of(e.xs)
        if isinstance(n, int) and n % lanes:
            raise Refused(
                f"expected {lanes} equal parts of a sum, or one that zeros lengthen, found {n}"
            )
        parts = partial_reduce(k=exact(n, lanes))
        return seq(parts, simplify, attempt(stride_parts()))(e)

    return stage("a part for each lane", seq(attempt(round_fold(k=lanes)), run))


def _block(lanes: int) -> Strategy:
    """The strategy that lowers a map over a block of sums of parts: lanes make the parts, an
    instruction combines them, and the first lane writes the results."""
    made = (
        standing("block", "parts")
        .order("parts", "block")
        .then(split_innermost(K))
        .into_sum("block")
        .at("parts", seq(body(unrolled_spine), to_parallel(level=Level.LOCAL, dim=0)))
    )
    return seq(
        stage("parts of sums, in lanes", on_parts(seq(perfect, simplify, made))),
        stage("parts combined by an instruction", body(_combined(lanes))),
        stage("results of the first lane", seq(first_lane(), inside(_written))),
    )


def _combined(lanes: int) -> Strategy:
    """The strategy that combines the parts which a result is made of by an instruction of so many
    lanes; Refused if lanes have none for the fold."""

    def fold(e: Expr) -> Rewritten | None:
        op = operator(e.f) if isinstance(e, Reduce) else None
        name = f"lanes_{FOLDS.get(op or '')}_{lanes}"
        done = instruct(name=name)(e) if name in ACROSS else None
        if done is None:
            raise Refused(
                "expected sums, or largest or least numbers, of floats, which lanes combine by an "
                f"instruction; found {shown(e)}"
            )
        return done

    return seq(attempt(on_reduction(release_init())), on_reduction(fold))


def _written(e: Expr) -> Rewritten | None:
    """The map e over a block of results with the function of what lanes have applied by each of
    them."""
    by_lanes = inside(to_parallel(level=Level.LOCAL, dim=0))
    return seq(body(by_lanes), to_seq(unrolled=True))(e)


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
