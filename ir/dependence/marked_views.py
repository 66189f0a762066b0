"""Views of marked arrays: the marks of the elements, moved to the places that the view gives
them."""

# key: e term, f function, l r amounts left and right, n size and s step of windows

from collections.abc import Sequence
from functools import reduce
from itertools import accumulate
from math import prod

import numpy as np

from ir.core.nodes import (
    At,
    Edge,
    Expr,
    Generate,
    Join,
    Lam,
    Program,
    Reorder,
    Slide,
    Split,
    Transpose,
)
from ir.core.terms import free, identity
from ir.core.types import INT
from ir.dependence.marked_arrays import (
    Env,
    Node,
    Unknown,
    Value,
    each,
    indices,
    leaves,
    moved,
    seen,
    the_same,
)
from ir.dependence.masks import Places, View, either
from ir.meaning.inputs import known
from ir.meaning.interpret import evaluate
from ir.meaning.layout import edge_places
from ir.meaning.named_axes import Axis, extent


def rearranged(e: Expr, node: Node, env: Env) -> Node:
    """The array that the layout primitive e makes of `node`, with its marks."""
    first, *rest = node.dims
    match e:
        case Transpose():
            return moved(node, (), (), (rest[0], first, *rest[1:]), env)
        case Split(n):
            return seen(node, _all_of((first,), first.size // known(n), known(n)), env)
        case Join():
            return seen(node, _all_of((first, rest[0]), first.size * rest[0].size), env)
        case Slide(n, s):
            return seen(node, _windows(first, known(n), known(s)), env)
        case At(k):
            return seen(node, _placed((first,), (), np.asarray(known(k))), env)
    raise AssertionError(f"expected a view, found {type(e).__name__}")


def _all_of(old: tuple[Axis, ...], *sizes: int) -> View:
    """The view of all elements of the axes `old`, in order, as dimensions of these sizes."""
    new = tuple(map(Axis, sizes))
    return View(old, new, lambda: np.arange(prod(sizes)).reshape(sizes), True, True, True)


def _windows(axis: Axis, n: int, s: int) -> View:
    new = (Axis((axis.size - n) // s + 1), Axis(n))

    def places() -> Places:
        return s * np.arange(new[0].size).reshape(-1, 1) + np.arange(n)

    return View((axis,), new, places, True, n <= s, False)


def _placed(old: tuple[Axis, ...], new: tuple[Axis, ...], places: Places) -> View:
    """The view of the axes `old` whose element at each place of the axes `new` is given by `places`
    (-1: none), each element at most once."""
    return View(old, new, lambda: places, False, True, False)


def reordered(f: Lam, xs: Value, env: Env) -> Value:
    if free(f):
        raise Unknown
    n = leaves(xs)[0].dims[0].size
    index = Program("index", (), Reorder(f, Generate(n, identity(INT))))
    places = np.asarray(evaluate(index, {}), np.int64)
    return each(lambda x: seen(x, _placed(x.dims[:1], (Axis(n),), places), env), xs)


def edge_padded(edge: Edge, l: int, r: int, node: Node, env: Env) -> Node:
    n = node.dims[0].size
    places = edge_places(edge, indices(-l, n + r), n)
    view = View(node.dims[:1], (Axis(len(places)),), lambda: places, False, False, False)
    return seen(node, view, env)


def padded(l: int, r: int, value: Value, xs: Value, env: Env) -> Value:
    if isinstance(xs, tuple):
        values = value if isinstance(value, tuple) else (value,) * len(xs)
        return tuple(padded(l, r, v, x, env) for v, x in zip(values, xs, strict=True))
    assert isinstance(value, Node)
    n, rest = xs.dims[0].size, xs.dims[1:]
    inside = edge_places(Edge.ANY, indices(-l, n + r), n)
    axis = Axis(len(inside))
    around = moved(value, value.dims, rest[: len(value.dims)], rest, env)
    return _together(
        [
            seen(xs, _placed(xs.dims[:1], (axis,), inside), env),
            seen(around, _placed((), (axis,), np.where(inside < 0, 0, -1)), env),
        ],
        env,
    )


def beside(pieces: Sequence[Value], rank: int, env: Env) -> Value:
    """The array of these arrays one behind the other. The first `rank` dimensions of each are taken
    as one, along which they follow each other; if `rank` is 0, each of them is one element of the
    result."""
    first = pieces[0]
    if isinstance(first, tuple):
        columns = ([p[i] for p in pieces if isinstance(p, tuple)] for i in range(len(first)))
        return tuple(beside(column, rank, env) for column in columns)
    nodes = [p for p in pieces if isinstance(p, Node)]
    sizes = [extent(node.dims[:rank]) for node in nodes]
    axis, rest = Axis(sum(sizes)), first.dims[rank:]

    def piece(node: Node, size: int, end: int) -> Node:
        alike = moved(node, node.dims[rank:], rest, (*node.dims[:rank], *rest), env)
        places = edge_places(Edge.ANY, indices(0, axis.size) - (end - size), size)
        return seen(alike, _placed(node.dims[:rank], (axis,), places), env)

    return _together([*map(piece, nodes, sizes, accumulate(sizes))], env)


def _together(parts: Sequence[Node], env: Env) -> Node:
    """The array that combines `parts`, nodes of one shape; at each place, at most one of them has
    an element."""
    axis, rest = parts[0].dims[0], parts[0].dims[1:]
    assert all(part.dims == (axis, *rest) for part in parts)
    live = reduce(either, (part.live for part in parts))
    nonzero = reduce(either, (part.nonzero for part in parts))
    pulls = tuple((part, the_same) for part in parts)
    fixed = all(part.fixed for part in parts)
    return env.tape.add(Node((axis, *rest), env.scope, live, nonzero, fixed, None, pulls))
