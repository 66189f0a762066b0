"""A law of chunks: what a step of a reduction reads, as views of one part of an array."""

# key: e view, d dimension that is fixed at the index, x variable

from collections.abc import Callable
from dataclasses import dataclass

from ir.core.nodes import (
    Expr,
    Get,
    Join,
    Lam,
    Lit,
    MakeTuple,
    Map,
    Pad,
    PadEdge,
    Reduce,
    Reorder,
    Slide,
    Split,
    Transpose,
    Var,
    Zip,
)
from ir.core.terms import apply, free, lam, lam2, substitute
from ir.core.type_rules import elem_of, type_of
from ir.core.types import Array, Type
from ir.core.views import is_view
from rewrites.analysis.binder_names import joined, name_of, parts_of, step_patterns
from rewrites.engine.rule import rule
from rewrites.laws.views import swapped


@rule("view  =  map view' . (dimension d outermost),  the outermost index of view only in d")
def planes(e: Expr) -> Expr | None:
    """A view whose outermost index reaches only dimension d of an array becomes a map over that
    dimension, outermost.

    So a chunk of windows becomes windows of a chunk, where elements that windows share are once.
    """
    found = _fixed(e, 0) if is_view(e) and isinstance(type_of(e), Array) else None
    if found is None or (isinstance(e, Map) and e.xs == found.base and found.d == 0):
        return None
    turned = found.base
    for level in reversed(range(found.d)):
        turned = swapped(turned, level)
    row = type_of(turned)
    assert isinstance(row, Array)
    return Map(lam("plane", row.elem, lambda p: substitute(found.e, {MARK: p})), turned)


MARK = "the plane"  # no name of a program


@dataclass(frozen=True, slots=True)
class _Fixed:
    """A term with dimension `d` of the array `base` fixed; in `e` the rest of the base stands as a
    variable."""

    e: Expr
    base: Expr
    d: int


def _fixed(e: Expr, d: int) -> _Fixed | None:
    """The term e at one index of its dimension d, as a term over one array without a dimension;
    None if it is not."""
    match e:
        case Var() | Get(_, Var()):
            return _Fixed(Var(MARK, _without(type_of(e), d)), e, d)
        case Map(Lam(Var() as x, body), xs):
            return _of_map(x, body, xs, d)
        case Transpose(xs):
            inner = _fixed(xs, d if d > 1 else 1 - d)
            return _around(inner, Transpose) if d > 1 else inner
        case Slide(n, s, xs, strict) if d > 1:
            return _around(_fixed(xs, d - 1), lambda r: Slide(n, s, r, strict))
        case Split(n, xs) if d > 1:
            return _around(_fixed(xs, d - 1), lambda r: Split(n, r))
        case Join(xs) if d > 0:
            return _around(_fixed(xs, d + 1), Join)
        case Pad(left, right, Lit() as c, xs) if d > 0:
            return _around(_fixed(xs, d), lambda r: Pad(left, right, c, r))
        case PadEdge(edge, left, right, xs) if d > 0:
            return _around(_fixed(xs, d), lambda r: PadEdge(edge, left, right, r))
        case Reorder(f, xs) if d > 0:
            return _around(_fixed(xs, d), lambda r: Reorder(f, r))
    return None


def _of_map(x: Var, body: Expr, xs: Expr, d: int) -> _Fixed | None:
    if d == 0:
        element = _fixed(xs, 0)
        return _around(element, lambda v: substitute(body, {x.name: v}))
    inner = _fixed(body, d - 1)
    if inner is None or inner.base != x:
        outside = inner is not None and x.name not in free(inner.base)
        return _around(inner, lambda r: Map(Lam(x, r), xs)) if outside else None
    source = _fixed(xs, inner.d + 1)
    if source is None or x.name in free(inner.e):
        return None
    row = type_of(source.e)
    assert isinstance(row, Array)
    rest = lam(x.name, row.elem, lambda v: substitute(inner.e, {MARK: v}))
    return _around(source, lambda r: Map(rest, r))


def _around(inner: _Fixed | None, f: Callable[[Expr], Expr]) -> _Fixed | None:
    return None if inner is None else _Fixed(f(inner.e), inner.base, inner.d)


def _without(t: Type, d: int) -> Type:
    """The array type t without its dimension d."""
    assert isinstance(t, Array)
    return t.elem if d == 0 else Array(_without(t.elem, d - 1), t.size)


@rule("reduce z f . zip(…, map g xs, …)  =  reduce z (acc, x -> f acc (…, g x, …)) . zip(…, xs, …)")
def fuse_reduce_zip(e: Reduce) -> Expr | None:
    match e:
        case Reduce(z, f, Zip(parts)) if any(isinstance(p, Map) for p in parts):
            sources = Zip(tuple(p.xs if isinstance(p, Map) else p for p in parts))

            def step(a: Expr, x: Expr) -> Expr:
                fields = [
                    apply(p.f, Get(i, x)) if isinstance(p, Map) else Get(i, x)
                    for i, p in enumerate(parts)
                ]
                return apply(f, MakeTuple((a, MakeTuple(tuple(fields)))))

            acc, x = step_patterns(f)
            fields = zip(parts, parts_of(x, len(parts)), strict=True)
            own = [name_of(p.f.pattern) if isinstance(p, Map) else name for p, name in fields]
            names = (name_of(acc), joined(own))
            return Reduce(z, lam2(names, (type_of(f.body), elem_of(sources)), step), sources)
    return None
