"""The family `winograd`: convolutions with fewer products, by F(m, r) in one dimension or two.

Windows are taken in tiles of m results a side. For each tile and channel the data are transformed,
once for all output channels; weights are transformed when they are packed. What is left in between
is a matrix product for every point of the transform, and one more transform of its results.
"""

# key: e term, s strategy, m results a side

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from ir.nat import named
from ir.nodes import Expr, Map, Pad, Slide, Zip
from ir.terms import children, subterms
from ir.views import is_table
from rewrites.blocked import Blocked
from rewrites.blocked import kernel as blocked_kernel
from rewrites.dims import Dims, Refused, classify
from rewrites.hoist import place_of_reduction
from rewrites.laws_bilinear import fewer_products
from rewrites.laws_lower import store
from rewrites.laws_map import fission
from rewrites.laws_pad import fission_zip
from rewrites.laws_reduce import release_init
from rewrites.laws_view import transpose_inner
from rewrites.matrices import tidied, transform_kernel
from rewrites.naive import wherever
from rewrites.normal import normalise, simplify
from rewrites.prepare import panels
from rewrites.registers import Registers
from rewrites.registers import kernel as registers_kernel
from rewrites.reshape import merge, sort, swap
from rewrites.rule import Place, Rewritten, Strategy
from rewrites.shape import is_out_view
from rewrites.spine import inside, nest, nested
from rewrites.strategy import at, attempt, child, choice, place_where, seq
from rewrites.tiles import tiles


@dataclass(frozen=True, slots=True)
class Winograd:
    """What distinguishes the lowered forms of the family; numbers are parameters instead."""

    m: int  # results a side of a tile
    products: Registers | Blocked  # how the matrix products in between are made


def winograd(params: frozenset[str], form: Winograd) -> Strategy:
    """Lower a program this way."""

    def run(e: Expr) -> Rewritten | None:
        dims = _oriented(classify(e), e)
        lead = _lead(dims.columns, e)
        if len(dims.columns) - lead not in (1, 2) or not dims.rows:
            raise Refused("expected windows along one or two dimensions, and several kernels")
        d = len(dims.columns) - lead
        outer = len(dims.batch) + len(dims.columns)
        return seq(*_transforms(form.m, dims, lead), _stored(form, outer, d))(e)

    return seq(normalise, run, wherever(partial(_kernel, params, form.products)))


def _kernel(params: frozenset[str], form: Registers | Blocked, e: Expr) -> Rewritten | None:
    """What is not a transform, and so not lowered yet."""
    if isinstance(form, Registers):
        return registers_kernel(params, form, e)
    return blocked_kernel(params, form, e)


# ---- stages in memory


def _stored(form: Winograd, outer: int, d: int) -> Strategy:
    """Each stage a kernel of its own, the points of the transform outermost in what is stored."""
    points = range(outer + 1, outer + 1 + d)
    taps = panels(d + 2, form.products.choices.panel, made=beneath(transform_kernel(2, None)))
    product = [
        child(1, stored_as(outward(outer, d), transform_kernel(outer + 1, named("vi")))),
        nested(outer, child(1, taps)),
        sort([*points, *range(outer + 1)]),
        tidied,
        *(merge(d) for _ in range(outer - 1)),
        swap(d),
        tidied,
        inside(stored_as([d], tidied)),
    ]
    return seq(inside(child(1, seq(*product))), transform_kernel(outer + 1, named("vo")))


def beneath(s: Strategy) -> Strategy:
    """s below the views that a result is seen through, padding among them."""

    def run(e: Expr) -> Rewritten | None:
        if is_out_view(e) or isinstance(e, Pad):
            return child(len(children(e)) - 1, run)(e)
        return s(e)

    return run


def outward(outer: int, d: int) -> list[int]:
    """The transposes that bring d dimensions inside `outer` others to the outside."""
    return [level for j in range(d) for level in reversed(range(j, outer + j))]


def stored_as(levels: Sequence[int], s: Strategy) -> Strategy:
    """id = undo . store . transposes, and s on what is stored"""
    opened = seq(store(), child(0, s))
    for level in reversed(levels):
        opened = seq(transpose_inner(level=level), child(1 if level else 0, opened))
    return opened


# ---- the law, and its stages apart


def _oriented(dims: Dims, e: Expr) -> Dims:
    """Columns are what goes over windows."""
    maps = nest(e)

    def slides(group: tuple[int, ...]) -> bool:
        return any(isinstance(maps[i].xs, Slide) for i in group)

    if slides(dims.rows) and not slides(dims.columns):
        return Dims(dims.batch, dims.columns, dims.rows)
    return dims


