"""Laws of views whose outermost index selects a part of an array, a plane or a chunk of planes:
such a view becomes a map over the parts, so that each step of a reduction over it reads a view of
one part."""

# key: e view, d dimension that is fixed at the index, x variable

from collections.abc import Callable
from dataclasses import replace

from ir.core.frozen import frozen
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
from ir.core.size import Size
from ir.core.terms import apply, free, lam, lam2, substitute
from ir.core.type_rules import elem_of, type_of
from ir.core.types import Array, Type
from ir.core.views import is_view
from rewrites.analysis.alpha_equality import alike
from rewrites.analysis.binder_names import joined, name_of, parts_of, step_patterns
from rewrites.engine.rule import rule
from rewrites.laws.views import beneath_maps, swapped


@rule("view  =  map view' . (dimension d outermost),  the outermost index of view only in d")
def planes(e: Expr) -> Expr | None:
    """A view becomes a map over the planes of an array, if each element of the view shows a single
    plane: all that the array has at one index of some dimension. So each step of a sum over
    channels reads windows of one plane."""
    found = _found(e)
    if found is None or found.chunk is not None:
        return None
    if isinstance(e, Map) and e.xs == found.base and found.d == 0:
        return None
    return _of_parts(_outermost(found.base, found.d), found)


@rule(
    "view  =  map view' . (chunks of dimension d outermost),  the outermost index of view a chunk"
)
def chunks_of_planes(e: Expr) -> Expr | None:
    """A view becomes a map over chunks of an array, cut along some dimension, if each element of
    the view shows a single chunk. So each step of a sum over chunks of channels reads windows of a
    part of the array that has only these channels."""
    found = _found(e)
    if found is None or found.chunk is None:
        return None
    chunk = found.chunk
    parts = _outermost(beneath_maps(found.d, lambda r: Split(chunk, r), found.base), found.d)
    return None if isinstance(e, Map) and alike(e.xs, parts) else _of_parts(parts, found)


MARK = "the plane"  # no name of a program


@frozen
class _Fixed:
    """An element of a view: the term e over the variable MARK, which stands for `base` without its
    dimension d, or with only `chunk` elements of that dimension."""

    e: Expr
    base: Expr
    d: int
    chunk: Size | None


def _found(e: Expr) -> _Fixed | None:
    """The element of the view e at one index of e's outermost dimension; None if e is no view, or
    if that index selects neither an index nor a chunk of a dimension of an array."""
    return _fixed(e, 0, None) if is_view(e) and isinstance(type_of(e), Array) else None


def _outermost(e: Expr, d: int) -> Expr:
    """The array e with its dimension d outermost."""
    for level in reversed(range(d)):
        e = swapped(e, level)
    return e


def _of_parts(parts: Expr, found: _Fixed) -> Expr:
    """The view with `found` as its element, as a map over `parts`: the array of all planes, or of
    all chunks, from which the elements are made."""
    return Map(lam("plane", elem_of(parts), lambda p: substitute(found.e, {MARK: p})), parts)


def _fixed(e: Expr, d: int, k: Size | None) -> _Fixed | None:
    """The term e at one index of its dimension d, or with one chunk of k elements of it, as a view
    of one array; None if e is not a view for which this is known."""
    match e:
        case Var() | Get(_, Var()):
            return _Fixed(Var(MARK, _without(type_of(e), d, k)), e, d, k)
        case Map(Lam(Var() as x, body), xs):
            return _of_map(x, body, xs, d, k)
        case Transpose(xs):
            inner = _fixed(xs, d if d > 1 else 1 - d, k)
            return _around(inner, Transpose) if d > 1 or k is not None else inner
        case Slide(n, s, xs, strict) if d > 1:
            return _around(_fixed(xs, d - 1, k), lambda r: Slide(n, s, r, strict))
        case Split(n, xs) if d > 1:
            return _around(_fixed(xs, d - 1, k), lambda r: Split(n, r))
        case Split(n, xs) if d == 0 and k is None:
            return _fixed(xs, 0, n)
        case Join(xs) if d > 0:
            return _around(_fixed(xs, d + 1, k), Join)
        case Pad(left, right, Lit() as c, xs) if d > 0:
            return _around(_fixed(xs, d, k), lambda r: Pad(left, right, c, r))
        case PadEdge(edge, left, right, xs) if d > 0:
            return _around(_fixed(xs, d, k), lambda r: PadEdge(edge, left, right, r))
        case Reorder(f, xs) if d > 0:
            return _around(_fixed(xs, d, k), lambda r: Reorder(f, r))
    return None


def _of_map(x: Var, body: Expr, xs: Expr, d: int, k: Size | None) -> _Fixed | None:
    if d == 0:
        element = _fixed(xs, 0, k)
        if k is None:
            return _around(element, lambda v: substitute(body, {x.name: v}))
        return _around(element, lambda v: Map(Lam(x, body), v))
    inner = _fixed(body, d - 1, k)
    if inner is None or inner.base != x:
        outside = inner is not None and x.name not in free(inner.base)
        return _around(inner, lambda r: Map(Lam(x, r), xs)) if outside else None
    source = _fixed(xs, inner.d + 1, inner.chunk)
    if source is None or x.name in free(inner.e):
        return None
    rest = lam(x.name, elem_of(source.e), lambda v: substitute(inner.e, {MARK: v}))
    return _around(source, lambda r: Map(rest, r))


def _around(inner: _Fixed | None, f: Callable[[Expr], Expr]) -> _Fixed | None:
    return None if inner is None else replace(inner, e=f(inner.e))


def _without(t: Type, d: int, k: Size | None) -> Type:
    """The array type t without its dimension d, or with k elements of it."""
    assert isinstance(t, Array)
    if d > 0:
        return Array(_without(t.elem, d - 1, k), t.size)
    return t.elem if k is None else Array(t.elem, k)


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
