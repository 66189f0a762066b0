"""Views through which results are written: where the elements of xs go if a view of xs goes to a
place."""

# key: e a view, xs what it is a view of, to where it goes, n m sizes

from collections.abc import Callable

from codegen.emit import write_places as places
from codegen.emit.bound_values import Env
from codegen.emit.recursion import Recursion
from codegen.emit.write_places import ArrayPlace, Place, array_place
from codegen.index.condition import within
from codegen.index.index import Index
from codegen.index.inverse_bijection import inverse
from codegen.tree.array_axes import Plain, number
from codegen.tree.index_functions import index_at
from ir.core.nodes import (
    AsScalar,
    AsVector,
    Edge,
    Expr,
    Join,
    Lam,
    Map,
    Pad,
    PadEdge,
    Reorder,
    Split,
    Transpose,
    Var,
)
from ir.core.size import Size
from ir.core.terms import free
from ir.core.type_rules import elem_of, size_of
from ir.core.types import Array, unlift


def outward(emitter: Recursion, e: Expr, env: Env, to: Place) -> tuple[Expr, Place] | None:
    """The term that e is a view of, and the place where this term goes if e goes to `to`; None if e
    is no view that has an inverse."""
    match e:
        case Split(m, xs):
            return xs, places.split_out(number(m), to)
        case Join(xs):
            inner = elem_of(xs)
            assert isinstance(inner, Array)
            return xs, places.join_out(number(size_of(xs)), number(inner.size), to)
        case Transpose(xs):
            return xs, places.transpose_out(to)
        case Reorder(f, xs):
            return _reordered(f, xs, to)
        case AsVector(w, xs):
            return xs, places.lanes_out(number(w), to)
        case AsScalar(xs):
            w = number(unlift(elem_of(xs))[1])
            return xs, places.vectors_out(emitter.scope, number(size_of(xs)), w, to)
        case PadEdge(Edge.ANY, left, right, xs) if _is_room(left, right):
            return xs, places.shift_out(number(left), None, number(size_of(xs)), to)
        case Pad(left, right, _, xs) | PadEdge(_, left, right, xs):
            return _cropped(number(left), number(right), xs, to)
        case Map(Lam(Var(name, _), body), xs) if free(body) == {name}:
            return _each(emitter, name, body, xs, env, to)
    return None


def _reordered(f: Lam, xs: Expr, to: Place) -> tuple[Expr, Place] | None:
    back = _inverse(f, xs)
    if back is None:
        return None
    place = array_place(to)
    return xs, ArrayPlace(Plain(number(size_of(xs))), lambda j: place.at(back(j)))


def _cropped(left: int, right: int, xs: Expr, to: Place) -> tuple[Expr, Place] | None:
    """The array xs and the place where it goes if a crop of it, by -left and -right elements, goes
    to `to`: element j goes to j + left, unless it is cropped. None if an amount is positive: that
    is no crop."""
    if left > 0 or right > 0:
        return None
    n = number(size_of(xs))
    return xs, places.shift_out(left, lambda j: within(j, 0, left + n + right), n, to)


def _each(
    emitter: Recursion, name: str, body: Expr, xs: Expr, env: Env, to: Place
) -> tuple[Expr, Place] | None:
    """The array xs and the place where it goes if map (name -> body) xs goes to `to`, where `body`
    is a view; None if that has no inverse."""
    if not _shows(name, body):
        return None
    place = array_place(to)
    return xs, ArrayPlace(place.axis, lambda i: _through(emitter, name, body, env, place.at(i)))


def _through(emitter: Recursion, name: str, e: Expr, env: Env, to: Place) -> Place:
    """The place where the variable `name` goes if e, a chain of views of that variable, goes to
    `to`."""
    while not isinstance(e, Var):
        step = outward(emitter, e, env, to)
        assert step is not None
        e, to = step
    return to


def _is_room(left: Size, right: Size) -> bool:
    """True if a `pad_any` of these amounts takes nothing away: what it adds may be anything, so it
    is left as it is where the padding is written."""
    return number(left) >= 0 and number(right) >= 0


def _shows(name: str, e: Expr) -> bool:
    """True if e is a chain of views of the variable `name`, each of which has an inverse."""
    match e:
        case Var(found, _):
            return found == name
        case Split(_, xs) | Join(xs) | Transpose(xs) | AsVector(_, xs) | AsScalar(xs):
            return _shows(name, xs)
        case PadEdge(Edge.ANY, left, right, xs) if _is_room(left, right):
            return _shows(name, xs)
        case Pad(left, right, _, xs) | PadEdge(_, left, right, xs):
            return number(left) <= 0 and number(right) <= 0 and _shows(name, xs)
        case Reorder(f, xs):
            return _inverse(f, xs) is not None and _shows(name, xs)
        case Map(Lam(Var(inner, _), body), xs) if free(body) == {inner}:
            return _shows(inner, body) and _shows(name, xs)
    return False


def _inverse(f: Lam, xs: Expr) -> Callable[[Index], Index] | None:
    return inverse(lambda i: index_at(f, i), number(size_of(xs)))
