"""Private memory for what parallel maps make: each work-item keeps its own share."""

from collections.abc import Mapping

from codegen import places
from codegen.axes import Axis, Owned, Plain, joined, number
from codegen.binding import is_layout
from codegen.places import Allocate, ArrayPlace, Place, Step, TuplePlace, array_place, laid
from codegen.scope import Scope
from ir.nodes import (
    AsScalar,
    Expr,
    Generate,
    Join,
    Lam,
    Let,
    MakeTuple,
    Map,
    MapPar,
    MapSeq,
    Reduce,
    ReduceSeq,
    Split,
    ToPrivate,
    Transpose,
    Var,
    Zip,
)
from ir.terms import free, subterms
from ir.types import unlift
from ir.typing import elem_of, size_of, type_of

NOTHING: Mapping[str, Place] = {}


def kept(
    scope: Scope,
    e: Expr,
    allocate: Allocate,
    path: tuple[Step, ...] = (),
    where: tuple[int, ...] = (),
    known: Mapping[str, Place] = NOTHING,
) -> Place:
    """A place for e, in the shape in which its maps make it; `known`: those of variables."""

    def again(body: Expr, path: tuple[Step, ...], where: tuple[int, ...]) -> Place:
        return kept(scope, body, allocate, path, where, known)

    def under(axis: Axis, body: Expr) -> Place:
        return ArrayPlace(
            axis, lambda i: kept(scope, body, allocate, (*path, (axis, i)), where, known)
        )

    def inside(xs: Expr) -> ArrayPlace:
        return array_place(again(xs, path, where))

    if isinstance(e, Var) and e.name in known:
        return known[e.name]
    if not is_parallel(e) and not free(e) & known.keys():
        return laid(type_of(e), path, allocate, where)
    match e:
        case MapPar(level, dim, f, xs):
            worker = scope.workers[level, dim]
            return under(Owned(number(size_of(xs)), worker.id, worker.count), f.body)
        case Map(Lam(Var(name, _), body), xs) if is_layout(body) and is_parallel(xs):
            rows = inside(xs)
            return ArrayPlace(
                rows.axis,
                lambda i: kept(scope, body, allocate, path, where, {**known, name: rows.at(i)}),
            )
        case Map(f, xs) | MapSeq(f, xs):
            return under(Plain(number(size_of(xs))), f.body)
        case Generate(n, f):
            return under(Plain(number(n)), f.body)
        case ReduceSeq(init, f, _) | Reduce(init, f, _):
            body = f.body if is_parallel(f.body) else init
            return again(body, path, where)
        case Let(_, _, body) | ToPrivate(body):
            return again(body, path, where)
        case MakeTuple(parts):
            return TuplePlace(tuple(again(p, path, (*where, k)) for k, p in enumerate(parts)))
        case Zip(parts):
            columns = [array_place(again(p, path, (*where, k))) for k, p in enumerate(parts)]
            return ArrayPlace(
                columns[0].axis, lambda i: TuplePlace(tuple(c.at(i) for c in columns))
            )
        case Join(xs):
            outer = inside(xs)
            axis = array_place(places.some(outer)).axis
            m = axis.size
            return ArrayPlace(
                joined(outer.axis, axis), lambda i: array_place(outer.at(i // m)).at(i % m)
            )
        case Split(m, xs):
            inner = inside(xs)
            return ArrayPlace(
                Plain(inner.axis.size // number(m)),
                lambda c: ArrayPlace(Plain(number(m)), lambda j: inner.at(c * number(m) + j)),
            )
        case Transpose(xs):
            return places.transpose_out(inside(xs))
        case AsScalar(xs):
            vectors = inside(xs)
            w = number(unlift(elem_of(xs))[1])
            return ArrayPlace(
                joined(vectors.axis, Plain(w)),
                lambda j: places.narrowed(vectors.at(j // w), j % w),
            )
    return laid(type_of(e), path, allocate, where)


def is_parallel(e: Expr) -> bool:
    return any(isinstance(inner, MapPar) for inner in subterms(e))
