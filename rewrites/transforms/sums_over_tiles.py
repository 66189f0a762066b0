"""A law that makes long sums over images sums over their tiles.

A weight gradient, whose windows are as large as the image and whose results are few, becomes a
convolution by small kernels, of as many channels as there are tiles.
"""

# key: e term, p its products, x g operands, r rows, n size of a sum

from collections.abc import Callable

from ir.core.nodes import Expr, Map, Reduce
from ir.core.terms import free, lam
from ir.core.type_rules import elem_of
from rewrites.adjoint.contributions import replaced
from rewrites.analysis.affine_access import Affine, Index, NoAccess, index
from rewrites.analysis.out_views import adds_anything
from rewrites.engine.rule import rule
from rewrites.fast_algorithms.by_rows import uses
from rewrites.fast_algorithms.by_windows import slid, sum_of
from rewrites.fast_algorithms.dft_terms import ZERO
from rewrites.laws.affine_views import gather, permuted
from rewrites.nest.rows_in_windows import Rows, slid_along
from rewrites.nest.sums_of_products import Products, products

SIDES = (4, 3, 2)  # of tiles, the best first: a transform's points grow with them, and its error


@rule("map … (Σ over i of x[w + i] g[i])  =  map … (Σ over a, t of x[w + T t + a] g[T t + a])")
def by_tiles(e: Map) -> Expr | None:
    """Sums of products over whole images, in windows that are larger than the number of them, as
    sums over the places of a tile and over all tiles.

    Only where nothing but places is summed up. The tiles' sides divide those of the image. Maps
    that the image has for itself, such as channels, come to be outermost, then the windows'.
    """
    try:
        p = products(e)
        found = slid_along(p)
        if len(found) not in (1, 2) or not _is_long(e, p, found):
            return None
        return _by_tiles(p, found)
    except NoAccess:
        return None


def _is_long(e: Expr, p: Products, found: list[Rows]) -> bool:
    """True if e is maps around nothing but a sum over the places of windows that are larger than
    the number of them."""
    core = e
    while isinstance(core, Map):
        core = core.f.body
    dense = all(r.step == r.gap == 1 and _side(r.tap.size) for r in found)
    x, g = found[0].data, found[0].taps
    return (
        isinstance(core, Reduce)
        and core.init == ZERO
        and {*p.sums} == {r.tap for r in found}
        and dense
        and all(r.tap.size > r.window.size for r in found)
        and not adds_anything(x.base)
        and free(x.base) | free(g.base) <= free(e)
    )


def _side(n: int) -> int | None:
    """The side of tiles of n places; None if no tiles fill them."""
    return next((side for side in SIDES if n % side == 0 and n > side), None)


def _by_tiles(p: Products, found: list[Rows]) -> Expr:
    x, g = found[0].data, found[0].taps
    windows = [r.window for r in found]
    kernels = [i for i in p.maps if i in uses(g.coordinates)]
    planes = [i for i in p.maps if i not in (*kernels, *windows)]
    if len(kernels) + len(planes) + len(windows) < len(p.maps) or uses(x.coordinates) & {*kernels}:
        raise NoAccess("expected kernels that all planes share")
    spans, taps, tiles = dict[int, Affine](), dict[Index, Affine](), list[Index]()
    reached, places = list[Index](), list[Index]()
    for k, r in enumerate(found):
        side = _side(r.tap.size)
        assert side is not None
        tile, place = Index(f"tile{k}", r.tap.size // side), Index(f"place{k}", side)
        span = Index(f"span{k}", side + r.window.size - 1)
        first = index(tile).times(side)
        spans[r.data_dim] = first.plus(index(span)).plus(Affine((), r.first))
        taps[r.tap] = first.plus(index(place))
        tiles.append(tile)
        reached.append(span)
        places.append(place)
    data = tuple(spans.get(n, c) for n, c in enumerate(x.coordinates))
    xs = gather(x.base, data, (*planes, *reached, *tiles))
    gs = gather(
        g.base, tuple(replaced(c, taps) for c in g.coordinates), (*kernels, *places, *tiles)
    )
    sides = [i.size for i in places]
    made = _each(
        len(planes),
        xs,
        lambda plane: slid(
            sides, plane, lambda w: _each(len(kernels), gs, lambda kernel: sum_of(ZERO, w, kernel))
        ),
    )
    return permuted(made, [p.maps.index(i) for i in (*planes, *windows, *kernels)])


def _each(times: int, xs: Expr, f: Callable[[Expr], Expr]) -> Expr:
    """The function f applied to each element of nested arrays."""
    if not times:
        return f(xs)
    return Map(lam("x", elem_of(xs), lambda x: _each(times - 1, x, f)), xs)
