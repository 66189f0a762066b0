"""The adjoint of a program in one parameter, and its gradients, as programs in the language."""

# key: p program, x parameter

from functools import reduce

from ir.core.nodes import (
    Expr,
    Generate,
    Get,
    Lam,
    Let,
    MakeTuple,
    Map,
    PadEdge,
    Param,
    Program,
    Reorder,
    Var,
    Zip,
)
from ir.core.terms import bound_names, free, fresh, lam, subterms
from ir.core.type_rules import elem_of, type_of
from ir.core.types import INT, Array, Scalar, Tuple, Type
from ir.text.suggest import no_such
from rewrites.adjoint.backward import Backward
from rewrites.adjoint.contributions import Contribution
from rewrites.adjoint.gather import gathered
from rewrites.adjoint.made_on_the_way import sum_of
from rewrites.adjoint.notebook import Notebook, leaf, leaf_paths, leaf_type, scalar_in, sizes_in
from rewrites.analysis.affine_access import index
from rewrites.analysis.alpha_equality import apart
from rewrites.analysis.folds import number
from rewrites.engine.strategy import choice, exhaust
from rewrites.laws.lower import replaced
from rewrites.laws.views import SIMPLER, fewest_transposes


def adjoint(p: Program, name: str) -> Program:
    """The program that takes a cotangent of p's result, and gives the cotangent of the parameter
    `name`. p must be linear in that parameter, but for a constant; Refused if it is not."""
    return _backward(p, name, linear=True)


def gradient(p: Program, name: str) -> Program:
    """The program that gives the cotangent of the parameter `name` (reverse mode). It takes a
    cotangent of p's result, and the values of those of p's parameters that it needs."""
    return _backward(p, name, linear=False)


def _backward(p: Program, name: str, linear: bool) -> Program:
    x = next((q.var for q in p.params if q.var.name == name), None)
    if x is None:
        raise no_such("parameter", name, [q.var.name for q in p.params], of=p.name)
    taken = frozenset(q.var.name for q in p.params) | bound_names(p.body)
    body, taken = _edges_named(p.body, taken)
    given = Var(fresh("cotangent", taken), type_of(body))
    book = Notebook(taken | {given.name})
    way = Backward(name, linear, book)
    paths = leaf_paths(given.type)
    arrivals = [a.what for path in paths for a in way.of(body, None, _first(given, path, book))]
    body = _total(arrivals, x.type, book)
    for e, v in reversed(book.lets.items()):
        body = _let(v, e, body)
    body = _simpler(body)
    used = tuple(q for q in p.params if q.var.name in free(body))
    word = "adjoint" if linear else "gradient"
    return Program(f"{p.name}_{word}_{name}", (*used, Param(given)), body)


_simplify = exhaust(choice(*(law() for law in SIMPLER), fewest_transposes()))


def _simpler(e: Expr) -> Expr:
    """The term e without views that cancel each other."""
    done = _simplify(e)
    return done[0] if done else e


def _let(v: Var, e: Expr, body: Expr) -> Expr:
    """The term `let v = e in body`, after the lets that e begins with: what they name is made once,
    however often e and `body` read it."""
    if not isinstance(e, Let):
        return Let(v, e, body)
    f = apart(Lam(e.pattern, e.body), free(body))
    return Let(f.pattern, e.value, _let(v, f.body, body))


def _edges_named(e: Expr, taken: frozenset[str]) -> tuple[Expr, frozenset[str]]:
    """The term e with a let for each array that repeats or reorders elements of parameters; and the
    names `taken`, with those of the lets. So contributions to all uses of such an array are added
    up before they are handed back."""
    params = free(e)
    edges = [s for s in subterms(e) if isinstance(s, PadEdge | Reorder) and free(s) <= params]
    for array in dict.fromkeys(edges):
        v = Var(fresh("edged", taken), type_of(array))
        body = replaced(e, array, v)
        if body != e:
            e, taken = Let(v, array, body), taken | {v.name}
    return e, taken


def _first(given: Var, path: tuple[int, ...], book: Notebook) -> Contribution:
    """The contribution that is first handed back: the cotangent `given` of the program's result,
    each number of its leaf `path` at its own place."""
    sizes = sizes_in(leaf_type(given.type, path))
    own = tuple(book.index(n) for n in sizes)
    at = tuple(map(index, own))
    return Contribution(own, at, (book.read(leaf(given, path), at),), path)


def _total(arrivals: list[Contribution], t: Type, book: Notebook) -> Expr:
    """The value of type t that all these contributions add up to; zeros where nothing arrives."""
    leaves = list[Expr]()
    for path in leaf_paths(t):
        own = [c for c in arrivals if c.path == path]
        sizes, scalar = sizes_in(leaf_type(t, path)), scalar_in(leaf_type(t, path))
        arrays = [gathered(c, sizes, scalar, book) for c in own] or [_zeros(sizes, scalar)]
        leaves.append(reduce(sum_of, arrays))
    return _assembled(t, leaves)


def _assembled(t: Type, leaves: list[Expr]) -> Expr:
    """The value of type t with these leaves, in the order of `leaf_paths`."""
    if leaf_paths(t) == [()]:
        return leaves[0]
    if isinstance(t, Tuple):
        parts, left = list[Expr](), list(leaves)
        for part in t.parts:
            n = len(leaf_paths(part))
            parts.append(_assembled(part, left[:n]))
            left = left[n:]
        return MakeTuple(tuple(parts))
    assert isinstance(t, Array)
    elem, xs = t.elem, Zip(tuple(leaves))
    places = range(len(leaves))
    return Map(lam("x", elem_of(xs), lambda x: _assembled(elem, [Get(k, x) for k in places])), xs)


def _zeros(sizes: tuple[int, ...], scalar: Scalar) -> Expr:
    if not sizes:
        return number(0, scalar)
    return Generate(sizes[0], lam("i", INT, lambda _: _zeros(sizes[1:], scalar)))
