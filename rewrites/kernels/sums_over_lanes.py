"""Sums that the lanes of a sub-group share: each lane makes a part of every sum of a block, and an
instruction combines the parts of all lanes."""

# key: e term

from ir.core.nodes import Expr, Level, Reduce
from ir.core.size import exact, named
from ir.core.type_rules import size_of
from ir.instructions.table import ACROSS
from rewrites.analysis.folds import operator
from rewrites.engine.refused import Refused, shown
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.stages import stage
from rewrites.engine.strategy import attempt, seq
from rewrites.kernels.register_block import (
    on_reduction,
    over,
    split_innermost,
    unrolled_spine,
)
from rewrites.kernels.split_reduction import made_apart, on_parts
from rewrites.laws.lower import to_parallel, to_seq
from rewrites.laws.reductions import partial_reduce, release_init, stride_parts
from rewrites.nest.named_nest import arranged, standing
from rewrites.nest.normal_form import perfect, simplify
from rewrites.nest.spine import body, inside, nest
from rewrites.number_laws.instructions import instruct
from rewrites.number_laws.lane_results import first_lane
from rewrites.number_laws.units import round_fold

FOLDS = {"+": "sum", "max": "max", "min": "min"}  # of operators: in names of instructions
GROUPS = ("batch", "tiles")
TR, SR, K = map(named, ("tr", "sr", "k"))


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
