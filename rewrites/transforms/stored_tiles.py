"""Sums over images as sums over their tiles, whose operands may be stored for the tiles of an
instruction: what windows slide along with tiles beside each other, and kernels as lanes hold
them."""

# key: e term, xs gs arrays

from collections.abc import Iterator
from functools import partial

from ir.core.nodes import Expr, Lam, Map, Slide, Split, Zip
from ir.core.size import Size
from ir.core.terms import children, free, subterms
from ir.core.type_rules import size_of, type_of
from ir.core.types import Array, depth
from ir.core.views import is_view
from ir.instructions.fragments import Fragment
from rewrites.analysis.alpha_equality import bound
from rewrites.engine.places import HERE, OF_ARRAY, of_array
from rewrites.engine.refused import Refused, shown
from rewrites.engine.rule import Place, Rewritten, Strategy
from rewrites.engine.stages import stage
from rewrites.engine.strategy import at, place_where, seq, skip
from rewrites.laws.lower import store
from rewrites.laws.views import split_inner
from rewrites.nest.labels import labels
from rewrites.nest.named_views import reordered, stored_as
from rewrites.storing.fragment_order import in_fragments
from rewrites.transforms.sums_over_tiles import by_numbered_tiles, by_parts_of_tiles, over_lines


def tiles_of_sums(
    side: int, rows: Fragment, part: Size | None = None, *, tiled: bool, laid: bool
) -> Strategy:
    """The strategy that turns sums over images into sums over their tiles, of `side` elements a
    side. If `part` is given, these are made in parts, of `part` tiles each, which are stored. With
    `tiled` the array that windows slide along is stored, with as many tiles beside each other as an
    instruction takes steps; with `laid` the kernels are stored as its lanes hold them: in the
    layout `rows`. Refused where the law of tiles does not apply."""
    steps, _ = rows.sides
    law = by_numbered_tiles(side=side) if part is None else by_parts_of_tiles(side=side, part=part)
    parts = skip if part is None else _parts_stored

    def run(e: Expr) -> Rewritten | None:
        done = over_lines(law)(e)
        if done is None:
            raise Refused(
                "expected sums over windows alone, which are 1 apart and have more elements along "
                f"each side than there are windows along it; found {shown(e)}"
            )
        if part is not None:
            _demand_several(done[0], part, steps)
        xs, gs = _closed(done[0])
        stored_tiled = at(xs, _laid(part, partial(_beside, steps))) if tiled else skip
        stored_laid = at(gs, _laid(part, in_lanes)) if laid else skip
        kept = seq(stored_tiled, stored_laid, parts)(done[0])
        if kept is None:
            raise Refused(
                f"expected the number of tiles of {side} a side to be a multiple of {steps}, the "
                f"steps of the instruction; found another number in {shown(e)}"
            )
        return kept[0], done[1] + kept[1]

    def in_lanes(xs: Expr) -> Rewritten | None:
        return in_fragments(rows, depth(type_of(xs)))(xs)

    return stage("sums over images as sums over their tiles", run)


def _demand_several(e: Expr, part: Size, steps: int) -> None:
    """Raise Refused if the tiles in e, which are cut into parts of `part` tiles, are too few for
    two parts, of `steps` tiles at least."""
    cut = next(t for t in subterms(e) if isinstance(t, Split) and t.size == part)
    tiles = size_of(cut.xs)
    if isinstance(tiles, int) and tiles < 2 * steps:
        raise Refused(
            f"expected tiles for two parts, {2 * steps} at least, found {tiles}: see the forms "
            "without `split`"
        )


def _closed(e: Expr) -> tuple[Place, Place]:
    """The places in e of two views of arrays that depend on nothing bound in e: first the view that
    windows are made of, then that of the kernels."""
    xs, gs = sorted(_views(e, free(e), HERE), key=len)
    return xs, gs


def _views(e: Expr, known: frozenset[str], place: Place) -> Iterator[Place]:
    whole = is_view(e) and not isinstance(e, Zip) and isinstance(type_of(e), Array)
    if whole and free(e) and free(e) <= known:
        yield place if not isinstance(e, Slide) else place + OF_ARRAY
        return
    for n, c in enumerate(children(e)):
        hidden = bound(e) if isinstance(e, Lam) else frozenset[str]()
        yield from _views(c, known - hidden, (*place, n))


def _laid(part: Size | None, layout: Strategy) -> Strategy:
    """The strategy that applies `layout` to an array with its tiles innermost. If `part` is None,
    the array is the term itself. Otherwise the term is a view that cuts the tiles, the outermost
    dimension of an array, into parts: then it is that array, seen with its tiles innermost."""
    if part is None:
        return layout

    def run(e: Expr) -> Rewritten | None:
        tiles = labels(tiles=1, others=depth(type_of(e)) - 2)
        return of_array(reordered(tiles, ("others", "tiles"), layout))(e)

    return run


def _beside(steps: int, xs: Expr) -> Rewritten | None:
    """The array xs of planes, stored with `steps` tiles of a plane innermost, and around them the
    planes."""
    dims = depth(type_of(xs))
    lying = labels(planes=dims - 3, spans=2, chunks=1, steps=1)
    kept = stored_as(lying, ("spans", "chunks", "planes", "steps"))
    return seq(split_inner(k=steps, level=dims - 1), of_array(kept))(xs)


def _parts_stored(e: Expr) -> Rewritten | None:
    """The term e, a sum of parts, with the parts made by a kernel of their own, which stores
    them."""
    place = place_where(e, lambda t: isinstance(t, Map) and isinstance(t.xs, Zip))
    return None if place is None else at(place, store())(e)
