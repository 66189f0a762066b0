"""Laws that take work out of loops: what is done to each element is done before them, once."""

# key: e term, f h functions, x y elements

from collections.abc import Callable

import numpy as np

from ir.core.nodes import (
    Expr,
    Lam,
    Let,
    MakeTuple,
    Map,
    Param,
    Program,
    Reduce,
    Store,
    ToLocal,
    Var,
    Zip,
)
from ir.core.size import Size
from ir.core.terms import apply, bound_names, free, fresh, let
from ir.core.type_rules import elem_of, pattern_type, type_of
from ir.core.types import FLOAT, Type, depth, leaves
from ir.meaning.inputs import Data, shape_of
from ir.meaning.interpret import evaluate
from rewrites.analysis.affine_access import Access, Index, NoAccess, array, index, read
from rewrites.analysis.alpha_equality import bound
from rewrites.analysis.binder_names import value_of
from rewrites.engine.rule import Place, rule
from rewrites.laws.affine_views import at_level, gather, permuted
from rewrites.laws.lower import replaced
from rewrites.laws.maps import tidy


@rule("map/reduce (x -> f (h x)) xs  =  map/reduce f (map h xs)")
def hoist(e: Map | Reduce, term: Expr) -> Expr | None:
    """A map or reduction e whose function computes `term` from a part of its element becomes two: a
    map before computes the values of `term`, and e finds them in its elements."""
    match e:
        case Map(f, xs):
            made = _before(f, xs, term)
            return Map(tidy(made[0]), made[1]) if made else None
        case Reduce(z, Lam((Var() as acc, p), body), xs) if acc.name not in free(term):
            made = _before(Lam(p, body), xs, term)
            return Reduce(z, Lam((acc, made[0].pattern), made[0].body), made[1]) if made else None
    return None


def _before(f: Lam, xs: Expr, term: Expr) -> tuple[Lam, Expr] | None:
    """The function f and the array xs that it goes over, changed so that f finds the value of
    `term` in the elements. A map before computes it for all elements, from the one part of an
    element that it uses. None if f does not use `term`, or `term` uses not exactly one part."""
    parts = xs.parts if isinstance(xs, Zip) else (xs,)
    both = Lam(f.pattern, MakeTuple((f.body, term)))
    both = tidy(both) if isinstance(xs, Zip) else Lam((f.pattern,), both.body)
    if not isinstance(both.pattern, tuple) or not isinstance(both.body, MakeTuple):
        return None
    f, term = Lam(both.pattern, both.body.parts[0]), both.body.parts[1]
    used = [i for i, p in enumerate(both.pattern) if bound(Lam(p, term)) & free(term)]
    name = fresh(value_of(term), bound(f) | bound_names(f.body) | free(f.body))
    if len(used) != 1 or replaced(f.body, term, Var(name, FLOAT)) == f.body:
        return (
            None  # what looks like h x may stand where x is another's name, and have no type here
        )
    y = Var(name, type_of(term))
    body = replaced(f.body, term, y)
    made = Map(Lam(both.pattern[used[0]], term), parts[used[0]])
    pairs = zip((*both.pattern, y), (*parts, made), strict=True)
    kept = [(p, part) for p, part in pairs if bound(Lam(p, body)) & free(body)]
    if len(kept) == 1:
        return Lam(kept[0][0], body), kept[0][1]
    return Lam(tuple(p for p, _ in kept), body), Zip(tuple(part for _, part in kept))


@rule("map^n f . view  =  view . map^m f,  a view of whole rows; f 0 = 0 where it pads with 0")
def before_view(e: Expr, levels: Size) -> Expr | None:
    """A function mapped `levels` deep over a view of an array becomes the view of the function
    mapped over the array.

    The view must show whole rows; where it pads with zeros, the function must keep zeros.
    """
    try:
        f, view = _function(e, levels)
        if f is None or view is None:
            return None
        return _moved(f, view, levels)
    except NoAccess:
        return None


