"""Windows in tiles: the law `fewer_products` is applied to each tile, and the term that it makes is
then taken apart into stages.

Maps over windows and kernels become maps over tiles and kernels, in which results are transformed
products of transformed data and transformed kernels.
"""

# key: e term, s strategy, m results a side, d dimensions of windows

from ir.core.nodes import Expr, Map, Pad, Reduce, Zip
from ir.core.terms import free
from ir.core.views import is_table
from rewrites.analysis.alpha_equality import bound
from rewrites.analysis.kernel_terms import has_reduction, own_terms
from rewrites.analysis.out_views import is_out_view
from rewrites.engine.places import HERE, OF_ARRAY, OF_FUNCTION, of_array, of_function, part
from rewrites.engine.refused import Refused, shown
from rewrites.engine.rule import Place, Rewritten, Strategy, get
from rewrites.engine.stages import stage
from rewrites.engine.strategy import at, attempt, choice, place_where, seq
from rewrites.fast_algorithms.fewer_products import Sides, fewer_products, rounded
from rewrites.kernels.overlapping_tiles import tiles
from rewrites.laws.maps import fission
from rewrites.laws.pads import fission_zip
from rewrites.laws.reductions import release_init
from rewrites.nest.blocks_of_results import place_of_reduction
from rewrites.nest.named_nest import arranged, standing
from rewrites.nest.normal_form import simplify
from rewrites.nest.window_nest import Windowed

DATA, KERNELS = part(0), part(1)  # of what products go over


# ---- in memory


def beneath(s: Strategy) -> Strategy:
    """The strategy that applies s below the views that a result is seen through, padding among
    them."""

    def run(e: Expr) -> Rewritten | None:
        if is_out_view(e) or isinstance(e, Pad):
            return of_array(run)(e)
        return s(e)

    return run


# ---- the law, and its stages apart


def transformed_tiles(m: int, w: Windowed) -> Strategy:
    """The strategy that cuts windows into tiles of m results a side, moves the map over kernels
    outside of a tile's windows, and makes the sums of each tile by transforms."""
    dims, d = w.dims, w.d
    windows = arranged(
        batch=(*dims.batch, *dims.columns[:-d]),
        down=dims.columns[-d:-1],
        across=dims.columns[-1:],
        kernels=dims.rows,
    ).merge("kernels")
    return (
        tiles(windows, w.sides(m))
        .order("batch", "tiles", "kernels", "windows")
        .at("windows", stage("sums apart from results", summed(d)))
        .at("windows", stage(f"fewer products: {m} results a side", on_sum(w.sides(m), w.sizes)))
    )


def three_stages(rows: int, own: int = 0) -> Strategy:
    """The strategy that turns one nest into three, one after the other: transforms, products and
    results. `rows` is the number of maps around the map over kernels; the outermost `own` of them
    (0 or 1) are over images with kernels of their own."""
    maps = standing(own=own, outer=rows - own - 1, innermost=1, kernels=1)
    apart = (
        maps.at("kernels", kernels_apart)
        .at("innermost", stages_apart)
        .at_each("outer", stages_around)
        .at("own", own_apart)
        .then(simplify)
    )
    return stage("transforms, products and results apart", apart)


def two_stages(rows: int) -> Strategy:
    """The strategy that turns one nest into two: transforms, then products with their results.
    `rows` is the number of maps around the map over kernels."""
    maps = standing(outer=rows - 1, innermost=1)
    apart = maps.at("innermost", data_apart).at_each("outer", inner_apart).then(simplify)
    return stage("transforms apart", apart)


def one_stage(rows: int) -> Strategy:
    """The strategy that transforms kernels before the maps, and leaves all else in one nest; `rows`
    is the number of maps around the map over kernels."""
    apart = standing(tiles=rows, kernels=1).at("kernels", weights_apart).then(simplify)
    return stage("transforms of kernels apart", apart)


def weights_apart(e: Expr) -> Rewritten | None:
    """The map e over kernels with the kernels transformed before it."""
    assert isinstance(e, Map)
    return before(products(e.f.body) + OF_ARRAY + KERNELS)(e)


def data_apart(e: Expr) -> Rewritten | None:
    """The map e with kernels and data transformed before the maps over both."""
    assert isinstance(e, Map)
    inner = e.f.body
    assert isinstance(inner, Map)
    place = products(inner.f.body)
    kernels = of_function(before(place + OF_ARRAY + KERNELS))
    return seq(kernels, fission(place=OF_FUNCTION + place + OF_ARRAY + DATA))(e)


def summed(dims: int) -> Strategy:
    """The strategy that turns map^dims (f . reduce) into map^dims f of map^dims (reduce from 0)."""

    def run(e: Expr) -> Rewritten | None:
        if not isinstance(e, Map):
            return None
        if dims > 1:
            deeper = seq(of_function(summed(dims - 1)), simplify)
            return seq(deeper, attempt(_sums_apart))(e)
        place = place_of_reduction(e.f.body)
        if place is None:
            raise Refused(
                "expected maps over windows and kernels around a sum for each, found none in "
                f"{shown(e)}"
            )
        return seq(attempt(at(OF_FUNCTION + place, release_init())), attempt(_sums_apart))(e)

    return run


def _sums_apart(e: Expr) -> Rewritten | None:
    """The map e with the sums in its body made by a map before e, apart from what is done to each
    sum; None if nothing is done to them."""
    assert isinstance(e, Map)
    body = e.f.body
    if isinstance(body, Map):
        epilogue = isinstance(body.xs, Map) and place_of_reduction(body.f) is None
        return fission(place=OF_ARRAY)(e) if epilogue else None
    place = place_of_reduction(body)
    return fission(place=place)(e) if place else None


