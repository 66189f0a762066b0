"""Laws that move a function of each number of an array: to the array before a let names it or a
`store` keeps it, or out of a view of the array."""

# key: x a let's name, v its value, f function of a number, y a number that e reads of x

from ir.core.frozen import frozen
from ir.core.nodes import (
    Edge,
    Expr,
    Get,
    Lam,
    Let,
    MakeTuple,
    Map,
    Pad,
    PadEdge,
    Store,
    Var,
)
from ir.core.terms import children, free, let, substitute, subterms
from ir.core.type_rules import type_of
from ir.core.types import Array, Scalar, Vector, equal, leaves
from ir.core.views import is_view
from ir.errors import IllTyped
from rewrites.analysis.matching import instance
from rewrites.analysis.number_parts import mapped
from rewrites.analysis.out_views import is_crop
from rewrites.engine.rule import Place, get, put, rule
from rewrites.laws.lets import SEEN_THROUGH
from rewrites.laws.vectors import Types, retype, retyped


@rule("let x = v in e (f y)  =  let x = map^n f v in e y,  y what e reads of x")
def let_mapped(e: Let, f: Expr) -> Expr | None:
    """The let e of an array of numbers y, whose body uses y only as f y, becomes a let of the array
    of all f y; where f y is a pair, the body may use its parts by themselves."""
    match e, f:
        case Let(Var(x, t), value), Lam(Var(_, domain)) if {*leaves(t)} == {domain}:
            if not isinstance(t, Array) or free(f):
                return None
            if _applied(_as_tuple(f), e) is None:
                return None  # numbers of another type might be taken for those of x
            new = _applied(f, e)
            made = mapped(f, value)
            assert new is not None
            return let(x, made, type_of(made), lambda y: substitute(new, {x: y}))
    return None


def _as_tuple(f: Lam) -> Lam:
    """The function f; if it gives no tuple, with its result in a tuple of one part, as no operation
    computes with a tuple."""
    return f if isinstance(f.body, MakeTuple) else Lam(f.pattern, MakeTuple((f.body,)))


def _applied(f: Lam, e: Let) -> Expr | None:
    """The body of the let e over the array of all f y instead of the array of numbers y: each f y
    in it becomes a number that is read. None if the body uses y in another way, or not at all."""
    assert isinstance(e.pattern, Var)
    try:
        new = retype(e.body, {e.pattern.name: type_of(mapped(f, e.value))}, _Applied(f).seen)
        kept = equal(type_of(new), type_of(e.body))
    except IllTyped:
        return None
    return new if kept and new != e.body else None


@frozen
class _Applied:
    """A function f that has been applied to the numbers y of an array, and the rewriting of terms
    that read the array: where they compute f y, they read a number."""

    f: Lam

    def seen(self, e: Expr, env: Types) -> Expr | None:
        """The term that takes the place of e, if e is f y, or a part of it, or pads the array; None
        at other terms. `env` has the types that variables now have."""
        if isinstance(e, Pad):
            return self._padded(e, env)
        if type(e) not in {type(part) for _, part in _parts(self.f)}:
            return None
        f = self._as_wide_as(e)
        for k, part in _parts(f):
            y = _argument(f, part, e)
            new = None if y is None else self._of_the_array(f, y, env)
            if new is not None:
                return new if k is None else Get(k, new)
        return None

    def _as_wide_as(self, e: Expr) -> Lam:
        """The function f, typed for vectors if e is a vector."""
        assert isinstance(self.f.pattern, Var)
        given, wide = self.f.pattern.type, type_of(e)
        if not isinstance(wide, Vector) or not isinstance(given, Scalar):
            return self.f
        return retyped(self.f, Vector(given, wide.width))

    def _of_the_array(self, f: Lam, y: Expr, env: Types) -> Expr | None:
        """The term that takes the place of f y, if y is a number of the array, or a vector of its
        numbers; None if y is neither."""
        try:
            new = retype(y, env, self.seen)
            return new if equal(type_of(new), type_of(f.body)) else None
        except IllTyped:
            return None

    def _padded(self, e: Pad, env: Types) -> Expr:
        """The padding e of the array to which f has been applied; IllTyped if e adds numbers, to
        which f has not been applied."""
        xs = retype(e.xs, env, self.seen)
        if equal(type_of(xs), type_of(e.xs)):
            return Pad(e.left, e.right, retype(e.value, env, self.seen), xs)
        if not is_crop(e):
            raise IllTyped("expected a view that adds no numbers, found padding by a number")
        return PadEdge(Edge.ANY, e.left, e.right, xs)


def _parts(f: Lam) -> list[tuple[int | None, Expr]]:
    """The parts of the tuple that f gives, each with its index; if f gives no tuple, its result,
    with None."""
    return [*enumerate(f.body.parts)] if isinstance(f.body, MakeTuple) else [(None, f.body)]


def _argument(f: Lam, part: Expr, e: Expr) -> Expr | None:
    """The term y for which e is f y, or the part of f y that `part` computes; None if there is
    none."""
    assert isinstance(f.pattern, Var)
    if type(e) is not type(part):
        return None
    hole = Var("?y", f.pattern.type)
    pattern = substitute(part, {f.pattern.name: hole})
    found = instance(pattern, frozenset({hole.name}), e)
    return None if found is None else found[hole.name]


@rule("view . map^n f  =  map^m f . view,  a view that adds no numbers")
def map_after_view(e: Expr) -> Expr | None:
    """A view of map f xs becomes f mapped over the same view of xs; None if the view adds numbers,
    to which f was not applied."""
    place = _computed_at(e)
    if not place:
        return None
    f, xs = _function(get(e, place))
    made = Var("?made", type_of(get(e, place)))
    view = put(e, place, made)
    adds = any(isinstance(s, Pad) for s in subterms(view))
    if f is None or adds or not is_view(view) or not isinstance(type_of(e), Array):
        return None
    try:
        shown = retype(view, {made.name: type_of(xs)})
    except IllTyped:
        return None
    return mapped(f, substitute(shown, {made.name: xs}))


def _computed_at(e: Expr) -> Place | None:
    """The place in e, below views, of the map that computes what they show; None if there is
    none."""
    if isinstance(e, Map) and not is_view(e.f.body):
        return ()
    if not isinstance(e, SEEN_THROUGH):
        return None
    last = len(children(e)) - 1
    inner = _computed_at(children(e)[last])
    return None if inner is None else (last, *inner)


def _function(e: Expr) -> tuple[Lam | None, Expr]:
    """The pair of f and xs if e is map^n f xs for a function f of single numbers; otherwise the
    first of the pair is None."""
    match e:
        case Map(Lam(Var(_, Scalar())) as f, xs) if not free(f):
            return f, xs
        case Map(Lam(Var() as row, body), xs):
            inner, rows = _function(body)
            return (inner, xs) if rows == row else (None, xs)
    return None, e


@rule("map^n f . store  =  store . map^n f")
def map_into_store(e: Map) -> Expr | None:
    """A map over the numbers of a stored array becomes the store of the map over the array."""
    f, xs = _function(e)
    if f is None or not isinstance(xs, Store):
        return None
    return Store(mapped(f, xs.e))
