"""Choices made before a nest is lowered: which views are stored, how constants are laid out."""

# key: e term, s strategy

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial

from ir.nat import Size
from ir.nodes import Expr, Lam, Map, Pad, PadEdge, Slide, Zip
from ir.terms import children, free
from ir.types import Array
from ir.typing import type_of
from rewrites.dims import Refused, classify
from rewrites.laws_lower import store
from rewrites.laws_map import fission
from rewrites.laws_slide import slide_map
from rewrites.laws_view import round_open, split_open, transpose_inner
from rewrites.rule import Place, Rewritten, Strategy
from rewrites.shape import bound, depth, has_reduction, is_view
from rewrites.spine import nested
from rewrites.strategy import attempt, child, choice, outermost, seq, skip, when


class Windows(Enum):
    """How much of the windows' view is stored."""

    NONE = "none"
    PADDED = "padded"
    PLANES = "planes"  # padded, the innermost dimension (channels) outermost
    ROWS = "rows"  # after the vertical slide: im2win
    ALL = "all"  # after every slide: im2col


# Stored views, each with room for rounded-up tiles or not.
WAYS = (
    *((windows, False) for windows in Windows),
    (Windows.PADDED, True),
    (Windows.PLANES, True),
)


@dataclass(frozen=True, slots=True)
class Choices:
    """What is stored, and which parameters are constant (so that they may be relaid)."""

    windows: Windows = Windows.NONE
    room: bool = False  # what is stored has room for tiles that are rounded up
    relaid: frozenset[str] = frozenset()
    panel: Size = 1


def prepare(params: frozenset[str], choices: Choices) -> Strategy:
    """Store what is to be stored; lay constants out in panels of the rows' block."""
    return seq(_windows(params, choices), _relay(choices))


def _windows(params: frozenset[str], choices: Choices) -> Strategy:
    match choices.windows:
        case Windows.NONE:
            return skip
        case Windows.PADDED:
            padded = _stored(params, _is_pad, store())
            return choice(padded, skip if choices.room else _refused("no padding"))
        case Windows.PLANES:
            return choice(_stored(params, _is_pad, planar), _refused("no padding"))
        case Windows.ROWS:
            rows = _stored(params, _is_rows, seq(slide_map(), child(1, rows_first)))
            return choice(rows, _refused("no windows of rows of windows"))
        case Windows.ALL:
            return choice(_stored(params, _is_windows, store()), _refused("no windows"))


def _refused(missing: str) -> Strategy:
    def refuse(_: Expr) -> Rewritten | None:
        raise Refused(f"the program has {missing} to store")

    return refuse


def _stored(params: frozenset[str], test: Callable[[Expr], bool], s: Strategy) -> Strategy:
    """s at the outermost view that passes the test, moved out of the map that it is made in."""
    return choice(
        outermost(when(lambda e: test(e) and is_view(e) and _closed(e, params), s)),
        outermost(partial(_apart, params, test, s)),
    )


def _apart(
    params: frozenset[str], test: Callable[[Expr], bool], s: Strategy, e: Expr
) -> Rewritten | None:
    """map (f . view)  becomes  map f . (s (map view))"""
    if not isinstance(e, Map) or not free(e) <= params or is_view(e):
        return None
    known = params | bound(e.f)
    place = _place(e.f.body, lambda v: test(v) and is_view(v) and free(v) <= known)
    if place is None:
        return None
    return seq(fission(place=place), choice(child(1, child(1, s)), child(1, s)))(e)


def _place(e: Expr, test: Callable[[Expr], bool]) -> Place | None:
    if not isinstance(e, Lam) and test(e):
        return ()
    for i, c in enumerate(children(e)):
        inner = _place(c, test)
        if inner is not None:
            return (i, *inner)
    return None


def planar(e: Expr) -> Rewritten | None:
    """Stored with its innermost dimension outermost."""
    return planes(depth(type_of(e)))(e)


def planes(dims: int) -> Strategy:
    """id = undo . store . (the innermost dimension outermost)"""
    opened: Strategy = store()
    for level in range(dims - 1):
        opened = seq(transpose_inner(level=level), child(1 if level else 0, opened))
    return opened


def _closed(e: Expr, params: frozenset[str]) -> bool:
    return free(e) <= params and isinstance(type_of(e), Array)


def _is_pad(e: Expr) -> bool:
    return isinstance(e, Pad | PadEdge)


def _slides(e: Expr) -> int:
    return isinstance(e, Slide) + sum(map(_slides, children(e)))


def _is_rows(e: Expr) -> bool:
    """Windows of rows that hold windows themselves: the vertical slide can come first."""
    return isinstance(e, Slide) and isinstance(e.xs, Map) and _slides(e.xs.f.body) > 0


def rows_first(e: Expr) -> Rewritten | None:
    """Stores the vertical slide in window order: beside each element those below it."""
    return seq(transpose_inner(level=1), child(1, store()))(e)


def _is_windows(e: Expr) -> bool:
    return _slides(e) > 0 and not isinstance(e, Zip)


def _relay(choices: Choices) -> Strategy:
    """Where the rows' map goes over a constant, make that constant's rows innermost."""

    def run(e: Expr) -> Rewritten | None:
        if not choices.relaid:
            return skip(e)
        if not has_reduction(e):
            raise Refused("the last kernel has no reduction whose constants could be relaid")
        rows = classify(e).rows
        if not rows:
            return skip(e)
        return nested(rows[0], when(lambda m: isinstance(m, Map), child(1, parts)))(e)

    def parts(xs: Expr) -> Rewritten | None:
        count = len(xs.parts) if isinstance(xs, Zip) else 1
        each = (
            [child(i, attempt(panel)) for i in range(count)]
            if isinstance(xs, Zip)
            else [attempt(panel)]
        )
        return seq(*each)(xs)

    def panel(xs: Expr) -> Rewritten | None:
        constant = free(xs) and free(xs) <= choices.relaid and is_view(xs)
        if not constant or depth(type_of(xs)) < 2:
            return None
        return panels(depth(type_of(xs)), choices.panel)(xs)

    return run


def panels(dims: int, width: Size) -> Strategy:
    """id = undo . store . (rows in panels of `width`, a panel's rows innermost)"""
    opened: Strategy = store()
    for level in reversed(range(1, dims)):
        opened = seq(transpose_inner(level=level), child(1, opened))
    steps = seq(split_open(k=width), child(0, opened))
    return choice(seq(round_open(k=width), child(1, steps)), steps)
