"""Windows in tiles that are patches of the input: a nest of maps over patches, then over the
windows of one.

Chunks of windows are windows of tiles that overlap (`split_slide`, the law `tile_slide` seen from
the split). What a tile needs beyond the array is added to the array (`pad_slide`). Where windows
slide in two dimensions, those of rows come first (`slide_slide`), so a patch is one variable.
"""

# key: e term, s strategy

from collections.abc import Mapping

from ir.core.nodes import Expr, Map, Slide
from ir.core.size import names
from ir.core.views import is_view
from rewrites.analysis.out_views import adds
from rewrites.engine.places import of_array
from rewrites.engine.rule import Strategy
from rewrites.engine.strategy import attempt, choice, everywhere, exhaust, seq, when
from rewrites.laws.maps import fuse_maps, fuse_zip
from rewrites.laws.pads import pad_slide
from rewrites.laws.slides import (
    close_gaps,
    pad_map,
    slide_map,
    slide_slide,
    split_slide,
    windows_across,
)
from rewrites.laws.views import SIMPLER
from rewrites.nest.named_nest import Nest
from rewrites.nest.normal_form import perfect, simplify
from rewrites.nest.reshape import exchanged


def patches(windows: Nest, chunks: Mapping[str, Strategy]) -> Nest:
    """The nest with its maps `down` and `across`, over windows, as maps over tiles of windows and
    then inside a tile.

    The new maps are `tiles down`, `tiles across`, `across` and `down`; there may be none down.
    `chunks` has for each name the strategy that turns a map over windows into one over chunks of
    them.
    """
    dense = windows
    for name in chunks:
        dense = dense.at(name, attempt(of_array(everywhere(close_gaps()))))
    lines = _tiled(dense, "down", chunks)
    simpler = (_fused, perfect, simplify) if windows.count("down") else ()
    turned = (
        lines.at("down", attempt(of_array(slide_slide())))
        .then(*simpler)
        .exchange("down", "across", choice(windows_across(), exchanged))
        .then(*simpler)
    )
    return _tiled(turned, "across", chunks).told("windows in tiles", since=windows)


def _tiled(windows: Nest, name: str, chunks: Mapping[str, Strategy]) -> Nest:
    """The nest with the map of this name divided into one over tiles and one over the windows of a
    tile, by the strategy that `chunks` has for the name."""
    if not windows.count(name):
        return windows.called(name, f"tiles {name}", name)
    views = (_windows_of_tiles, _fused, perfect, simplify)
    return windows.divided(name, chunks[name], f"tiles {name}", name, *views)


_windows_of_tiles = seq(
    exhaust(choice(when(adds, choice(pad_slide(), pad_map())), split_slide())),
    exhaust(when(lambda e: _is_tiles(e), slide_map())),
)


def _is_tiles(e: Expr) -> bool:
    """True if e is a slide that makes tiles (its size has parameters) of an array that a map makes,
    such as rows of windows: the slide then moves below that map."""
    return isinstance(e, Slide) and isinstance(e.xs, Map) and bool(names(e.size))


_computes = when(lambda e: isinstance(e, Map) and not is_view(e), choice(fuse_maps(), fuse_zip()))
_fused = exhaust(choice(*(r() for r in SIMPLER), _computes))
