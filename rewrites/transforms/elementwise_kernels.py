"""Convolutions by transforms in which nothing but windows is summed up, as with a kernel for each
channel.

A plane of an image may have several kernels or one of its own, or all planes share one kernel. The
products between the transforms are then no matrix product: one kernel makes a tile of results, in
vectors of the kernels, and stores nothing. Taps are transformed when they are packed.
"""

# key: e term, s strategy, d dimensions of windows

from ir.core.frozen import frozen
from ir.core.nodes import Expr, Map
from ir.core.size import named
from rewrites.analysis.affine_access import NoAccess
from rewrites.analysis.windows import has_windows
from rewrites.engine.places import OF_ARRAY, of_array, of_function
from rewrites.engine.refused import Refused, shown
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.stages import stage
from rewrites.engine.strategy import at, attempt, choice, seq
from rewrites.fast_algorithms.by_rows import uses
from rewrites.fast_algorithms.by_windows import by_windows
from rewrites.kernels.overlapping_tiles import tiles
from rewrites.kernels.register_block import on_reduction
from rewrites.laws.maps import fuse_maps
from rewrites.laws.pads import map_join
from rewrites.laws.reductions import release_init
from rewrites.laws.zips import unused_part
from rewrites.nest.labels import labels
from rewrites.nest.named_nest import arranged, standing
from rewrites.nest.named_views import stored, stored_as
from rewrites.nest.normal_form import perfect, simplify
from rewrites.nest.rows_in_windows import Rows, slid_along
from rewrites.nest.spine import inside
from rewrites.nest.sums_of_products import Products, products
from rewrites.nest.window_nest import of_floats
from rewrites.transforms.fused_kernel import kernels_of
from rewrites.transforms.matrix_kernels import transform_kernel
from rewrites.transforms.tile_transforms import KERNELS, before, on_sum, summed
from rewrites.transforms.tile_transforms import products as multiplied


@frozen
class Planes:
    """The positions of a nest's maps: those over planes alone, those over kernels, and those over
    windows. `sizes` are the sizes of the windows, and `phases` is the number of maps over phases
    (of every d-th element of a plane) in which windows become those of neighbours."""

    planes: tuple[int, ...]
    kernels: tuple[int, ...]
    windows: tuple[int, ...]
    sizes: tuple[int, ...]
    phases: int

    @property
    def d(self) -> int:
        """The number of dimensions that windows slide along."""
        return len(self.sizes)


def elementwise(m: int) -> Strategy:
    """The strategy that lowers a nest of sums over windows alone, in tiles of m results a side."""

    def run(e: Expr) -> Rewritten | None:
        p = _planes(e)
        sides = (m,) * p.d
        released = arranged(planes=p.planes, kernels=p.kernels, windows=p.windows).inside(
            on_reduction(attempt(release_init()))
        )
        planes = seq(inside(choice(by_windows(), _refuse)), perfect)
        slid = stage("sums over windows of planes", planes)
        windows = standing(
            planes=len(p.planes), kernels=len(p.kernels), phases=p.phases, down=p.d - 1, across=1
        ).merge("kernels")
        transformed = (
            tiles(windows, sides)
            .at("windows", stage("sums apart from results", summed(p.d)))
            .at("windows", stage(f"fewer products: {m} results a side", on_sum(sides, p.sizes)))
            .called("windows")
        )
        made = (
            transformed.at("kernels", stage("taps transformed and stored", _taps_of_each(p.d)))
            if p.kernels
            else transformed.inside(stage("taps transformed and stored", _taps))
        )
        lanes = named("v") if p.kernels else None
        ordered = made.order("planes", "phases", "tiles", "kernels")
        return seq(released, slid, ordered.then(transform_kernel(made.depth, lanes)))(e)

    return run


def _refuse(e: Expr) -> Rewritten | None:
    raise Refused(
        f"expected sums over windows of a plane, with the same taps for each; found {shown(e)}"
    )


def _planes(e: Expr) -> Planes:
    """The maps of e by what they go over: planes, kernels, windows. Refused if windows are more
    than one element apart, or if anything besides windows is summed up."""
    try:
        p = products(e)
    except NoAccess as why:
        raise Refused(str(why)) from None
    found = slid_along(p)
    if not found:
        one = (
            "expected windows of several elements, found windows of one: it is multiplied only "
            "once for a kernel, and no product can be saved"
        )
        raise Refused(
            one if has_windows(e) else "expected windows that slide along an array, found none"
        )
    if len(found) > 2:
        raise Refused(
            f"expected windows along one or two dimensions, found windows along {len(found)}"
        )
    _check(p, found)
    of_floats(a.base for a in p.operands)
    windows = tuple(p.maps.index(r.window) for r in found)
    taps = uses(found[0].taps.coordinates)
    kernels = tuple(n for n, i in enumerate(p.maps) if i in taps)
    planes = tuple(n for n in range(len(p.maps)) if n not in (*kernels, *windows))
    phases = len(found) if any(r.gap > 1 for r in found) else 0
    return Planes(planes, kernels, windows, tuple(r.tap.size for r in found), phases)


def _check(p: Products, found: list[Rows]) -> None:
    for r in found:
        if r.step > 1:
            raise Refused(f"expected windows one apart, found them {r.step} apart")
    if {found[0].tap, *found[0].sums} != {r.tap for r in found}:
        raise Refused(
            "expected sums over windows alone, found that something besides is summed up, such as "
            "channels: see the forms without `elementwise`"
        )


def _taps(e: Expr) -> Rewritten | None:
    """The term e with the taps of its only kernel transformed and stored."""
    return at(multiplied(e) + OF_ARRAY + KERNELS, stored(transform_kernel(0, None)))(e)


def _taps_of_each(d: int) -> Strategy:
    """The strategy that transforms and stores the taps of all kernels, with the d dimensions of
    their points outermost."""

    def run(e: Expr) -> Rewritten | None:
        assert isinstance(e, Map)
        made = choice(
            seq(inside(_of_taps_alone), transform_kernel(2, None)), transform_kernel(1, None)
        )
        taps = stored_as(labels("kernels", points=d), ("points", "kernels"), made)
        apart = before(multiplied(e.f.body) + OF_ARRAY + KERNELS)
        return seq(apart, kernels_of(taps))(e)

    return run


_fused = seq(fuse_maps(), simplify)
_of_taps_alone: Strategy = seq(
    map_join(), of_array(seq(_fused, of_function(_fused), unused_part())), simplify
)
"""map f (join (map (x -> map (y -> (x, y)) ys) …)), where f looks at y alone: without x"""
