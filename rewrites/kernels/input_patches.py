"""Windows in tiles that are patches of the input: the nest over patches, then over windows of one.

Chunks of windows are windows of tiles that overlap (`split_slide`, the law `tile_slide` seen from
the split). What a tile needs beyond the array is added to the array (`pad_slide`). Where windows
slide in two dimensions, those of rows come first (`slide_slide`), so a patch is one variable.
"""

# key: e term, s strategy, n position in the nest

from collections.abc import Sequence

from ir.core.nodes import Expr, Map, Slide
from ir.core.size import names
from ir.core.views import is_view
from rewrites.analysis.predicates import adds
from rewrites.engine.rule import Strategy
from rewrites.engine.strategy import attempt, child, choice, everywhere, exhaust, seq, when
from rewrites.laws.maps import fuse_maps, fuse_zip
from rewrites.laws.pads import pad_slide
from rewrites.laws.slides import close_gaps, pad_map, slide_map, slide_slide, split_slide
from rewrites.laws.views import SIMPLER
from rewrites.nest.normal_form import perfect, simplify
from rewrites.nest.reshape import swap
from rewrites.nest.spine import nested


def patches(n: int, chunks: Sequence[Strategy]) -> list[Strategy]:
    """From (y, x) at position n to (tile of y, tile of x, x in it, y in it).

    chunks: for each dimension, what makes the map over it one over chunks.
    """
    dense = [
        nested(i, attempt(child(1, everywhere(close_gaps())))) for i in range(n, n + len(chunks))
    ]
    if len(chunks) == 1:
        return [*dense, _tile(n, chunks[0])]
    down, across = chunks
    turned = seq(nested(n + 1, attempt(child(1, slide_slide()))), _fused, perfect, simplify)
    return [
        *dense,
        _tile(n, down),
        turned,
        swap(n + 1),
        _fused,
        perfect,
        simplify,
        _tile(n + 1, across),
    ]


def _tile(n: int, chunks: Strategy) -> Strategy:
    """The map at position n over tiles, whose windows the map inside it goes over."""
    return seq(nested(n, chunks), perfect, simplify, _windows_of_tiles, _fused, perfect, simplify)


_windows_of_tiles = seq(
    exhaust(choice(when(adds, choice(pad_slide(), pad_map())), split_slide())),
    exhaust(when(lambda e: _is_tiles(e), slide_map())),
)


def _is_tiles(e: Expr) -> bool:
    """Tiles of rows that hold windows: these go inside the tiles."""
    return isinstance(e, Slide) and isinstance(e.xs, Map) and bool(names(e.size))


_computes = when(lambda e: isinstance(e, Map) and not is_view(e), choice(fuse_maps(), fuse_zip()))
_fused = exhaust(choice(*(r() for r in SIMPLER), _computes))
