"""Laws of `let`: it moves out of terms and loops, and disappears where its value is used once."""

# key: x a let's name, v its value, e term, f function

from ir.core.nodes import (
    AsScalar,
    AsVector,
    Expr,
    Join,
    Lam,
    Let,
    Map,
    Pad,
    PadEdge,
    Slide,
    Split,
    ToLocal,
    ToPrivate,
    Transpose,
    Var,
    Zip,
)
from ir.core.terms import apply, children, free, let, rebuild
from ir.core.type_rules import type_of
from ir.core.views import is_view
from ir.elaborate.used_once import used_once
from rewrites.analysis.alpha_equality import apart, bound
from rewrites.engine.rule import Place, get, put, rule

SEEN_THROUGH = (Map, Join, Split, Slide, Transpose, Pad, PadEdge, AsScalar, AsVector)


@rule("f (let x = v in e)  =  let x = v in f e")
def let_out(e: Expr) -> Expr | None:
    """A let that is an argument of a node moves out of that node; None if the node is a
    function."""
    if isinstance(e, Lam):
        return None
    for i, part in enumerate(children(e)):
        if isinstance(part, Let) and not (isinstance(e, Let) and i == 1):
            rest = children(e)[:i] + children(e)[i + 1 :]
            taken = frozenset[str]().union(*map(free, rest))
            f = apart(Lam(part.pattern, part.body), taken)
            return Let(f.pattern, part.value, rebuild(e, (*rest[:i], f.body, *rest[i:])))
    return None


@rule("map (y -> let x = v in e)  =  let x = v in map (y -> e),  y not in v")
def let_out_of_map(e: Map) -> Expr | None:
    """A let in a map whose value is the same for all elements moves out of the map, so that
    work-items share it."""
    match e:
        case Map(Lam(q, Let(p, value, body)), xs) if not bound(Lam(q, body)) & free(value):
            f = apart(Lam(p, body), free(xs) | bound(Lam(q, body)))
            return Let(f.pattern, value, Map(Lam(q, f.body), xs))
    return None


@rule("map (y -> let x = v in e) ys  =  let xs = map (y -> v) ys in map ((y, x) -> e) (zip ys xs)")
def let_beside(e: Map) -> Expr | None:
    """A let in the function of a map becomes a let around the map: of the array that has the let's
    value for each element."""
    match e:
        case Map(Lam(q, Let(Var(x, t), value, body)), ys):
            made = Map(Lam(q, value), ys)
            f = apart(Lam(Var(x, t), body), bound(Lam(q, body)))
            pairs = Lam((q, f.pattern), f.body)
            return let(x, made, type_of(made), lambda xs: Map(pairs, Zip((ys, xs))))
    return None


@rule("let x = v in e  =  e[v / x],  x used once")
def inline_once(e: Let) -> Expr | None:
    match e:
        case Let(Var(x, t), value, body) if used_once(body, x):
            return apply(Lam(Var(x, t), body), value)
    return None


@rule("let x = v in e  =  e,  x not in e")
def drop_let(e: Let) -> Expr | None:
    match e:
        case Let(p, _, body) if not bound(Lam(p, body)) & free(body):
            return body
    return None


@rule("let x = view v in e  =  let y = v in e[view y / x],  v made real")
def let_view(e: Let) -> Expr | None:
    """A let of a view of an array that stands in local or private memory becomes a let of that
    array; the body sees the array through the view."""
    match e:
        case Let(Var(x, t), value, body):
            place = _made_at(value)
            if not place or not is_view(put(value, place, Var(x, type_of(get(value, place))))):
                return None
            made = get(value, place)
            return let(
                x,
                made,
                type_of(made),
                lambda y: apply(Lam(Var(x, t), body), put(value, place, y)),
            )
    return None


def _made_at(e: Expr) -> Place | None:
    """The place in e, below views, of the term that makes e real in local or private memory; None
    if there is none."""
    if isinstance(e, ToLocal | ToPrivate):
        return ()
    if not isinstance(e, SEEN_THROUGH):
        return None
    last = len(children(e)) - 1
    inner = _made_at(children(e)[last])
    return None if inner is None else (last, *inner)
