"""The family `registers`: a block of results in registers, in vectors, and no local memory.

Parameters: `tx` and `ty` columns (pixels) and `tr` vectors of `v` rows (output channels) that one
work-item makes, `k` steps of the innermost reduction unrolled. Flipped: `tr` vectors of `v`
columns, `tx` rows, and `ty` lines of columns.
"""

# key: e term, s strategy

from dataclasses import dataclass
from functools import partial

from ir.core.nodes import Expr, Level
from ir.core.size import named
from rewrites.analysis.predicates import has_windows
from rewrites.engine.refused import Refused
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.strategy import seq
from rewrites.kernels.each_kernel import wherever
from rewrites.kernels.register_block import (
    longest_inside,
    longest_outside,
    on_reduction,
    parallel,
    placed,
    split_innermost,
    unrolled_spine,
    vectors,
)
from rewrites.laws.maps import split_map
from rewrites.nest.blocks_of_results import block
from rewrites.nest.dimensions import Dims, sided
from rewrites.nest.normal_form import normalise
from rewrites.nest.reshape import merge, on_map, sort, tile
from rewrites.nest.spine import nest
from rewrites.storing.one_reduction_each import one_each
from rewrites.storing.padding_for_tiles import room
from rewrites.storing.stored_views import Choices, prepare


@dataclass(frozen=True, slots=True)
class Registers:
    """What distinguishes the lowered forms of the family; numbers are parameters instead."""

    choices: Choices
    level: Level = Level.GROUP
    tall: bool = False  # also a block over the second-innermost columns
    taps_inside: bool = False  # the longest reduction is the outermost loop


def registers(params: frozenset[str], form: Registers) -> Strategy:
    """Lower every kernel of a program this way."""
    return seq(
        one_each(params, normalise),
        prepare(params, form.choices),
        wherever(partial(kernel, params, form)),
    )


def kernel(params: frozenset[str], form: Registers, e: Expr) -> Rewritten | None:
    """One kernel, its rows and columns found by what reaches its operands."""
    dims = _flipped(e) if form.choices.flipped else sided(e)
    return in_blocks(params, form, dims)(e)


def in_blocks(params: frozenset[str], form: Registers, dims: Dims) -> Strategy:
    """A kernel whose rows and columns are these."""
    return lambda e: seq(*_steps(params, form, dims, len(nest(e))))(e)


def _flipped(e: Expr) -> Dims:
    """Rows and columns change roles; of windows only a row of them, as the next one is apart."""
    dims = sided(e)
    if not dims.columns:
        raise Refused("there is one dimension of results: vectors have no other side to go over")
    apart = len(dims.columns) - 1 if has_windows(e) else 0
    return Dims(dims.batch, dims.columns[apart:], (*dims.columns[:apart], *dims.rows))


def _steps(params: frozenset[str], form: Registers, dims: Dims, depth: int) -> list[Strategy]:
    """Order, merge, vectorise, tile, block, lower."""
    if not dims.rows and not dims.columns:
        raise Refused("no dimension distinguishes one result from another")
    order = [*dims.batch, *dims.columns, *dims.rows]
    steps = [sort(order)]
    first_row = len(dims.batch) + len(dims.columns)
    steps += [merge(first_row) for _ in dims.rows[1:]]
    n = first_row + bool(dims.rows)  # maps in the nest now
    tiles = _tiles(form, dims, n)
    vector = n - 1
    steps.append(on_map(vector, vectors()))
    for position, name in reversed(tiles):
        steps.append(
            on_map(position, split_map(k=named(name)))
            if position == vector
            else tile(position, named(name))
        )
    if form.choices.room:
        steps.append(room(params))
    in_order = placed(n, [p for p, _ in tiles])
    steps += [
        sort(in_order),
        on_reduction(longest_outside if form.taps_inside else longest_inside),
        split_innermost(named("k")),
        block(n, len(in_order) - 1),
    ]
    steps += [merge(0) for _ in range(n - 3)]
    steps.append(parallel(min(3, n), form.level, unrolled_spine))
    return steps


def _tiles(form: Registers, dims: Dims, n: int) -> list[tuple[int, str]]:
    """Which positions are tiled, by which parameter."""
    tiles = [(n - 1, "tr")]
    columns = list(range(len(dims.batch), len(dims.batch) + len(dims.columns)))
    if not dims.rows:
        columns = columns[:-1]
    if columns:
        tiles.append((columns[-1], "tx"))
    if form.tall and len(columns) > 1:
        tiles.append((columns[-2], "ty"))
    return sorted(tiles)
