"""Laws of a function of all that is read of an array: it is applied before that array is kept
instead of after it is read."""

# key: x a let's name, v its value, f function of a number, y a number that e reads of x

from dataclasses import dataclass

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
    """A let of numbers of which only f y is used becomes a let of f of these; where f y is a pair,
    its parts may be used apart."""
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
    """The function f with a result that is no number: nothing computes with tuples."""
    return f if isinstance(f.body, MakeTuple) else Lam(f.pattern, MakeTuple((f.body,)))


def _applied(f: Lam, e: Let) -> Expr | None:
    """What the let e computes, of f of each number of its array; None if it uses these otherwise
    or not at all."""
    assert isinstance(e.pattern, Var)
    try:
        new = retype(e.body, {e.pattern.name: type_of(mapped(f, e.value))}, _Applied(f).seen)
        kept = equal(type_of(new), type_of(e.body))
    except IllTyped:
        return None
    return new if kept and new != e.body else None


@dataclass(frozen=True, slots=True)
class _Applied:
    """A function that is applied to numbers of an array already."""

    f: Lam

    def seen(self, e: Expr, env: Types) -> Expr | None:
        """What stands for f y, or for a part of it, at a term e where y has the type of f y; None
        at other terms."""
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
        """The function f, of vectors where e is one."""
        assert isinstance(self.f.pattern, Var)
        given, wide = self.f.pattern.type, type_of(e)
        if not isinstance(wide, Vector) or not isinstance(given, Scalar):
            return self.f
        return retyped(self.f, Vector(given, wide.width))

    def _of_the_array(self, f: Lam, y: Expr, env: Types) -> Expr | None:
        """What stands for f y at a number y of the array, or a vector of them; None if y is
        neither."""
        try:
            new = retype(y, env, self.seen)
            return new if equal(type_of(new), type_of(f.body)) else None
        except IllTyped:
            return None

    def _padded(self, e: Pad, env: Types) -> Expr:
        """The padding e of an array of f y; IllTyped if it adds numbers, to which f was not
        applied."""
        xs = retype(e.xs, env, self.seen)
        if equal(type_of(xs), type_of(e.xs)):
            return Pad(e.left, e.right, retype(e.value, env, self.seen), xs)
        if not is_crop(e):
            raise IllTyped("expected an array without padding of its own, found some")
        return PadEdge(Edge.ANY, e.left, e.right, xs)


def _parts(f: Lam) -> list[tuple[int | None, Expr]]:
    """The parts of the pair that f gives, with their numbers, or what it gives alone."""
    return [*enumerate(f.body.parts)] if isinstance(f.body, MakeTuple) else [(None, f.body)]


def _argument(f: Lam, part: Expr, e: Expr) -> Expr | None:
    """The term y, where e is this part of f y; else None."""
    assert isinstance(f.pattern, Var)
    if type(e) is not type(part):
        return None
    hole = Var("?y", f.pattern.type)
    pattern = substitute(part, {f.pattern.name: hole})
    found = instance(pattern, frozenset({hole.name}), e)
    return None if found is None else found[hole.name]


@rule("view . map^n f  =  map^m f . view,  a view that adds no numbers")
def map_after_view(e: Expr) -> Expr | None:
    """A view of f of each number of an array becomes f of each number of that view of the array."""
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
    """The place, below views, of a map that computes; None if there is none."""
    if isinstance(e, Map) and not is_view(e.f.body):
        return ()
    if not isinstance(e, SEEN_THROUGH):
        return None
    last = len(children(e)) - 1
    inner = _computed_at(children(e)[last])
    return None if inner is None else (last, *inner)


def _function(e: Expr) -> tuple[Lam | None, Expr]:
    """The function f of single numbers and the array xs, where e is map^n f xs; None for f where it
    is not."""
    match e:
        case Map(Lam(Var(_, Scalar())) as f, xs) if not free(f):
            return f, xs
        case Map(Lam(Var() as row, body), xs):
            inner, rows = _function(body)
            return (inner, xs) if rows == row else (None, xs)
    return None, e


@rule("map^n f . store  =  store . map^n f")
def map_into_store(e: Map) -> Expr | None:
    """A function of each number of what is stored is applied before it is stored."""
    f, xs = _function(e)
    if f is None or not isinstance(xs, Store):
        return None
    return Store(mapped(f, xs.e))
