"""Windows in tiles and the law of fewer products used on each; what it leaves, taken apart.

From maps over windows and kernels to maps over tiles and kernels, in which results are transformed
products of transformed data and transformed kernels.
"""

# key: e term, s strategy, m results a side, d dimensions of windows

from collections.abc import Sequence

from ir.core.nodes import Expr, Map, Pad, Reduce, Zip
from ir.core.terms import children, free
from ir.core.views import is_table
from rewrites.analysis.predicates import bound, has_reduction, is_out_view, own_terms
from rewrites.engine.refused import Refused
from rewrites.engine.rule import Place, Rewritten, Strategy, get
from rewrites.engine.strategy import at, attempt, child, choice, place_where, seq, skip
from rewrites.fast_algorithms.fewer_products import Sides, fewer_products, growth
from rewrites.kernels.overlapping_tiles import tiles
from rewrites.laws.lower import store
from rewrites.laws.maps import fission
from rewrites.laws.pads import fission_zip
from rewrites.laws.reductions import release_init
from rewrites.laws.views import transpose_inner
from rewrites.nest.blocks_of_results import place_of_reduction
from rewrites.nest.normal_form import simplify
from rewrites.nest.reshape import merge, sort
from rewrites.nest.spine import nested
from rewrites.nest.window_nest import Windowed

# ---- in memory


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


def transformed_tiles(m: int, w: Windowed) -> Strategy:
    """Tile, bring the kernels' map outside a tile's windows, transform."""
    dims, rows, d = w.dims, w.outer, w.d
    return seq(
        sort([*dims.batch, *dims.columns, *dims.rows]),
        *(merge(rows) for _ in dims.rows[1:]),
        tiles(w.batch, w.sides(m)),
        sort([*range(rows), rows + d, *range(rows, rows + d)]),
        nested(rows + 1, summed(d)),
        nested(rows + 1, on_sum(w.sides(m), w.sizes)),
    )


def three_stages(rows: int, own: int = 0) -> Strategy:
    """map results . map products . map transform, each a nest of its own"""
    inner = (nested(i, stages_apart(i == rows - 1)) for i in reversed(range(own, rows)))
    return seq(nested(rows, kernels_apart), *inner, nested(0, own_apart) if own else skip, simplify)


def two_stages(rows: int) -> Strategy:
    """map (results . products) . map transform"""
    around = (nested(i, inner_apart) for i in reversed(range(rows - 1)))
    return seq(nested(rows - 1, data_apart), *around, simplify)


def one_stage(rows: int) -> Strategy:
    """map (results . products . transform)"""
    return seq(nested(rows, weights_apart), simplify)


def weights_apart(e: Expr) -> Rewritten | None:
    """Kernels are transformed before the map over them."""
    assert isinstance(e, Map)
    return before((*products(e.f.body), 1, 1))(e)


def data_apart(e: Expr) -> Rewritten | None:
    """Kernels and data are transformed before the maps over both."""
    assert isinstance(e, Map)
    inner = e.f.body
    assert isinstance(inner, Map)
    place = products(inner.f.body)
    kernels = child(0, child(0, before((*place, 1, 1))))
    return seq(kernels, fission(place=(0, 0, *place, 1, 0)))(e)


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


def on_sum(m: Sides, r: Sides) -> Strategy:
    """The law, at the map of sums alone."""

    def run(e: Expr) -> Rewritten | None:
        points = max(a + b - 1 for a, b in zip(m, r, strict=True))
        if points > MOST_POINTS or growth(m, r) > MOST_GROWTH:
            raise Refused(f"F({max(m)}, {max(r)}) loses nearly all digits that a float has")
        return fewer_products(m=m, r=r)(e)

    return choice(run, child(1, run), _refuse)


MOST_GROWTH = 2.0**17
"""In machine epsilons: results are known to less than one in a hundred beyond it."""

MOST_POINTS = 17
"""With more in one dimension they always lose more: that need not be computed, which takes long."""


def _refuse(_: Expr) -> Rewritten | None:
    raise Refused("the windows and kernels are not summed in a way that a transform is known for")


def products(e: Expr) -> Place:
    """Where two transforms meet: their products."""
    found = place_where(e, _is_products)
    if found is None:
        raise Refused("expected the products of transformed data and transformed kernels")
    return found


def _is_products(e: Expr) -> bool:
    return isinstance(e, Map) and isinstance(e.xs, Zip) and all(map(has_table, e.xs.parts))


def has_table(e: Expr) -> bool:
    return any(map(is_table, own_terms(e)))


def transformed_part(e: Expr) -> Place | None:
    """Where in e something is zipped that a matrix is used on."""
    zipped = place_where(e, lambda t: isinstance(t, Zip) and any(map(has_table, t.parts)))
    if zipped is None:
        return None
    pairs = get(e, zipped)
    assert isinstance(pairs, Zip)
    return (*zipped, next(i for i, part in enumerate(pairs.parts) if has_table(part)))


def sums(e: Expr, points: int) -> bool:
    """Whether e is so many maps over points, the first of data and kernels, of sums."""
    if not isinstance(e, Map):
        return False
    inner = e.f.body
    done = isinstance(inner, Reduce) if points == 1 else sums(inner, points - 1)
    return done and isinstance(e.xs, Zip)


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
            return seq(inner_apart, on_made(inner_apart))(e)
        place = made(e.f.body)
        return seq(fission(place=(*place, 0, 0, 1, 0)), fission(place=place))(e)

    return run


def inner_apart(e: Expr) -> Rewritten | None:
    """What the map inside goes over is made before this one; what else it looks at stays."""
    assert isinstance(e, Map)
    return before(made(e.f.body))(e)


def own_apart(e: Expr) -> Rewritten | None:
    """The same for a map over data and kernels: these are transformed before it, both of them."""
    return seq(before((1,)), on_made(seq(before((1,)), _kernels_before)))(e)


def _kernels_before(e: Expr) -> Rewritten | None:
    assert isinstance(e, Map)
    alone = [frozenset({name}) for name in bound(e.f)]
    place = place_where(e.f.body, lambda t: has_table(t) and free(t) in alone)
    if place is None:
        raise Refused("expected kernels of each image or group that are transformed alone")
    return before(place)(e)


def made(e: Expr) -> Place:
    """Where the map of products or sums stands, that a map of results reads."""
    assert isinstance(e, Map)
    if not isinstance(e.xs, Zip):
        return (1,)
    return (1, next(i for i, part in enumerate(e.xs.parts) if has_reduction(part)))


def on_made(s: Strategy) -> Strategy:
    """s on the products that a map of results reads."""
    return lambda e: at(made(e), s)(e)


def divided(e: Expr) -> Place:
    """Where in a map what it was divided from stands: last."""
    assert isinstance(e, Map)
    return (1, len(e.xs.parts) - 1) if isinstance(e.xs, Zip) else (1,)
