"""Places in private memory for what parallel maps make: each work-item keeps its own share."""

from collections.abc import Mapping
from dataclasses import replace

from codegen.emit import write_places as places
from codegen.emit.scope import Scope
from codegen.emit.write_places import (
    NOWHERE,
    Allocate,
    ArrayPlace,
    Place,
    TuplePlace,
    Walked,
    array_place,
    laid,
)
from codegen.tree.array_axes import Axis, Owned, Plain, joined, number
from ir.core.frozen import frozen
from ir.core.instruction import Instruct, Instruction
from ir.core.nodes import (
    AsScalar,
    Expr,
    Generate,
    Join,
    Lam,
    Let,
    Level,
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
from ir.core.terms import children, free, once
from ir.core.type_rules import elem_of, size_of, type_of
from ir.core.types import Type, unlift
from ir.core.views import is_layout
from ir.errors import Unsupported


def kept(scope: Scope, e: Expr, allocate: Allocate) -> Place:
    """A place in private memory, made by `allocate`, for one work-item's share of the value of e:
    each parallel map in e gives it an axis that work-items divide."""
    return _Shares(scope, allocate, NOWHERE, (), {}).of(e)


@frozen
class _Shares:
    """The maker of places in private memory, by `allocate`, for values that are computed inside the
    array dimensions `at`, each of which is an axis. A value that is a component of tuples has the
    path `where`, the numbers of these components from the outermost tuple in.

    `known` has the places of those variables, by name, that already have one.
    """

    scope: Scope
    allocate: Allocate
    at: Walked
    where: tuple[int, ...]
    known: Mapping[str, Place]

    def of(self, e: Expr) -> Place:
        """The place of e: the place of the variable, if e is one that has a place; the place that
        `made` gives, if work-items divide the elements of e; else row-major memory for all of e."""
        if isinstance(e, Var) and e.name in self.known:
            return self.known[e.name]
        if is_parallel(e) or free(e) & self.known.keys():
            place = self.made(e) or self.arranged(e)
            if place is not None:
                return place
        return laid(type_of(e), self.at, self.allocate, self.where)

    def made(self, e: Expr) -> Place | None:
        """The place of e, in which each element belongs to the work-item that computes it, and is
        kept by that one alone; None if e computes nothing itself."""
        match e:
            case MapPar(level, dim, f, xs):
                worker = self.scope.workers[level, dim]
                return self.along(Owned(number(size_of(xs)), worker.id, worker.count), f.body)
            case Instruct(instruction, _) if e.together:
                axis = lanes(self.scope, instruction)
                return ArrayPlace(axis, lambda i: self.held(elem_of(e), self.at.along(axis, i)))
            case Map(Lam(Var(), body) as f, xs) if is_layout(body) and is_parallel(xs):
                return self.rearranged(f, xs)
            case Map(f, xs) | MapSeq(f, xs):
                return self.along(Plain(number(size_of(xs))), f.body)
            case Generate(n, f):
                return self.along(Plain(number(n)), f.body)
            case ReduceSeq(init, f, _) | Reduce(init, f, _):
                return self.of(f.body if is_parallel(f.body) else init)
            case Let(_, _, body) | ToPrivate(body):
                return self.of(body)
            case MakeTuple(parts):
                return TuplePlace(self.parts(parts))
        return None

    def arranged(self, e: Expr) -> Place | None:
        """The place of e if e is a view of a computed term: that term's place, seen through the
        view; else None."""
        match e:
            case Zip(parts):
                columns = tuple(map(array_place, self.parts(parts)))
                return ArrayPlace(
                    columns[0].axis, lambda i: TuplePlace(tuple(c.at(i) for c in columns))
                )
            case Join(xs):
                return _joined(self.array(xs))
            case Split(m, xs):
                return _split(number(m), self.array(xs))
            case Transpose(xs):
                return places.transpose_out(self.array(xs))
            case AsScalar(xs):
                return _scalars(number(unlift(elem_of(xs))[1]), self.array(xs))
        return None

    def array(self, e: Expr) -> ArrayPlace:
        return array_place(self.of(e))

    def held(self, t: Type, at: Walked) -> Place:
        """The place of an element of an instruction's result, in the memory of the lane that holds
        it; t is the element's type, and `at` the axes around it."""
        return laid(t, at, self.allocate, self.where)

    def along(self, axis: Axis, body: Expr) -> Place:
        """The place of an array with the axis `axis`; each element is computed by the term
        `body`."""
        return ArrayPlace(axis, lambda i: replace(self, at=self.at.along(axis, i)).of(body))

    def rearranged(self, f: Lam, xs: Expr) -> Place:
        """The place of map(row -> view(row), xs): each row's place, seen through the view."""
        assert isinstance(f.pattern, Var)
        name, rows = f.pattern.name, self.array(xs)
        return ArrayPlace(
            rows.axis,
            lambda i: replace(self, known={**self.known, name: rows.at(i)}).of(f.body),
        )

    def parts(self, parts: tuple[Expr, ...]) -> tuple[Place, ...]:
        """The places of the parts of a tuple, each in memory of its own."""
        return tuple(
            [replace(self, where=(*self.where, k)).of(part) for k, part in enumerate(parts)]
        )


def _joined(rows: ArrayPlace) -> Place:
    inner = array_place(places.some(rows)).axis
    m = inner.size
    return ArrayPlace(joined(rows.axis, inner), lambda i: array_place(rows.at(i // m)).at(i % m))


def _split(m: int, xs: ArrayPlace) -> Place:
    return ArrayPlace(
        Plain(xs.axis.size // m),
        lambda c: ArrayPlace(Plain(m), lambda j: xs.at(c * m + j)),
    )


def _scalars(width: int, vectors: ArrayPlace) -> Place:
    return ArrayPlace(
        joined(vectors.axis, Plain(width)),
        lambda j: places.narrowed(vectors.at(j // width), j % width),
    )


def lanes(scope: Scope, instruction: Instruction) -> Owned:
    """The axis of the operands of `instruction`, with an element for each lane of a sub-group. The
    lanes are all work-items along dimension 0 of a group; Unsupported is raised if these are more
    or fewer than the instruction has lanes."""
    worker = scope.workers.get((Level.LOCAL, 0))
    if worker is None or worker.count != instruction.lanes:
        raise Unsupported(
            f"{instruction.name} is carried out by {instruction.lanes} lanes: expected as many "
            f"work-items along dimension 0 of a group, found {worker.count if worker else 1}"
        )
    return Owned(instruction.lanes, worker.id, worker.count)


@once
def is_parallel(e: Expr) -> bool:
    """True if a parallel map or an instruction of several lanes is e, or is inside e."""
    here = e.together if isinstance(e, Instruct) else isinstance(e, MapPar)
    return here or any(map(is_parallel, children(e)))
