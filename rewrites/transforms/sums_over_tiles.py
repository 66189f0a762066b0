"""Laws that turn long sums over images into sums over their tiles.

A weight gradient, whose windows are as large as the image and whose results are few, becomes a
convolution by small kernels, of as many channels as there are tiles.
"""

# key: e term, p its products, x g operands, r rows, n size of a sum

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from ir.core.frozen import frozen
from ir.core.nodes import Binary, Expr, Get, Join, Map, Reduce, Split, Zip
from ir.core.size import Size
from ir.core.terms import free, lam, lam2
from ir.core.type_rules import elem_of, size_of, type_of
from ir.core.types import FLOAT, depth
from rewrites.adjoint.contributions import replaced
from rewrites.analysis.affine_access import Affine, Index, NoAccess, index
from rewrites.analysis.out_views import adds_anything
from rewrites.analysis.size_signs import divides
from rewrites.engine.rule import Strategy, rule
from rewrites.engine.strategy import choice, everywhere, seq
from rewrites.fast_algorithms.by_rows import uses
from rewrites.fast_algorithms.by_windows import slid, sum_of
from rewrites.fast_algorithms.dft_terms import ZERO
from rewrites.laws.affine_views import at_level, gather, permuted
from rewrites.laws.interchange import transpose_joined
from rewrites.nest.normal_form import normalise
from rewrites.nest.rows_in_windows import Rows, slid_along
from rewrites.nest.spine import inside
from rewrites.nest.sums_of_products import Products, products


@rule(
    "map … (Σ over i of x[w + i] g[i])  =  map … (Σ over a, t of x[w + T t + a] g[T t + a]),"
    "  all tiles t in one dimension"
)
def by_numbered_tiles(e: Map, side: Size) -> Expr | None:
    """Sums of products over whole images become sums over the places of a tile, with sides of
    length `side`, and over all tiles; the tiles are counted in one dimension, which a convolution
    has for its channels.

    The law applies only where windows have more places than there are windows, and nothing but
    places is summed up. Tiles that reach beyond the image have zeros there. Maps over dimensions
    that only the image has, such as channels, become the outermost ones, and maps over windows
    follow.
    """
    return _rewritten(e, _of(side), lambda p, found, n: _summed(_numbered(p, found, n)))


@rule(
    "map … (Σ over i of x[w + i] g[i])"
    "  =  map … (Σ over q of (map … (Σ over a, t of part q of x[w + T t + a] g[T t + a])))"
)
def by_parts_of_tiles(e: Map, side: Size, part: Size) -> Expr | None:
    """Sums of products over whole images become sums over parts, of the sums over the tiles of a
    part and the places of a tile. A part has `part` tiles, and a tile sides of length `side`."""
    return _rewritten(e, _of(side), partial(_in_parts, part))


def over_lines(law: Strategy) -> Strategy:
    """The strategy that applies `law`, one of this file's laws, to a nest. If it does not apply, it
    is tried again after each dimension that counts all pixels of an image has become two: lines,
    and pixels of a line."""
    return choice(inside(law), seq(lines, inside(law)))


lines: Strategy = seq(everywhere(transpose_joined()), normalise)
"""Each dimension that counts all pixels of an image as two: lines, and pixels of a line."""


def _of(side: Size) -> "Side":
    return lambda n: side if isinstance(side, int) and n > side else None


Side = Callable[[int], int | None]  # of the tiles of so many places; None if there are none


def _rewritten(
    e: Expr, side: Side, made: Callable[[Products, list[Rows], Side], Expr]
) -> Expr | None:
    try:
        p = products(e)
        found = slid_along(p)
        if len(found) not in (1, 2) or not _is_long(e, p, found, side):
            return None
        return made(p, found, side)
    except NoAccess:
        return None


def _is_long(e: Expr, p: Products, found: list[Rows], side: Side) -> bool:
    """True if e is maps around a sum over the places of windows and nothing else, windows have more
    places than there are windows, in each dimension, and `side` finds a tile for their sizes. p are
    the products that e sums up, and `found` the dimensions along which windows slide."""
    core = e
    while isinstance(core, Map):
        core = core.f.body
    dense = all(r.step == r.gap == 1 and side(r.tap.size) for r in found)
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


@frozen
class _Tiled:
    """Products over tiles: the array xs that windows slide along and the kernels gs, each with
    tiles innermost, the positions of the maps over planes, windows and kernels, and the tiles'
    sides."""

    xs: Expr
    gs: Expr
    planes: tuple[int, ...]
    windows: tuple[int, ...]
    kernels: tuple[int, ...]
    sides: tuple[int, ...]