def on_sum(m: Sides, r: Sides) -> Strategy:
    """The strategy that applies the law `fewer_products` to the map of sums, with m results and r
    taps in each dimension; Refused where rounding would lose all digits, or the law does not
    apply."""

    def run(e: Expr) -> Rewritten | None:
        points = max(a + b - 1 for a, b in zip(m, r, strict=True))
        if points > MOST_POINTS or rounded(m, r) > MOST_GROWTH:
            raise Refused(
                f"expected smaller tiles, found {max(m)} results a side: F({max(m)}, {max(r)}) "
                "loses nearly all digits of a float"
            )
        return fewer_products(m=m, r=r)(e)

    return choice(run, of_array(run), _refuse)


MOST_GROWTH = 2.0**17
"""In machine epsilons: results are known to less than one in a hundred beyond it."""

MOST_POINTS = 17
"""With more in one dimension they always lose more: that need not be computed, which takes long."""


def _refuse(e: Expr) -> Rewritten | None:
    raise Refused(
        "expected sums of products of kernels with windows of neighbouring elements, "
        f"found {shown(e)}"
    )


def products(e: Expr) -> Place:
    """The place in e of the products of transformed data and transformed kernels; Refused if there
    are none."""
    found = place_where(e, _is_products)
    if found is None:
        raise Refused(
            "expected a map of products of transformed data and transformed kernels, found "
            "none in the nest"
        )
    return found


def _is_products(e: Expr) -> bool:
    return isinstance(e, Map) and isinstance(e.xs, Zip) and all(map(has_table, e.xs.parts))


def has_table(e: Expr) -> bool:
    return any(map(is_table, own_terms(e)))


def transformed_part(e: Expr) -> Place | None:
    """The place in e of the first part of a zip that a matrix transforms; None if there is none."""
    zipped = place_where(e, lambda t: isinstance(t, Zip) and any(map(has_table, t.parts)))
    if zipped is None:
        return None
    pairs = get(e, zipped)
    assert isinstance(pairs, Zip)
    return zipped + part(next(i for i, xs in enumerate(pairs.parts) if has_table(xs)))


def sums(e: Expr, points: int) -> bool:
    """True if e is `points` nested maps, each over zipped data and kernels, around a sum."""
    if not isinstance(e, Map):
        return False
    inner = e.f.body
    done = isinstance(inner, Reduce) if points == 1 else sums(inner, points - 1)
    return done and isinstance(e.xs, Zip)


def kernels_apart(e: Expr) -> Rewritten | None:
    """The map e with kernels transformed before it, and their products made before the results."""
    assert isinstance(e, Map)
    place = products(e.f.body)
    return seq(before(place + OF_ARRAY + KERNELS), before(place))(e)


def before(place: Place) -> Strategy:
    """The strategy that makes two maps of one: the first makes, for each element, the term at
    `place` in the body, and the second makes the rest from that."""
    return choice(fission_zip(place=place), fission(place=place))


def stages_apart(e: Expr) -> Rewritten | None:
    """The map e of results . products . transform as three maps, one after the other."""
    assert isinstance(e, Map)
    place = made(e.f.body)
    data = place + OF_FUNCTION + OF_ARRAY + DATA
    return seq(fission(place=data), fission(place=place))(e)


def stages_around(e: Expr) -> Rewritten | None:
    """The map e after `stages_apart` has rewritten its body, a map, as three maps: those of
    transforms and of products are moved out of e, and stand before it."""
    return seq(inner_apart, on_made(inner_apart))(e)


def inner_apart(e: Expr) -> Rewritten | None:
    """The map e, whose body is a map of results, with the products or sums that these results are
    made from moved out: a map before e makes them."""
    assert isinstance(e, Map)
    return before(made(e.f.body))(e)


def own_apart(e: Expr) -> Rewritten | None:
    """The map e, over images with kernels of their own, with data and kernels both transformed
    before it."""
    return seq(before(OF_ARRAY), on_made(seq(before(OF_ARRAY), _kernels_before)))(e)


def _kernels_before(e: Expr) -> Rewritten | None:
    assert isinstance(e, Map)
    alone = [frozenset({name}) for name in bound(e.f)]
    place = place_where(e.f.body, lambda t: has_table(t) and free(t) in alone)
    if place is None:
        raise Refused(
            "expected a transform that reads the kernels of an image or group alone, found "
            f"{shown(e.f.body)}"
        )
    return before(place)(e)


def made(e: Expr) -> Place:
    """The place in e, a map that makes results, of the array that it makes them from: a map of
    products or sums. It is the array that e goes over, or, if that is a zip, the first part with a
    reduction. There must be one: what e is has been checked before."""
    assert isinstance(e, Map)
    if not isinstance(e.xs, Zip):
        return OF_ARRAY
    return OF_ARRAY + part(next(i for i, xs in enumerate(e.xs.parts) if has_reduction(xs)))


def on_made(s: Strategy) -> Strategy:
    """The strategy that applies s, in a map of results, to the array of products or sums that they
    are made from (`made`)."""
    return lambda e: at(made(e), s)(e)


def divided(e: Expr) -> Place:
    """The place, in a map e that the law `fission` made, of the map that it put before e: the array
    that e goes over, or, if that is a zip, its last part."""
    assert isinstance(e, Map)
    return OF_ARRAY + (part(len(e.xs.parts) - 1) if isinstance(e.xs, Zip) else HERE)
