"""From terms to statements: a term is read as a view, or emitted to the place where it must go.

`read` follows layouts down to memory and computes nothing that is not asked for; `emit` passes the
destination down, so that results are written where they are wanted. What a parallel or sequential
map or a reduction makes is put in private memory where it is read, unless the term says otherwise.
"""

# key: e term, env what variables are bound to, n size, i index, p pattern

from collections.abc import Callable
from dataclasses import dataclass

from codegen import places, views
from codegen.axes import Axis, Owned, Plain, plain
from codegen.binding import (
    Env,
    bound,
    forms_vectors,
    has_choice,
    hint_of,
    is_heavy,
    is_layout,
    named,
    uses,
)
from codegen.condition import within
from codegen.index import Index, constant, maximum, minimum
from codegen.outward import number, outward
from codegen.places import ArrayPlace, Cell, Place, TuplePlace, array_place, put, view_of
from codegen.scope import Scope
from codegen.shares import kept
from codegen.tree import Number, Space, Unroll, Value, Whole
from codegen.values import binary, unary
from codegen.views import ArrayView, TupleView, View, array, component, value
from ir.errors import Unsupported
from ir.nodes import (
    AsScalar,
    AsVector,
    At,
    Binary,
    Concat,
    Expr,
    Generate,
    Get,
    Join,
    Lam,
    Let,
    Level,
    Lit,
    MakeTuple,
    Map,
    MapPar,
    MapSeq,
    Pad,
    PadEdge,
    Pattern,
    Reduce,
    ReduceSeq,
    Reorder,
    SizeOf,
    Slide,
    Split,
    Store,
    ToLocal,
    ToPrivate,
    Transpose,
    Unary,
    Var,
    Zip,
)
from ir.types import Array, Scalar, Vector, unlift
from ir.typing import elem_of, size_of, type_of


