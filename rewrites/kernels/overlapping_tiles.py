"""Windows in overlapping tiles: a nest of maps over tiles outside, over the windows of one tile
inside."""

# key: e term, s strategy, m windows a tile, r window size

from ir.core.nodes import Expr, Map, PadEdge, Slide
from ir.core.size import show_size
from rewrites.analysis.kernel_terms import own_terms
from rewrites.engine.places import of_array
from rewrites.engine.refused import Refused, shown
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.strategy import attempt, choice, repeat, seq, when
from rewrites.laws.maps import fuse_maps
from rewrites.laws.pads import map_join
from rewrites.laws.slides import (
    map_pad_edge,
    pad_twice,
    round_windows,
    slide_map,
    tile_slide,
    windows_across,
    windows_down,
)
from rewrites.nest.named_nest import Nest


def slide_of(e: Expr) -> Slide:
    """The slide that the map e goes over; Refused where it goes over something else."""
    if isinstance(e, Map) and isinstance(e.xs, Slide):
        return e.xs
    raise Refused(f"expected a map over a slide (the windows of one array), found {shown(e)}")


def tiled_windows(m: int) -> Strategy:
    """The strategy that turns a map over windows into a map over tiles of m windows, rounded up,
    around a map over the windows of a tile; a crop leaves out the results that were added."""

    def run(e: Expr) -> Rewritten | None:
        slid = slide_of(e)
        if slid.step != 1:
            raise Refused(f"expected windows one apart, found them {slid.step} apart")
        if not isinstance(slid.size, int):
            raise Refused(f"expected windows whose size is a number, found {show_size(slid.size)}")
        steps = seq(
            attempt(seq(of_array(round_windows(k=m)), map_pad_edge())),
            inside_crop(
                seq(
                    attempt(of_array(of_array(pad_twice()))),
                    of_array(tile_slide(u=m + slid.size - 1)),
                    map_join(),
                    of_array(fuse_maps()),
                )
            ),
        )
        return steps(e)

    return run


def inside_crop(s: Strategy) -> Strategy:
    """The strategy that applies s below a crop, or at the root where there is none."""
    return choice(when(lambda e: isinstance(e, PadEdge), of_array(s)), s)


plain_slide: Strategy = seq(of_array(slide_map()), fuse_maps())
"""map f . slide n s . map g  becomes  map (f . map g) . slide n s"""


def _slides_inside(e: Expr) -> bool:
    """True if the map e goes over windows of an array that has windows of its own."""
    return isinstance(e, Map) and any(isinstance(t, Slide) for t in own_terms(slide_of(e).xs))


def tiles(windows: Nest, sides: tuple[int, ...]) -> Nest:
    """The nest whose maps `down` and `across` go over windows, with maps called `tiles` over tiles
    of windows and maps called `windows` inside a tile. `sides` are the numbers of windows of a
    tile, down and across; the nest may have no map down."""
    down = seq(repeat(when(_slides_inside, plain_slide)), tiled_windows(sides[0]))
    across = tiled_windows(sides[-1])
    tiled = (
        windows.divided("down", down, "tiles down", "down")
        .exchange("down", "across", windows_across())
        .divided("across", across, "tiles across", "across")
        .exchange("across", "down", windows_down())
        .grouped("tiles", "tiles down", "tiles across")
        .grouped("windows", "down", "across")
    )
    return tiled.told("windows in tiles", since=windows)
