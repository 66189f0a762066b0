"""The law of results that all lanes of a sub-group have: the first lane alone writes one."""

# key: e term, x v variables, y what lanes have

from ir.core.instruction import Instruct
from ir.core.nodes import At, Edge, Expr, Join, Lam, Map, PadEdge, Var
from ir.core.terms import bound_names, free, fresh
from ir.core.type_rules import elem_of, size_of, type_of
from ir.core.types import Scalar
from rewrites.engine.rule import Place, get, put, rule
from rewrites.engine.strategy import place_where
from rewrites.laws.maps import bound_above


@rule("map (x -> f (at 0 y))  =  join . map (x -> crop . map f y),  y what lanes have")
def first_lane(e: Map) -> Expr | None:
    """A map whose numbers are each made of what an instruction gives to the first lane becomes one
    in which every lane does what is done with it, and all lanes' results but the first are cropped
    away."""
    place = _of_first(e.f.body)
    if place is None or not isinstance(type_of(e.f.body), Scalar):
        return None
    taken = get(e.f.body, place)
    assert isinstance(taken, At)
    y, names = taken.xs, bound_names(e.f.body) | free(e.f.body)
    if free(y) & bound_above(e.f.body, place):
        return None
    v = Var(fresh("v", names), elem_of(y))
    each = Map(Lam(v, put(e.f.body, place, v)), y)
    return Join(Map(Lam(e.f.pattern, PadEdge(Edge.ANY, 0, 1 - size_of(y), each)), e.xs))


def _of_first(e: Expr) -> Place | None:
    """The place in e of what an instruction gives to the first lane; None if there is none."""
    return place_where(e, lambda t: isinstance(t, At) and t.k == 0 and isinstance(t.xs, Instruct))
