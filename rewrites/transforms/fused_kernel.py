"""One kernel that makes products and transforms what they sum to, all of it in registers.

A work-item has `tx` tiles and `tr` vectors of `v` kernels, and a sum for every point of the
transform of each. Nothing is stored between the products and the results.
"""

# key: e term, s strategy, n position in the nest

from functools import partial

from ir.core.frozen import frozen
from ir.core.nodes import Expr, Level, Map, Zip
from ir.core.size import Size, named
from rewrites.engine.places import (
    OF_ARRAY,
    OF_FUNCTION,
    of_array,
    of_part,
    of_rest,
    of_start,
    of_value,
)
from rewrites.engine.refused import Refused, shown
from rewrites.engine.rule import Rewritten, Strategy, get
from rewrites.engine.stages import stage
from rewrites.engine.strategy import at, attempt, everywhere, place_where, seq, skip
from rewrites.kernels.register_block import (
    longest_inside,
    loop_nest,
    on_reduction,
    over,
    split_innermost,
    unrolled_spine,
    vectors,
)
from rewrites.laws.lower import share, to_seq
from rewrites.laws.maps import fission
from rewrites.laws.planes import fuse_reduce_zip
from rewrites.laws.zips import unused_part
from rewrites.nest.blocks_of_results import place_of_reduction
from rewrites.nest.dimensions import outermost_reductions
from rewrites.nest.named_nest import standing
from rewrites.nest.normal_form import perfect, simplify
from rewrites.nest.spine import body, inside
from rewrites.transforms.matrix_kernels import in_registers, source, tidied
from rewrites.transforms.tile_transforms import divided, has_table, sums, transformed_part


@frozen
class Fused:
    """The choices of a kernel that makes products and transforms their sums. `panel` is the number
    of kernels that lie side by side in memory; maps over blocks go over `level`, work-items or
    work-groups. If `whole`, it transforms the data too, again for every block of kernels."""

    panel: Size  # kernels that lie side by side in memory
    level: Level = Level.GLOBAL
    whole: bool = False  # data are transformed there too, again for every block of kernels


def kernels_of(s: Strategy) -> Strategy:
    """The strategy that applies s to the transformed kernels that a map goes over, alone or beside
    biases."""

    def run(e: Expr) -> Rewritten | None:
        if not isinstance(e, Zip):
            return s(e)
        return of_part(next(i for i, part in enumerate(e.parts) if has_table(part)), s)(e)

    return of_array(run)


def in_one_kernel(level: Level, outer: int, points: int) -> Strategy:
    """The strategy that lowers a nest whose results are transforms of sums, in blocks of results
    inside one loop over the steps of the sums; maps over blocks go over `level`.

    There are `outer` maps over tiles and one over kernels around the results. The sums of a tile
    have `points` dimensions.
    """
    blocks = (
        standing(outer=outer - 1, tiles=1, kernels=1)
        .then(perfect, tidied)
        .on("kernels", vectors(), "in vectors of v")
        .split("kernels", named("tr"), "kernel blocks", "kernels")
        .tile("tiles", named("tx"), "tile blocks", "tiles")
        .order("outer", "tile blocks", "kernel blocks", "tiles", "kernels")
    )
    apart = stage("sums apart from results", _sums_apart(points))
    in_a_block = seq(apart, stage("sums and transforms in registers", _in_registers(points)))
    return over(blocks, level, ("outer", "tile blocks", "kernel blocks"), in_a_block)


def _sums_apart(points: int) -> Strategy:
    """The strategy that turns map (map (results . sums)) into map (map results) of map (map sums).

    `sums` makes the sums of a tile's products, a nest of maps over `points` dimensions, and
    `results` makes the tile's results from them.
    """

    def inner(e: Expr) -> Rewritten | None:
        assert isinstance(e, Map)
        place = place_where(e.f.body, lambda t: _of_sums(t, points))
        if place is None:
            raise Refused(
                f"expected {points} maps inside each other over transformed data and kernels, "
                f"zipped, with one sum inside; found {shown(e)}"
            )
        alone = at(OF_FUNCTION + place, _sum_alone(points))
        done = alone(e)
        assert done is not None
        found = place_where(get(done[0], OF_FUNCTION), lambda t: sums(t, points))
        assert found is not None
        return seq(alone, fission(place=found))(e)

    def outer(e: Expr) -> Rewritten | None:
        assert isinstance(e, Map)
        return fission(place=divided(e.f.body))(e)

    return seq(body(inner), outer, simplify)


def _of_sums(e: Expr, points: int) -> bool:
    """True if e is `points` nested maps, each over zipped data and kernels, around a single sum."""
    if not isinstance(e, Map) or not isinstance(e.xs, Zip):
        return False
    inner = e.f.body
    return len(outermost_reductions(inner)) == 1 if points == 1 else _of_sums(inner, points - 1)


def _sum_alone(points: int) -> Strategy:
    """The strategy that turns map (f . sum) into map f of map sum, where each of f and sum is a
    nest of maps over `points` dimensions."""

    def run(e: Expr) -> Rewritten | None:
        assert isinstance(e, Map)
        if sums(e, points):
            return skip(e)
        if points > 1:
            return seq(body(_sum_alone(points - 1)), fission(place=OF_ARRAY))(e)
        place = place_of_reduction(e.f.body)
        assert place is not None
        return fission(place=place)(e)

    return run


def _in_registers(points: int) -> Strategy:
    """The strategy that makes the sums of a block, which have `points` dimensions for each tile, in
    one loop, and then their transforms."""

    def run(e: Expr) -> Rewritten | None:
        results = body(inside(seq(body(inside(attempt(in_registers))), to_seq(unrolled=True))))
        return seq(at(divided(e), _sums(points)), results, to_seq(unrolled=True))(e)

    return run


def _sums(points: int) -> Strategy:
    """The strategy that makes one sum, of arrays of all points of a block; data that are not
    transformed before are transformed in each step."""
    return (
        standing("tiles", "kernels", points=points)
        .then(on_reduction(longest_inside))
        .into_sum("points")
        .inside(seq(tidied, attempt(fuse_reduce_zip()), of_start(_sizes)))
        .inside(split_innermost(named("k")))
        .into_sum("tiles", "kernels")
        .then(on_reduction(partial(loop_nest, block=_step)))
    )


_sizes: Strategy = everywhere(attempt(unused_part()))
"""First values, of which only the number depends on what is summed."""


def _step(e: Expr) -> Rewritten | None:
    """The term e, what one step of the sum adds to a block, lowered."""
    return inside(seq(body(_tile), to_seq(unrolled=True)))(e)


def _tile(e: Expr) -> Rewritten | None:
    """The term e, what one step adds to a tile's sums, lowered; data that are not transformed yet
    are transformed first."""
    place = transformed_part(e)
    if place is None:
        return unrolled_spine(e)
    data = get(e, place)
    return seq(share(term=data, name="data"), of_value(source), of_rest(unrolled_spine))(e)
