"""The choices made before a nest is lowered: which views are stored, and how constants are laid
out."""

# key: e term, s strategy

from collections.abc import Callable
from enum import Enum

from ir.core.frozen import frozen
from ir.core.nodes import Expr, Map, Pad, PadEdge, Slide, Var, Zip
from ir.core.size import Size
from ir.core.terms import free
from ir.core.type_rules import type_of
from ir.core.types import Array, depth
from rewrites.analysis.alpha_equality import bound
from rewrites.analysis.out_views import is_crop
from rewrites.analysis.windows import has_windows, slides
from rewrites.engine.places import HERE, OF_ARRAY, OF_VIEWED
from rewrites.engine.refused import Refused
from rewrites.engine.rule import Place, Rewritten, Strategy, get
from rewrites.engine.stages import stage
from rewrites.engine.strategy import (
    at,
    choice,
    everywhere,
    place_where,
    remembered,
    seq,
    skip,
)
from rewrites.laws.lower import store
from rewrites.laws.maps import fission
from rewrites.laws.slides import slide_map
from rewrites.nest.labels import labels
from rewrites.nest.named_views import stored_as
from rewrites.storing.constant_panels import relay
from rewrites.storing.memory_order import SUMS, in_order
from rewrites.storing.view_out_of_maps import Layout, gathered, stored_at, views


class Windows(Enum):
    """The view that is stored, of those that lead from an array to its windows, and the order of
    its dimensions."""

    NONE = ""
    PADDED = "padded"
    PLANES = "planes"  # padded, the innermost dimension (channels) outermost
    IM2WIN = "im2win"  # after the outermost slide
    IM2WIN_PLANES = "im2win planes"  # the same, channels outermost
    MEC = "mec"  # after every slide but the outermost
    IM2COL = "im2col"  # after every slide


@frozen
class Choices:
    """The views that are stored, and the constants that are laid out in panels of rows.

    `windows`: the view that is stored, and its order in memory. `room`: what is stored has room for
    tiles that are rounded up. `relaid` are the names of the constants that are laid out. Panels
    have `panel` rows, `lanes` elements of each together; for constants that vectors do not go over,
    they have `block` rows. `flipped`: vectors go over columns instead of rows.
    """

    windows: Windows = Windows.NONE
    room: bool = False  # what is stored has room for tiles that are rounded up
    relaid: frozenset[str] = frozenset()
    panel: Size = 1
    lanes: Size = 1
    block: Size = 1  # the panels of what vectors do not go over
    flipped: bool = False  # rows and columns change roles: vectors go over columns


@remembered
def prepare(params: frozenset[str], choices: Choices) -> Strategy:
    """The strategy that stores the chosen views, and lays the chosen constants out in panels.
    `params` are the names of the program's parameters."""
    stored = stage(STORED[choices.windows], _windows(params, choices))
    if choices.windows in IN_ORDER:
        sums = in_order(params, IN_ORDER[choices.windows])
        stored = seq(stored, stage("sums in the order of memory", sums))
    constants = relay(choices.relaid, choices.flipped, choices.panel, choices.block, choices.lanes)
    return seq(stored, stage("constants in panels", constants) if choices.relaid else skip)


STORED: dict[Windows, str] = {
    Windows.NONE: "nothing stored",
    Windows.PADDED: "padding stored",
    Windows.PLANES: "padding stored, channels outermost",
    Windows.IM2WIN: "windows of rows stored (im2win)",
    Windows.IM2WIN_PLANES: "windows of rows stored, channels outermost",
    Windows.MEC: "windows of columns stored (MEC)",
    Windows.IM2COL: "all windows stored (im2col)",
}


# What lies side by side in stored windows is summed in that order: of a nest of sums, that over
# the rows of a window comes first as it is.
IN_ORDER: dict[Windows, tuple[str, ...]] = {
    Windows.IM2COL: SUMS.names,
    Windows.MEC: SUMS.names,
    Windows.IM2WIN: ("columns", "rows", "channels"),
    Windows.IM2WIN_PLANES: ("channels", "columns", "rows"),
}


def _windows(params: frozenset[str], choices: Choices) -> Strategy:
    match choices.windows:
        case Windows.NONE:
            return skip
        case Windows.PADDED:
            padded = _stored(params, _is_pad, plainly)
            return choice(padded, skip if choices.room else _refused("no padding"))
        case Windows.PLANES:
            return choice(_stored(params, _is_pad, planar), _refused("no padding"))
        case Windows.IM2WIN:
            return seq(gathered, choice(_rows(params, _rows_first), _refused(ROWS)))
        case Windows.IM2WIN_PLANES:
            return seq(gathered, choice(_rows(params, _rows_of_planes), _refused(ROWS)))
        case Windows.MEC:
            inner = _stored(params, _is_rows, _columns_first, below=OF_VIEWED)
            return seq(gathered, choice(inner, _refused(ROWS)))
        case Windows.IM2COL:
            every = _stored(params, _is_windows, plainly)
            return seq(gathered, choice(every, _refused("no windows")))


