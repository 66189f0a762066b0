"""Strategies that move a view out of the maps that it is made in, so that it can be stored
whole."""

# key: e term, s strategy

from collections.abc import Callable, Iterator
from functools import partial

from ir.core.nodes import Expr, Lam, Let, Map, Store, Zip
from ir.core.terms import children, free
from ir.core.type_rules import type_of
from ir.core.types import Array
from rewrites.analysis.alpha_equality import bound
from rewrites.analysis.kernel_terms import is_pointwise
from rewrites.engine.places import HERE, OF_ARRAY, OF_FUNCTION, OF_REST, part
from rewrites.engine.rule import Place, Rewritten, Strategy, get
from rewrites.engine.strategy import at, attempt, choice, exhaust, seq
from rewrites.laws.maps import fission
from rewrites.laws.pads import fission_zip
from rewrites.laws.zips import unused_part
from rewrites.nest.spine import body, inside

Layout = Callable[[int], Strategy]  # how to store what so many maps make an element of


def gathered(e: Expr) -> Rewritten | None:
    """The nest e, whose maps make views of their elements, with these views made before the maps,
    as one view of all dimensions, in the nest's order."""
    return inside(attempt(_gathered))(e)


def _gathered(e: Expr) -> Rewritten | None:
    """The map e, whose body maps over a view of e's element, as a map over such views; these are
    made before it."""
    return seq(body(gathered), attempt(_apart))(e)


def _apart(e: Expr) -> Rewritten | None:
    match e:
        case Map(Lam(p, Map(_, ys)) as f, _) if ys != p and not isinstance(ys, Zip):
            if is_pointwise(ys) and free(ys) & bound(f):
                return fission(place=OF_ARRAY)(e)
    return None


def stored_at(params: frozenset[str], place: Place, layout: Layout) -> Strategy:
    """The strategy that stores the view at a place, for all elements of the maps that it depends
    on. `params` are the names of the program's parameters."""

    def run(e: Expr, place: Place = place, batch: int = 0) -> Rewritten | None:
        view = get(e, place)
        needed = free(view) & bound_around(e, place) | free(view) - params
        if not needed:
            return at(place, layout(batch))(e)
        around = _around(e, place, needed)
        if around is None:
            return None
        rest = place[len(around + OF_FUNCTION) :]
        if not rest:
            return run(e, around, batch + 1)
        done = at(around, choice(fission_zip(place=rest), fission(place=rest)))(e)
        if done is None:
            return None
        made = _made(get(done[0], around), view)
        if made is None:
            return None
        inner = seq(
            at(around + made, exhaust(unused_part())),
            partial(run, place=around + made, batch=batch + 1),
        )
        more = inner(done[0])
        return None if more is None else (more[0], done[1] + more[1])

    return run


def _made(m: Expr, view: Expr) -> Place | None:
    """The place in the map m of the array that makes `view` for each element: the array of m, or
    its last such part if it is a zip; None if there is none."""
    assert isinstance(m, Map)
    if not isinstance(m.xs, Zip):
        return OF_ARRAY
    parts = [i for i, part in enumerate(m.xs.parts) if _makes(part, view)]
    return OF_ARRAY + part(parts[-1]) if parts else None


def _makes(part: Expr, view: Expr) -> bool:
    return isinstance(part, Map) and part.f.body == view


def bound_around(e: Expr, place: Place) -> frozenset[str]:
    """The names that the functions and lets around a place in e bind."""
    names = frozenset[str]()
    for n in range(len(place)):
        binder = get(e, place[:n])
        if isinstance(binder, Lam) or (isinstance(binder, Let) and place[n : n + 1] == OF_REST):
            names |= bound(binder)
    return names


def _around(e: Expr, place: Place, needed: frozenset[str]) -> Place | None:
    """The place of a map: the one whose function is the innermost around `place` that binds one of
    the names `needed`. None if no function binds one, or the innermost that does is not a map's."""
    for n in reversed(range(len(place))):
        binder = get(e, place[:n])
        if isinstance(binder, Lam) and bound(binder) & needed:
            outer = get(e, place[: n - 1])
            return place[: n - 1] if isinstance(outer, Map) else None
    return None


def views(e: Expr, params: frozenset[str]) -> Iterator[Place]:
    """The places of the arrays in e that may be stored: views of parameters, or of what maps
    compute of their elements.

    They depend on nothing but parameters and maps' variables, and are not stored already. `params`
    are the names of the program's parameters.
    """
    return _views(e, params, HERE)


def _views(e: Expr, known: frozenset[str], place: Place) -> Iterator[Place]:
    if isinstance(e, Store) and is_pointwise(e.e):
        return
    reachable = not isinstance(e, Lam) and is_pointwise(e) and free(e) <= known
    if reachable and isinstance(type_of(e), Array):
        yield place
    for i, c in enumerate(children(e)):
        more = bound(c) if isinstance(e, Map) and isinstance(c, Lam) else frozenset[str]()
        yield from _views(c, known | more, place + part(i))
