"""The emitter: a term is read as a view, or emitted as statements that put its value at a place.

`read` follows layouts down to memory and computes nothing that is not asked for; `emit` passes the
destination down, so that results are written where they are wanted. What a parallel or sequential
map or a reduction makes is put in private memory where it is read, unless the term says otherwise.
"""

# key: e term, env what variables are bound to, n size, i index, p pattern

from dataclasses import dataclass

from codegen.emit import materialise as making
from codegen.emit import read_terms as reading
from codegen.emit import read_views as views
from codegen.emit import write_places as places
from codegen.emit.bound_values import (
    Env,
    forms_vectors,
    hint_of,
)
from codegen.emit.instructions import carry_out
from codegen.emit.read_views import ArrayView, TupleView, View, array, value
from codegen.emit.reductions import reduce
from codegen.emit.scope import Scope
from codegen.emit.write_places import ArrayPlace, Place, TuplePlace, array_place, put
from codegen.emit.write_views import outward
from codegen.index.condition import within
from codegen.index.index import Index, constant
from codegen.tree.array_axes import Axis, Owned, Plain, number, owners
from codegen.tree.emitted_names import loop
from codegen.tree.memories import Space
from codegen.tree.statements import Unroll
from ir.core.instruction import Instruct
from ir.core.nodes import (
    Concat,
    Expr,
    Generate,
    Lam,
    Let,
    Level,
    MakeArray,
    MakeTuple,
    Map,
    MapPar,
    MapSeq,
    Pad,
    Reduce,
    ReduceSeq,
    ToPrivate,
    Zip,
)
from ir.core.type_rules import elem_of, size_of
from ir.core.views import is_layout
from ir.errors import Unsupported