def _lead(columns: tuple[int, ...], e: Expr) -> int:
    """How many columns stand before the first that goes over windows: images of a batch."""
    maps = nest(e)
    slides = [n for n, i in enumerate(columns) if isinstance(maps[i].xs, Slide)]
    if not slides:
        raise Refused("expected windows: maps over what slides along an array")
    return slides[0]


def _transforms(m: int, dims: Dims, lead: int) -> list[Strategy]:
    """Tile, bring the kernels' map outside a tile's windows, transform, divide into stages."""
    d = len(dims.columns) - lead
    b = len(dims.batch) + lead
    rows = b + d
    steps = [sort([*dims.batch, *dims.columns, *dims.rows])]
    steps += [merge(rows) for _ in dims.rows[1:]]
    steps += [
        tiles(b, (m,) * d),
        sort([*range(rows), rows + d, *range(rows, rows + d)]),
        nested(rows + 1, summed(d)),
        nested(rows + 1, on_sum(m, d)),
        nested(rows, kernels_apart),
        *(nested(i, stages_apart(i == rows - 1)) for i in reversed(range(rows))),
        simplify,
    ]
    return steps


def summed(dims: int) -> Strategy:
    """map^dims (f . reduce)  becomes  map^dims f . map^dims (reduce from 0)"""

    def run(e: Expr) -> Rewritten | None:
        if not isinstance(e, Map):
            return None
        if dims > 1:
            deeper = seq(child(0, child(0, summed(dims - 1))), simplify)
            return seq(deeper, attempt(_sums_apart))(e)
        place = place_of_reduction(e.f.body)
        if place is None:
            raise Refused("expected a sum for each window and kernel")
        return seq(attempt(at((0, 0, *place), release_init())), attempt(_sums_apart))(e)

    return run


def _sums_apart(e: Expr) -> Rewritten | None:
    """The map of sums leaves the map of what is done to each."""
    assert isinstance(e, Map)
    body = e.f.body
    if isinstance(body, Map):
        epilogue = isinstance(body.xs, Map) and place_of_reduction(body.f) is None
        return fission(place=(1,))(e) if epilogue else None
    place = place_of_reduction(body)
    return fission(place=place)(e) if place else None


def on_sum(m: int, dims: int) -> Strategy:
    """The law, at the map of sums alone."""

    def run(e: Expr) -> Rewritten | None:
        law = fewer_products(m=(m,) * dims, r=window_sizes(e))
        return law(e)

    return choice(run, child(1, run))


def window_sizes(e: Expr) -> tuple[int, ...]:
    """The sizes of the windows that a nest of maps goes over."""
    if not isinstance(e, Map):
        return ()
    own = [s.size for s in (e.xs, *subterms(e.xs)) if isinstance(s, Slide)][:1]
    return (*(n for n in own if isinstance(n, int)), *window_sizes(e.f.body))


def products(e: Expr) -> Place:
    """Where two transforms meet: their products."""
    found = place_where(e, _is_products)
    if found is None:
        raise Refused(
            "the windows and kernels are not summed in a way that a transform is known for"
        )
    return found


def _is_products(e: Expr) -> bool:
    return isinstance(e, Map) and isinstance(e.xs, Zip) and all(map(_has_table, e.xs.parts))


def _has_table(e: Expr) -> bool:
    return any(map(is_table, subterms(e)))


def kernels_apart(e: Expr) -> Rewritten | None:
    """Kernels are transformed before the map over them, and their products made before results."""
    assert isinstance(e, Map)
    place = products(e.f.body)
    return seq(before((*place, 1, 1)), before(place))(e)


def before(place: Place) -> Strategy:
    """What stands at a place in a map's body is made by a map of its own, before."""
    return choice(fission_zip(place=place), fission(place=place))


def stages_apart(innermost: bool) -> Strategy:
    """map (results . products . transform)  becomes  map results . map products . map transform"""

    def run(e: Expr) -> Rewritten | None:
        assert isinstance(e, Map)
        if not innermost:
            return seq(fission(place=(1,)), child(1, fission(place=(1,))))(e)
        place = made(e.f.body)
        return seq(fission(place=(*place, 0, 0, 1, 0)), fission(place=place))(e)

    return run


def made(e: Expr) -> Place:
    """Where the map of products stands, that a map of results reads."""
    assert isinstance(e, Map)
    return (1, 0) if isinstance(e.xs, Zip) else (1,)
