"""Room for tiles: the elements that rounding adds to a nest are added to the stored copies that it
reads.

A map whose number of elements is rounded up goes over `pad_any` of an array of views. That pad
moves inside, past views and out of maps, to the padding below them; where that is stored, the copy
has room for the rounded-up tiles, and nothing is left to clamp.
"""

# key: e term, s strategy

from ir.core.nodes import Expr, Lam, Let, Map, Store, Transpose, Var, Zip
from ir.core.terms import children, free, variables
from ir.core.views import is_view
from rewrites.analysis.alpha_equality import bound, uses
from rewrites.analysis.out_views import adds
from rewrites.engine.places import HERE, of_array, part
from rewrites.engine.rule import Place, Rewritten, Strategy
from rewrites.engine.strategy import attempt, child, choice, exhaust, repeat, seq, when
from rewrites.laws.interchange import interchange_rows
from rewrites.laws.lower import store
from rewrites.laws.maps import fission, fuse_maps, tidy
from rewrites.laws.pads import (
    fission_zip,
    map_join,
    map_split,
    pad_join,
    pad_pad,
    pad_slide,
    pad_split,
    pad_transpose,
    pad_zeros,
    rows_pad_edge,
    rows_pad_pad,
    view_store,
)
from rewrites.laws.slides import map_slide, pad_map
from rewrites.laws.views import SIMPLER, pad_zip


def room(params: frozenset[str]) -> Strategy:
    """The strategy that moves room for tiles to the stored arrays below views and maps; parameters
    without a stored copy get one, with the room in it. `params` are the names of the program's
    parameters."""
    return seq(sunk, _copies(params))


def adds_to(e: Expr, x: str) -> bool:
    """True if e is the variable x padded by `pad_any`, in any of its dimensions."""
    if isinstance(e, Map):
        inner = e.f.pattern
        if not isinstance(inner, Var) or not adds_to(e.f.body, inner.name):
            return False
    elif not adds(e):
        return False
    source = children(e)[-1]
    return (isinstance(source, Var) and source.name == x) or adds_to(source, x)


def adds_to_rows(e: Expr) -> bool:
    """True if e pads the rows of an array by `pad_any`, at any depth."""
    if not isinstance(e, Map) or not isinstance(e.f.pattern, Var):
        return False
    return adds_to(e.f.body, e.f.pattern.name)


def out_of_map(e: Expr) -> Rewritten | None:
    """The map e, whose body pads its element by `pad_any`, as a map over elements that are padded
    already, by a map before. None if the body does not pad the element, uses it elsewhere too, or
    does nothing but pad."""
    if not isinstance(e, Map) or adds_to_rows(e):
        return None
    f = tidy(e.f) if isinstance(e.xs, Zip) else e.f
    for v in variables(f.pattern):
        place = _added(f.body, v.name) if uses(f.body, v.name) == 1 else None
        if place is not None:
            zipped = isinstance(f.pattern, tuple)
            return fission_zip(place=place)(e) if zipped else fission(place=place)(e)
    return None


def _added(e: Expr, x: str) -> Place | None:
    """The place in e of the view that pads the variable x by `pad_any`; None if there is none."""
    if not isinstance(e, Lam) and adds_to(e, x):
        return HERE
    for i, c in enumerate(children(e)):
        inner = _added(c, x) if x in free(c) else None
        if inner is not None:
            return part(i) + inner
    return None


_past_views = choice(
    pad_zip(),
    pad_map(),
    pad_slide(),
    pad_transpose(),
    pad_join(),
    pad_split(),
    pad_pad(),
    view_store(),
)

_columns = seq(interchange_rows(), of_array(of_array(choice(*(r() for r in SIMPLER)))))

_rows_past_views = choice(
    when(lambda e: isinstance(e, Map) and isinstance(e.xs, Map), fuse_maps()),
    rows_pad_edge(),
    rows_pad_pad(),
    map_slide(),
    map_join(),
    map_split(),
    view_store(),
    when(lambda e: isinstance(e, Map) and isinstance(e.xs, Transpose), _columns),
)

sunk: Strategy = exhaust(
    choice(
        when(adds, choice(*(r() for r in SIMPLER), _past_views)),
        when(adds_to_rows, _rows_past_views),
        out_of_map,
    )
)


def _copies(params: frozenset[str]) -> Strategy:
    """The strategy that stores a padded copy of each of the program's parameters that a term pads
    by `pad_any`, as room for tiles. `params` are the names of the program's parameters."""
    return repeat(_copy(params))


def _copy(params: frozenset[str]) -> Strategy:
    """The strategy that stores the first view which pads one of the program's parameters by
    `pad_any`. `params` are the names of the parameters; a name that a binder around the view binds
    again is none of them."""

    def run(e: Expr) -> Rewritten | None:
        if isinstance(e, Store):
            return None
        if (adds(e) or adds_to_rows(e)) and free(e) and free(e) <= params and is_view(e):
            return seq(attempt(pad_zeros()), store())(e)
        hidden = params & bound(e) if isinstance(e, Lam | Let) else frozenset[str]()
        inside: Strategy = _copy(params - hidden) if hidden else run
        return next((d for i in range(len(children(e))) if (d := child(i, inside)(e))), None)

    return run