@dataclass(slots=True)
class Emitter:
    """Reads and emits the terms of one kernel."""

    scope: Scope
    wanted: str = "made"  # a name for what is made real

    # ---- reading

    def read(self, e: Expr, env: Env) -> View:
        """What e is, as a function of the indices it is asked at."""
        match e:
            case Var(name, _):
                return env[name]
            case Lit() | SizeOf() | Unary() | Binary():
                return self.arithmetic(e, env)
            case MakeTuple(parts):
                return TupleView(tuple([self.read(part, env) for part in parts]))
            case Get(k, inner):
                return component(self.read(inner, env), k)
            case Let(p, given, body):
                return self.read(body, self.let(p, given, body, env))
            case Map(f, xs):
                return self.delayed(f, array(self.read(xs, env)), env)
            case Generate(n, f):
                return self.delayed(f, _indices(number(n)), env)
            case ReduceSeq() | Reduce():
                return self.reduce(e, env, None)
            case MapPar() | MapSeq() | ToLocal() | ToPrivate() | Store():
                return self.materialised(e, env, self.wanted)
        return self.layout(e, env)

    def layout(self, e: Expr, env: Env) -> View:
        """A view that moves no data."""
        scope = self.scope
        match e:
            case Zip(parts):
                return views.zipped(tuple([array(self.read(part, env)) for part in parts]))
            case Split(m, xs):
                return views.split(number(m), array(self.read(xs, env)))
            case Join(xs):
                return views.join(array(self.read(xs, env)))
            case Slide(size, step, xs, _):
                return views.slide(number(size), number(step), array(self.read(xs, env)))
            case Transpose(xs):
                return views.transpose(array(self.read(xs, env)))
            case Reorder(f, xs):
                inner = array(self.read(xs, env))
                return views.reorder(lambda i: self.index(f, i, env), inner)
            case Concat(a, b):
                left, right = array(self.read(a, env)), array(self.read(b, env))
                return views.concat(scope, elem_of(a), left, right)
            case Pad(left, right, given, xs):
                fill, inner = self.read(given, env), array(self.read(xs, env))
                return views.pad(scope, elem_of(xs), number(left), number(right), fill, inner)
            case PadEdge(edge, left, right, xs):
                inner = array(self.read(xs, env))
                return views.pad_edge(edge, number(left), number(right), inner)
            case At(k, xs):
                return array(self.read(xs, env)).at(constant(number(k)))
            case AsVector(w, xs):
                inner = array(self.read(xs, env))
                return views.as_vector(scope, elem_of(xs), number(w), inner)
            case AsScalar(xs):
                _, w = unlift(elem_of(xs))
                return views.as_scalar(scope, number(w), array(self.read(xs, env)))
        raise Unsupported(f"no code for {type(e).__name__} where a value is expected")

    def delayed(self, f: Lam, xs: ArrayView, env: Env) -> View:
        """map f xs, computed where it is read"""
        axes = (xs.axis, *plain(type_of(f.body)))
        return ArrayView(axes, lambda i: self.read(f.body, bound(env, f.pattern, xs.at(i))))

    def arithmetic(self, e: Expr, env: Env) -> Value:
        match e:
            case Lit(given, scalar):
                if scalar.name == "int":
                    return Whole(constant(int(given)))
                return Number(float(given), scalar.name)
            case SizeOf(n):
                return Whole(constant(number(n)))
            case Unary(op, a):
                x = value(self.read(a, env))
                return Whole(-x.index) if op == "neg" and isinstance(x, Whole) else unary(op, x)
            case Binary(op, a, b):
                x, y = value(self.read(a, env)), value(self.read(b, env))
                if isinstance(x, Whole) and isinstance(y, Whole):
                    known = _on_indices(op, x.index, y.index)
                    if known is not None:
                        return Whole(known)
                return binary(op, x, y)
        raise AssertionError(f"expected arithmetic, found {type(e).__name__}")

    def index(self, f: Lam, i: Index, env: Env) -> Index:
        """f(i), for an index function"""
        found = self.read(f.body, bound(env, f.pattern, Whole(i)))
        if not isinstance(found, Whole):
            raise Unsupported("reorder: its index function is not arithmetic on known sizes")
        return found.index

    # ---- binding

    def let(self, p: Pattern, given: Expr, body: Expr, env: Env) -> Env:
        """let p = given, computed here and once."""
        return bound(env, p, self.once(p, given, body, env))

    def once(self, p: Pattern, given: Expr, body: Expr, env: Env) -> View:
        if isinstance(given, MakeTuple) and not isinstance(p, Var):
            parts = zip(p, given.parts, strict=True)
            return TupleView(tuple([self.once(q, part, body, env) for q, part in parts]))
        if is_layout(given):
            return self.read(given, env)
        if isinstance(type_of(given), Scalar | Vector) and not _made(given):
            return self.scalar(p, value(self.read(given, env)), body)
        return self.materialised(given, env, hint_of(p))

    def calling(self, hint: str, make: Callable[[], View]) -> View:
        """make(), what it makes real getting this name"""
        before, self.wanted = self.wanted, hint
        try:
            return make()
        finally:
            self.wanted = before

    def scalar(self, p: Pattern, e: Value, body: Expr) -> Value:
        """A scalar under its name, where it is used more than once or is a choice."""
        if self.scope.by_name or not is_heavy(e):
            return e
        if uses(p, body) < (1 if has_choice(e) else 2):
            return e
        return named(self.scope, hint_of(p), e)

    def entered(self, f: Lam, x: View, env: Env) -> Env:
        """f's parameter bound to x at the start of a loop's body."""
        return bound(env, f.pattern, self.settled(f.pattern, x, f.body))

    def settled(self, p: Pattern, x: View, body: Expr) -> View:
        match x:
            case TupleView(parts) if not isinstance(p, Var):
                pairs = zip(p, parts, strict=True)
                return TupleView(tuple([self.settled(q, part, body) for q, part in pairs]))
            case TupleView() | ArrayView():
                return x
        return self.scalar(p, x, body)

    # ---- making real

    def materialised(self, e: Expr, env: Env, hint: str) -> View:
        """e computed into memory of its own."""
        match e:
            case Store():
                raise Unsupported(
                    "store depends on the variables of a map around it; expected one that depends "
                    "on the program's parameters only"
                )
            case ToLocal(inner, _):
                place = self.local(inner, hint)
                self.emit(inner, env, place)
            case ToPrivate(inner):
                place = self.private(inner, hint)
                self.emit(inner, env, place)
            case Split() | Join() | Transpose() | Reorder() | AsScalar() | AsVector() | Zip():
                return self.calling(hint, lambda: self.read(e, env))
            case Slide() | Pad() | PadEdge() | At() | Concat() | Get():
                return self.calling(hint, lambda: self.read(e, env))
            case Map(f, _) if is_layout(f.body):
                return self.calling(hint, lambda: self.read(e, env))
            case _:
                place = self.private(e, hint)
                self.emit(e, env, place)
        return view_of(place)

    def private(self, e: Expr, hint: str) -> Place:
        """Private memory for one work-item's share of e."""
        made: dict[tuple[int, ...], places.Cells] = {}

        def allocate(where: tuple[int, ...], scalar: str, shape: places.Shape) -> places.Cells:
            if where not in made:
                name = "_".join([hint, *map(str, where)])
                memory = self.scope.memory(name, Space.PRIVATE, scalar, shape)
                made[where] = lambda i: Cell(memory, i)
            return made[where]

        place = kept(self.scope, e, allocate)
        places.cells(place)
        return place

    def local(self, e: Expr, hint: str, halves: int = 1) -> Place:
        """Local memory for e: one for each of the parallel maps around it that share a group."""
        around = [w for w in self.scope.active if w.level is Level.LOCAL and w.count > 1]
        if any(w.level is Level.GLOBAL and w.count > 1 for w in self.scope.active):
            raise Unsupported("toLocal inside mapGlobal: expected it inside mapWorkgroup")
        made: dict[tuple[int, ...], places.Cells] = {}

        def allocate(where: tuple[int, ...], scalar: str, shape: places.Shape) -> places.Cells:
            if where not in made:
                name = "_".join([hint, *map(str, where)])
                memory = self.scope.memory(name, Space.LOCAL, scalar, shape, halves)
                made[where] = lambda i: Cell(memory, i)
            return made[where]

        path: tuple[tuple[Axis, Index], ...] = tuple((Plain(w.count), w.id) for w in around)
        place = places.laid(type_of(e), path, allocate)
        places.cells(place)
        return place

    # ---- emitting

    def emit(self, e: Expr, env: Env, to: Place) -> None:
        """Statements after which e is at its place."""
        match e:
            case MapPar(level, dim, f, xs):
                self.parallel(level, dim, f, array(self.read(xs, env)), env, to)
            case Map(f, xs) if is_layout(xs) or not is_layout(f.body):
                self.sequential(f, array(self.read(xs, env)), env, to, Unroll.FREE)
            case MapSeq(f, xs, unrolled):
                how = Unroll.YES if unrolled else Unroll.NO
                self.sequential(f, array(self.read(xs, env)), env, to, how)
            case Generate(n, f):
                self.sequential(f, _indices(number(n)), env, to, Unroll.FREE)
            case ReduceSeq() | Reduce():
                self.reduce(e, env, to)
            case Let(p, given, body):
                self.emit(body, self.let(p, given, body, env), to)
            case MakeTuple(parts):
                for part, place in zip(parts, _parts(to), strict=True):
                    self.emit(part, env, place)
            case ToPrivate(inner) if _is_private(to):
                self.emit(inner, env, to)
            case _:
                self.emit_layout(e, env, to)

    def emit_layout(self, e: Expr, env: Env, to: Place) -> None:
        """A view on the way out: its inverse, on the place; else a copy."""
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
        """The inside shifted, what a crop drops guarded away, and the margins filled."""
        n = number(size_of(xs))
        total = left + n + right
        self.emit(xs, env, places.shift_out(left, lambda j: within(j, 0, total), n, to))
        fill = self.read(given, env)
        for start, count in ((0, left), (left + n, right)):
            if count > 0:
                margin = places.shift_out(start, None, count, to)
                self.copy(views.spread(Array(elem_of(xs), count), fill), margin)

    def parallel(self, level: Level, dim: int, f: Lam, xs: ArrayView, env: Env, to: Place) -> None:
        worker, place = self.scope.workers[level, dim], array_place(to)
        if worker in self.scope.active:
            raise Unsupported(f"{level.value}({dim}) inside {level.value}({dim})")
        if _is_private(place) and worker.count > 1 and not _owns(place.axis, worker.id):
            raise Unsupported(
                f"the result of {level.value}({dim}) is rearranged in private memory, where each "
                "work-item has its own share; expected toLocal, or the view outside the map"
            )
        self.scope.each(
            _loop_hint(f),
            Owned(xs.axis.size, worker.id, worker.count),
            lambda i: self.emit(f.body, self.entered(f, xs.at(i), env), place.at(i)),
        )

    def sequential(self, f: Lam, xs: ArrayView, env: Env, to: Place, how: Unroll) -> None:
        place = array_place(to)
        self.scope.each(
            _loop_hint(f),
            _whose(xs.axis, place.axis),
            lambda i: self.emit(f.body, self.entered(f, xs.at(i), env), place.at(i)),
            how,
        )

    def copy(self, view: View, to: Place) -> None:
        """to = view, element by element"""
        match view, to:
            case ArrayView(), ArrayPlace(axis, at):
                whose = _whose(view.axis, axis)
                self.scope.each("i", whose, lambda i: self.copy(view.at(i), at(i)))
            case TupleView(parts), TuplePlace(inner):
                for part, place in zip(parts, inner, strict=True):
                    self.copy(part, place)
            case _:
                put(self.scope, to, value(view))

    def reduce(self, e: ReduceSeq | Reduce, env: Env, to: Place | None) -> View:
        from codegen.reductions import reduce

        return reduce(self, e, env, to)