ROWS = "no windows along two dimensions"


def _refused(missing: str) -> Strategy:
    def refuse(_: Expr) -> Rewritten | None:
        raise Refused(f"expected a view that this form stores, found {missing}")

    return refuse


def _stored(
    params: frozenset[str], test: Callable[[Expr], bool], layout: Layout, below: Place = HERE
) -> Strategy:
    """The strategy that stores, in a layout, the term at `below` in the first view that passes the
    test. `params` are the names of the program's parameters."""

    def run(e: Expr) -> Rewritten | None:
        place = _first(e, test, params)
        return None if place is None else stored_at(params, place + below, layout)(e)

    return run


def _rows(params: frozenset[str], layout: Layout) -> Strategy:
    """The strategy that makes the windows of whole rows before the windows inside the rows, and
    stores them in this layout. `params` are the names of the program's parameters."""

    def run(e: Expr) -> Rewritten | None:
        place = _first(e, _is_rows, params)
        if place is None:
            return None
        first = at(place, seq(everywhere(_made_before), slide_map()))
        return seq(first, stored_at(params, place + OF_ARRAY, layout))(e)

    return run


def _made_before(e: Expr) -> Rewritten | None:
    """The map e, whose body makes windows of an array that the body computes, with this array
    computed by a map before e; None if the body makes no windows, or makes them of e's element
    itself."""
    if not isinstance(e, Map) or not has_windows(e.f.body):
        return None

    def is_slid(t: Expr) -> bool:
        array = isinstance(type_of(t), Array) and not has_windows(t)
        return array and bool(free(t) & bound(e.f))

    place = place_where(e.f.body, is_slid)
    if place is None or isinstance(get(e.f.body, place), Var):
        return None
    return fission(place=place)(e)


def _first(e: Expr, test: Callable[[Expr], bool], params: frozenset[str]) -> Place | None:
    """The place in e of the outermost view that passes the test; views of the program's parameters,
    whose names are `params`, come before views of computed arrays. None if no view passes."""
    places = [place for place in views(e, params) if test(get(e, place))]
    whole = [place for place in places if free(get(e, place)) <= params]
    return next(iter([*whole, *places]), None)


def plainly(batch: int) -> Strategy:
    """The strategy that stores a view as it is, whatever the number `batch` of its outer dimensions
    that come from maps around it."""
    return store()


def planar(batch: int) -> Strategy:
    """The strategy that stores a view with its innermost dimension (channels) outermost, but inside
    the `batch` outer dimensions, which come from maps around the view."""

    def run(e: Expr) -> Rewritten | None:
        dims = labels(batch=batch, planes=depth(type_of(e)) - batch - 1, channels=1)
        return stored_as(dims, ("batch", "channels", "planes"))(e)

    return run


def _rows_first(batch: int) -> Strategy:
    """The strategy that stores windows of rows so that elements which lie below each other in a
    window are neighbours in memory. `batch` is the number of outer dimensions, which come from maps
    around the windows."""
    dims = labels(batch=batch, windows=1, rows=1, columns=1)
    return stored_as(dims, ("batch", "windows", "columns", "rows"))


def _rows_of_planes(batch: int) -> Strategy:
    """The strategy that stores windows of rows of planes: each plane (channel) as `_rows_first`
    stores windows, one plane after the other. `batch` is the number of outer dimensions, which come
    from maps around the windows and stay outermost."""

    def run(e: Expr) -> Rewritten | None:
        channels = depth(type_of(e)) - batch - 3
        if channels < 1:
            raise Refused(
                "expected windows with a dimension of channels, to store it outermost; found "
                "windows without one"
            )
        dims = labels(batch=batch, windows=1, rows=1, columns=1, others=channels - 1, channels=1)
        planes = ("batch", "channels", "windows", "columns", "rows", "others")
        return stored_as(dims, planes)(e)

    return run


def _columns_first(batch: int) -> Strategy:
    """The strategy that stores all rows of one column of windows, then those of the next; windows
    of rows overlap. `batch` is the number of outer dimensions, which come from maps around the
    windows."""

    def run(e: Expr) -> Rewritten | None:
        dims = labels(batch=batch, rows=1, columns=slides(e))
        return stored_as(dims, ("batch", "columns", "rows"))(e)

    return run


def _is_pad(e: Expr) -> bool:
    return isinstance(e, Pad | PadEdge) and not is_crop(e)


def windowed(e: Expr) -> Rewritten:
    """The term e unchanged if its results are made of windows; else Refused."""
    if not has_windows(e):
        raise Refused("expected windows in the program, found none")
    return skip(e)


def _is_rows(e: Expr) -> bool:
    """True if e makes windows of rows that hold windows themselves, so that the vertical slide can
    come first."""
    return isinstance(e, Slide) and isinstance(e.xs, Map) and has_windows(e.xs.f.body)


def _is_windows(e: Expr) -> bool:
    return has_windows(e) and not isinstance(e, Zip)