def _numbered(p: Products, found: list[Rows], side: Side) -> _Tiled:
    t = _tiled(p, found, side)
    if len(found) == 1:
        return t
    xs, gs = (at_level(len(own) + 2, e, Join) for own, e in ((t.planes, t.xs), (t.kernels, t.gs)))
    return replace(t, xs=xs, gs=gs)


def _in_parts(part: Size, p: Products, found: list[Rows], side: Side) -> Expr:
    t = _numbered(p, found, side)
    xs, gs = (_turned(e, outward=True) for e in (t.xs, t.gs))
    if not divides(part, size_of(xs)):
        raise NoAccess(
            "expected a number of tiles that the size of a part divides, found one that it does "
            "not divide"
        )
    operands = Zip((Split(part, xs), Split(part, gs)))

    def of_part(both: Expr) -> Expr:
        ours, theirs = (_turned(Get(n, both), outward=False) for n in range(2))
        return _summed(replace(t, xs=ours, gs=theirs))

    parts = Map(lam("part", elem_of(operands), of_part), operands)
    return _each(len(p.maps), _turned(parts, outward=False, dims=1 + len(p.maps)), _sum)


def _sum(xs: Expr) -> Expr:
    return Reduce(ZERO, lam2(("sum", "x"), (FLOAT, FLOAT), lambda sum, x: Binary("+", sum, x)), xs)


def _turned(e: Expr, outward: bool, dims: int = 0) -> Expr:
    """The array e with one of its `dims` outer dimensions (0: of all its dimensions) moved: the
    innermost of them to the outside, or, if not `outward`, the outermost to the inside."""
    n = dims or depth(type_of(e))
    return permuted(e, [*range(1, n), 0] if outward else [n - 1, *range(n - 1)])


def _tiled(p: Products, found: list[Rows], side_of: Side) -> _Tiled:
    x, g = found[0].data, found[0].taps
    windows = [r.window for r in found]
    kernels = [i for i in p.maps if i in uses(g.coordinates)]
    planes = [i for i in p.maps if i not in (*kernels, *windows)]
    if len(kernels) + len(planes) + len(windows) < len(p.maps) or uses(x.coordinates) & {*kernels}:
        raise NoAccess(
            "expected kernels that all planes share, found a plane with kernels of its own"
        )
    spans, taps, tiles = dict[int, Affine](), dict[Index, Affine](), list[Index]()
    reached, places = list[Index](), list[Index]()
    for k, r in enumerate(found):
        side = side_of(r.tap.size)
        assert side is not None
        tile, place = Index(f"tile{k}", -(-r.tap.size // side)), Index(f"place{k}", side)
        span = Index(f"span{k}", side + r.window.size - 1)
        first = index(tile).times(side)
        spans[r.data_dim] = first.plus(index(span)).plus(Affine((), r.first))
        taps[r.tap] = first.plus(index(place))
        tiles.append(tile)
        reached.append(span)
        places.append(place)
    data = tuple(spans.get(n, c) for n, c in enumerate(x.coordinates))
    cells = tuple(replaced(c, taps) for c in g.coordinates)
    return _Tiled(
        gather(x.base, data, (*planes, *reached, *tiles)),
        gather(g.base, cells, (*kernels, *places, *tiles)),
        planes=tuple(map(p.maps.index, planes)),
        windows=tuple(map(p.maps.index, windows)),
        kernels=tuple(map(p.maps.index, kernels)),
        sides=tuple(i.size for i in places),
    )


def _summed(t: _Tiled) -> Expr:
    """The sums over all places and tiles, for each plane, window and kernel, in the order in which
    the program has them."""

    def of_windows(plane: Expr) -> Expr:
        return slid(t.sides, plane, of_kernels)

    def of_kernels(window: Expr) -> Expr:
        return _each(len(t.kernels), t.gs, lambda kernel: sum_of(ZERO, window, kernel))

    made = _each(len(t.planes), t.xs, of_windows)
    return permuted(made, [*t.planes, *t.windows, *t.kernels])


def _each(times: int, xs: Expr, f: Callable[[Expr], Expr]) -> Expr:
    """The array of f of each element that stands `times` dimensions inside xs."""
    if not times:
        return f(xs)
    return Map(lam("x", elem_of(xs), lambda x: _each(times - 1, x, f)), xs)