def _indices(n: int) -> ArrayView:
    return ArrayView((Plain(n),), Whole)


def _whose(read: Axis, written: Axis) -> Axis:
    """A share that is read or written decides which elements a work-item visits."""
    return read if isinstance(written, Plain) and read.size == written.size else written


def _owns(axis: Axis, owner: Index) -> bool:
    return isinstance(axis, Owned) and axis.id == owner


def _is_private(place: Place) -> bool:
    return all(cell.memory.space is Space.PRIVATE for cell in places.cells(place))


def _made(e: Expr) -> bool:
    """Whether e says where it is to be made real."""
    return isinstance(e, ToLocal | ToPrivate | Store | ReduceSeq | Reduce)


def _parts(place: Place) -> tuple[Place, ...]:
    assert isinstance(place, TuplePlace)
    return place.parts


def _loop_hint(f: Lam) -> str:
    return f"i_{hint_of(f.pattern)}"


def _on_indices(op: str, x: Index, y: Index) -> Index | None:
    """Index arithmetic on ints, where it has the operation."""
    match op:
        case "+":
            return x + y
        case "-":
            return x - y
        case "*":
            return x * y
        case "max":
            return maximum(x, y)
        case "min":
            return minimum(x, y)
        case "/" if y.is_constant and y.constant > 0:
            return x // y
        case "%" if y.is_constant and y.constant > 0:
            return x % y
    return None