@dataclass(slots=True)
class Emitter:
    """The emitter of one kernel: it reads and emits terms. Memory that it allocates for a term is
    named after `wanted`."""

    scope: Scope
    wanted: str = "made"  # a name for what is made real

    def read(self, e: Expr, env: Env) -> View:
        """The view of e: its value as a function of the indices of an element."""
        return reading.read(self, e, env)

    def emit(self, e: Expr, env: Env, to: Place) -> None:
        """Add statements that put the value of e at a place."""
        match e:
            case MapPar(level, dim, f, xs):
                self.parallel(level, dim, f, array(self.read(xs, env)), env, to)
            case Map(f, xs) if is_layout(xs) or not is_layout(f.body):
                self.sequential(f, array(self.read(xs, env)), env, to, Unroll.FREE)
            case MapSeq(f, xs, unrolled):
                how = Unroll.YES if unrolled else Unroll.NO
                self.sequential(f, array(self.read(xs, env)), env, to, how)
            case Generate(n, f):
                self.sequential(f, reading.indices(number(n)), env, to, Unroll.FREE)
            case ReduceSeq() | Reduce():
                reduce(self, e, env, to)
            case Let(p, given, body):
                self.emit(body, making.let(self, p, given, body, env), to)
            case MakeArray(parts) if not is_layout(e):
                for k, part in enumerate(parts):
                    self.emit(part, env, array_place(to).at(constant(k)))
            case MakeTuple(parts):
                for part, place in zip(parts, _parts(to), strict=True):
                    self.emit(part, env, place)
            case Instruct() if e.together:
                carry_out(self, e, env, to)
            case ToPrivate(inner) if _is_private(to):
                self.emit(inner, env, to)
            case _:
                self.emit_layout(e, env, to)

    def emit_layout(self, e: Expr, env: Env, to: Place) -> None:
        """Add statements that put the value of the view e at the place `to`: through the inverse of
        the view, or, if it has none, by copying element by element."""
        if is_layout(e) or forms_vectors(e):
            self.copy(self.read(e, env), to)
            return
        step = outward(self, e, env, to)
        if step is not None:
            self.emit(step[0], env, step[1])
            return
        match e:
            case Zip(parts):
                for k, part in enumerate(parts):
                    self.emit(part, env, places.part(to, k))
            case Concat(a, b):
                n = number(size_of(a))
                self.emit(a, env, places.shift_out(0, None, n, to))
                self.emit(b, env, places.shift_out(n, None, number(size_of(b)), to))
            case Pad(left, right, given, xs):
                self.pad_out(number(left), number(right), given, xs, env, to)
            case _:
                self.copy(self.read(e, env), to)

    def pad_out(self, left: int, right: int, given: Expr, xs: Expr, env: Env, to: Place) -> None:
        """Add statements that put the array xs, padded by `left` and `right` elements of value
        `given`, at the place `to`; an amount below 0 crops: elements of xs are then stored under a
        guard."""
        n = number(size_of(xs))
        total = left + n + right
        self.emit(xs, env, places.shift_out(left, lambda j: within(j, 0, total), n, to))
        fill = self.read(given, env)
        for start, count in ((0, left), (left + n, right)):
            if count > 0:
                margin = places.shift_out(start, None, count, to)
                self.copy(views.repeated(count, elem_of(xs), fill), margin)

    def parallel(self, level: Level, dim: int, f: Lam, xs: ArrayView, env: Env, to: Place) -> None:
        """Add statements by which the work-items or groups (`level`) of dimension `dim` each
        compute f for their elements of xs, and put the results at the place `to`. Raises
        Unsupported if that place cannot take what each of them makes."""
        worker, place = self.scope.workers[level, dim], array_place(to)
        if worker in self.scope.active:
            raise Unsupported(
                f"expected parallel maps inside each other to differ in level or dimension, found "
                f"{level.value}({dim}) inside {level.value}({dim})"
            )
        if level is Level.GROUP and worker.count > 1 and _is_local(place):
            raise Unsupported(
                f"expected toLocal of what mapLocal makes, found that {level.value}({dim}) makes "
                "it: groups have no local memory in common"
            )
        if _is_private(place) and worker.count > 1 and not _owns(place.axis, worker.id):
            raise Unsupported(
                f"a view rearranges the result of {level.value}({dim}) in private memory, where "
                "each work-item keeps what it made itself; expected toLocal instead of toPrivate, "
                "or the view outside toPrivate"
            )
        self.scope.each(
            _loop_hint(f),
            Owned(xs.axis.size, worker.id, worker.count),
            lambda i: self.emit(f.body, making.entered(self, f, xs.at(i), env), place.at(i)),
        )

    def sequential(self, f: Lam, xs: ArrayView, env: Env, to: Place, how: Unroll) -> None:
        """Add a loop that computes f(x) for each element x of xs, and puts the results at the place
        `to`; `how` says whether the loop is unrolled."""
        place = array_place(to)
        self.scope.each(
            _loop_hint(f),
            self.whose(xs.axis, place),
            lambda i: self.emit(f.body, making.entered(self, f, xs.at(i), env), place.at(i)),
            how,
        )

    def whose(self, read: Axis, place: ArrayPlace) -> Axis:
        """The axis by which work-items divide the elements that they copy to `place` from an array
        with the axis `read`.

        Mostly it is the axis of `place`. But if work-items divide the array's elements among them
        by an id that no map around uses, and all of them see the whole place, it is `read`: each
        then copies the elements that it has.
        """
        if not isinstance(place.axis, Plain) or isinstance(read, Plain):
            return place.axis
        told_apart = any(w.id in owners(read) for w in self.scope.active)
        return place.axis if told_apart or _is_private(place) else read

    def copy(self, view: View, to: Place) -> None:
        """Add statements that copy a view to a place, element by element."""
        match view, to:
            case ArrayView(), ArrayPlace(at=at):
                whose = self.whose(view.axis, to)
                self.scope.each("i", whose, lambda i: self.copy(view.at(i), at(i)))
            case TupleView(parts), TuplePlace(inner):
                for part, place in zip(parts, inner, strict=True):
                    self.copy(part, place)
            case _:
                put(self.scope, to, value(view))


def _owns(axis: Axis, owner: Index) -> bool:
    return isinstance(axis, Owned) and axis.id == owner


def _is_private(place: Place) -> bool:
    return all(cell.memory.space is Space.PRIVATE for cell in places.cells(place))


def _is_local(place: Place) -> bool:
    return any(cell.memory.space is Space.LOCAL for cell in places.cells(place))


def _parts(place: Place) -> tuple[Place, ...]:
    assert isinstance(place, TuplePlace)
    return place.parts


def _loop_hint(f: Lam) -> str:
    return loop(hint_of(f.pattern))
