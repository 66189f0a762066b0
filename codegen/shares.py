"""Private memory for what parallel maps make: each work-item keeps its own share."""

from codegen import places
from codegen.axes import Axis, Owned, Plain, joined
from codegen.places import Allocate, ArrayPlace, Place, Step, TuplePlace, array_place, laid
from codegen.scope import Scope
from ir.nodes import (
    AsScalar,
    Expr,
    Generate,
    Join,
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
    Zip,
)
from ir.terms import subterms
from ir.types import unlift
from ir.typing import elem_of, size_of, type_of


def kept(
    scope: Scope,
    e: Expr,
    allocate: Allocate,
    path: tuple[Step, ...] = (),
    where: tuple[int, ...] = (),
) -> Place:
    """A place for e, in the shape in which its maps make it."""

    def under(axis: Axis, body: Expr) -> Place:
        return ArrayPlace(axis, lambda i: kept(scope, body, allocate, (*path, (axis, i)), where))

    def inside(xs: Expr) -> ArrayPlace:
        return array_place(kept(scope, xs, allocate, path, where))

    if not is_parallel(e):
        return laid(type_of(e), path, allocate, where)
    match e:
        case MapPar(level, dim, f, xs):
            worker = scope.workers[level, dim]
            return under(Owned(_n(xs), worker.id, worker.count), f.body)
        case Map(f, xs) | MapSeq(f, xs):
            return under(Plain(_n(xs)), f.body)
        case Generate(n, f):
            assert isinstance(n, int)
            return under(Plain(n), f.body)
        case ReduceSeq(init, f, _) | Reduce(init, f, _):
            body = f.body if is_parallel(f.body) else init
            return kept(scope, body, allocate, path, where)
        case Let(_, _, body) | ToPrivate(body):
            return kept(scope, body, allocate, path, where)
        case MakeTuple(parts):
            return TuplePlace(
                tuple(kept(scope, p, allocate, path, (*where, k)) for k, p in enumerate(parts))
            )
        case Zip(parts):
            rows = [
                array_place(kept(scope, p, allocate, path, (*where, k)))
                for k, p in enumerate(parts)
            ]
            return ArrayPlace(rows[0].axis, lambda i: TuplePlace(tuple(r.at(i) for r in rows)))
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
                Plain(inner.axis.size // _i(m)),
                lambda c: ArrayPlace(Plain(_i(m)), lambda j: inner.at(c * _i(m) + j)),
            )
        case Transpose(xs):
            return places.transpose_out(inside(xs))
        case AsScalar(xs):
            vectors = inside(xs)
            w = _i(unlift(elem_of(xs))[1])
            return ArrayPlace(
                joined(vectors.axis, Plain(w)),
                lambda j: places.narrowed(vectors.at(j // w), j % w),
            )
    return laid(type_of(e), path, allocate, where)


def is_parallel(e: Expr) -> bool:
    return any(isinstance(inner, MapPar) for inner in subterms(e))


def _n(xs: Expr) -> int:
    return _i(size_of(xs))


def _i(n: object) -> int:
    assert isinstance(n, int)
    return n