def _function(e: Expr, levels: Size) -> tuple[Lam | None, Expr | None]:
    """The function f and the array xs, where e is map^levels f xs; (None, None) where it is not."""
    match e:
        case Map(f, xs) if levels == 1:
            return f, xs
        case Map(Lam(Var(x, _), inner), xs) if isinstance(levels, int) and levels > 1:
            found, rows = _function(inner, levels - 1)
            same = isinstance(rows, Var) and rows.name == x
            return (found, xs) if same and found and x not in free(found) else (None, None)
    return None, None


def _moved(f: Lam, view: Expr, levels: Size) -> Expr | None:
    assert isinstance(levels, int)
    order: list[Index] = []
    found = read(view, {})
    for n in range(levels):
        rows = array(found)
        order.append(Index(f"row{n}", rows.size))
        found = rows.at(index(order[-1]))
    if not isinstance(found, Access) or isinstance(view, Var):
        return None
    row = elem_of_depth(found.base, len(found.coordinates))
    padded = any(c.loose for c in found.coordinates)
    if type_of(row) != f_argument(f) or (padded and not keeps_zero(f)):
        return None
    done = at_level(len(found.coordinates), found.base, lambda r: apply(f, r))
    return gather(done, found.coordinates, tuple(order))


def elem_of_depth(e: Expr, n: int) -> Expr:
    """A variable that stands for an element n dimensions inside the array e."""
    for _ in range(n):
        e = Var("_", elem_of(e))
    return e


def f_argument(f: Lam) -> Type:
    """The type of a function's argument."""
    return pattern_type(f.pattern)


def keeps_zero(f: Lam) -> bool:
    """True if f, a function of floats, uses nothing but its argument and gives zeros for zeros, as
    the interpreter says."""
    t = f_argument(f)
    if not isinstance(f.pattern, Var) or free(f) or {*leaves(t)} != {FLOAT}:
        return False
    program = Program("f", (Param(f.pattern),), f.body)
    return is_zero(evaluate(program, {f.pattern.name: np.zeros(shape_of(t))}))


def is_zero(a: Data) -> bool:
    """True if all numbers of the data are 0."""
    return all(map(is_zero, a)) if isinstance(a, tuple) else not np.any(a)


@rule("let x = v in e (f x)  =  let y = f v in e y")
def let_made(e: Let, term: Expr) -> Expr | None:
    """A let x = v whose body uses x only as f x becomes a let of f v; `term` is f x. None if the
    body uses x in another way."""
    match e:
        case Let(Var(x, t), value, body) if x in free(term) and free(term) - {x} <= free(e):
            made = apply(Lam(Var(x, t), term), value)
            new = let(x, made, type_of(made), lambda y: replaced(body, term, y))
            return None if x in free(replaced(body, term, Var("?", type_of(made)))) else new
    return None


@rule("e  =  undo . store . the dimensions of e in another order")
def store_as(e: Expr, order: Place) -> Expr | None:
    """The term e, stored with its dimensions in another order: order[n] is the dimension of e at
    place n in memory, outermost first. None if e is stored already."""
    return None if isinstance(e, Store) else _laid(e, order, Store)


@rule("e  =  undo . toLocal . the dimensions of e in another order")
def local_as(e: Expr, order: Place) -> Expr | None:
    """The term e, kept in local memory with its dimensions in another order: order[n] is the
    dimension of e at place n in memory, outermost first. None if e is in local memory already."""
    return None if isinstance(e, ToLocal) else _laid(e, order, ToLocal)


def _laid(e: Expr, order: Place, made: Callable[[Expr], Expr]) -> Expr | None:
    if sorted(order) != list(range(depth(type_of(e)))):
        return None
    inside = made(permuted(e, [order.index(n) for n in range(len(order))]))
    return permuted(inside, list(order))
