"""Values that are computed once: those of lets, parameters of loops, and results in a memory of
their own."""

# key: e term, env what variables are bound to, p pattern, i index

from collections.abc import Callable
from functools import reduce

from codegen.emit import write_places as places
from codegen.emit.bound_values import (
    Env,
    bound,
    has_choice,
    hint_of,
    is_big,
    is_heavy,
    named,
    uses,
)
from codegen.emit.private_shares import kept
from codegen.emit.read_views import ArrayView, TupleView, View, value
from codegen.emit.recursion import Recursion
from codegen.emit.scope import Scope
from codegen.emit.write_places import Cell, Place, view_of
from codegen.memory.begun_copies import begins, begun
from codegen.tree.array_axes import Plain
from codegen.tree.kernel_values import Value
from codegen.tree.memories import Space
from codegen.tree.statements import Await
from ir.core.nodes import (
    AsScalar,
    AsVector,
    At,
    Concat,
    Expr,
    Get,
    Join,
    Lam,
    Level,
    MakeTuple,
    Map,
    Pad,
    PadEdge,
    Pattern,
    Reduce,
    ReduceSeq,
    Reorder,
    Slide,
    Split,
    Store,
    ToLocal,
    ToPrivate,
    Transpose,
    Var,
    Zip,
)
from ir.core.type_rules import type_of
from ir.core.types import Scalar, Vector
from ir.core.views import is_layout
from ir.errors import Unsupported
from ir.text.show import show


def let(emitter: Recursion, p: Pattern, given: Expr, body: Expr, env: Env) -> Env:
    """The environment in which p is bound to the value of `given`, computed here, once, for its
    uses in `body`."""
    return bound(env, p, once(emitter, p, given, body, env))


def once(emitter: Recursion, p: Pattern, given: Expr, body: Expr, env: Env) -> View:
    """The view of `given`, after statements that compute it, if it computes anything; p is the
    pattern that `given` is bound to in `body`. If p takes a tuple apart, each part of `given` is
    computed by itself."""
    if isinstance(given, MakeTuple) and not isinstance(p, Var):
        parts = zip(p, given.parts, strict=True)
        return TupleView(tuple([once(emitter, q, part, body, env) for q, part in parts]))
    if is_layout(given):
        return emitter.read(given, env)
    if isinstance(type_of(given), Scalar | Vector) and not _made(given):
        return scalar(emitter, p, value(emitter.read(given, env)), body)
    return materialised(emitter, given, env, hint_of(p))


def calling(emitter: Recursion, hint: str, make: Callable[[], View]) -> View:
    """The view that `make()` returns; memory that `make` allocates is named after `hint`."""
    before, emitter.wanted = emitter.wanted, hint
    try:
        return make()
    finally:
        emitter.wanted = before


def scalar(emitter: Recursion, p: Pattern, e: Value, body: Expr) -> Value:
    """The scalar value e, or a variable that holds it, named after p, the pattern that e is bound
    to in `body`. It is a variable if reading e costs something and `body` uses it more than once,
    or once if e contains a choice; inside an expression, only if the text of e is long besides."""
    if not is_heavy(e) or (emitter.scope.by_name and not _is_too_big(emitter, e)):
        return e
    if uses(p, body) < (1 if has_choice(e) else 2):
        return e
    return named(emitter.scope, hint_of(p), e)


def compact(emitter: Recursion, hint: str, x: View) -> View:
    """The view x, in which each scalar or vector whose text is long is replaced by a variable that
    holds it, named after `hint`, so that texts stay in proportion to programs. x may be a tuple; an
    array is left as it is."""
    match x:
        case TupleView(parts):
            return TupleView(tuple([compact(emitter, hint, part) for part in parts]))
        case ArrayView():
            return x
    return named(emitter.scope, hint, x) if _is_too_big(emitter, x) else x


def _is_too_big(emitter: Recursion, e: Value) -> bool:
    """True if the text of e is too long to be repeated. The limit is higher inside an expression
    that is being emitted, where a variable costs more."""
    return is_big(e, 1000 if emitter.scope.by_name else 60)


def entered(emitter: Recursion, f: Lam, x: View, env: Env) -> Env:
    """The environment with f's parameter bound to x at the start of a loop's body."""
    return bound(env, f.pattern, settled(emitter, f.pattern, x, f.body))


def settled(emitter: Recursion, p: Pattern, x: View, body: Expr) -> View:
    """The view x, in which each scalar is replaced by a variable that holds it, if reading it costs
    something and `body` uses it more than once. p is the pattern that x is bound to in `body`. An
    array is left as it is."""
    match x:
        case TupleView(parts) if not isinstance(p, Var):
            pairs = zip(p, parts, strict=True)
            return TupleView(tuple([settled(emitter, q, part, body) for q, part in pairs]))
        case TupleView() | ArrayView():
            return x
    return scalar(emitter, p, x, body)


def materialised(emitter: Recursion, e: Expr, env: Env, hint: str) -> View:
    """The view of e, after statements that compute e into a memory of its own, named after
    `hint`."""
    match e:
        case Store():
            raise Unsupported(
                "expected a store that depends on the program's parameters only, found one that "
                f"depends on variables of a map around it: {_brief(e)}"
            )
        case ToLocal(_, ahead) if ahead:
            raise Unsupported(
                f"{_brief(e)} is not known an iteration ahead: expected `let t = toLocalAhead(…)` "
                "at the head of a reduction's function, with a value that uses neither the "
                "accumulator nor an earlier let; toLocal has no such condition"
            )
        case ToLocal(inner, _, in_flight):
            place = local(emitter, inner, hint)
            fill(emitter, inner, env, place, in_flight)
        case ToPrivate(inner):
            place = private(emitter, inner, hint)
            emitter.emit(inner, env, place)
        case Split() | Join() | Transpose() | Reorder() | AsScalar() | AsVector() | Zip():
            return calling(emitter, hint, lambda: emitter.read(e, env))
        case Slide() | Pad() | PadEdge() | At() | Concat() | Get():
            return calling(emitter, hint, lambda: emitter.read(e, env))
        case Map(f, _) if is_layout(f.body):
            return calling(emitter, hint, lambda: emitter.read(e, env))
        case _:
            place = private(emitter, e, hint)
            emitter.emit(e, env, place)
    return view_of(place)


def fill(emitter: Recursion, e: Expr, env: Env, place: Place, in_flight: bool) -> None:
    """Add statements that compute e into the local memory at `place`; if `in_flight`, by copies
    that are begun and then awaited, where e is read from global memory."""
    if not in_flight:
        emitter.emit(e, env, place)
    elif begin(emitter, e, env, place):
        emitter.scope.add(Await())


def begin(emitter: Recursion, e: Expr, env: Env, place: Place) -> bool:
    """Add statements that compute e into the local memory at `place`, by copies that are begun
    where e is read from global memory; True if there are any."""
    _, filling = emitter.scope.capture(lambda: emitter.emit(e, env, place))
    copies = begun(filling)
    emitter.scope.add(copies)
    return begins(copies)


def private(emitter: Recursion, e: Expr, hint: str) -> Place:
    """A place in private memory, named after `hint`, for one work-item's share of e."""
    place = kept(emitter.scope, e, _allocator(emitter.scope, hint, Space.PRIVATE))
    places.cells(place)  # now, so that it is declared here
    return place


def local(emitter: Recursion, e: Expr, hint: str, halves: int = 1) -> Place:
    """A place in local memory for e, named after `hint`, with cells of its own for each work-item
    along the maps over local ids around e.

    With several `halves` the memory has so many parts of that size: one is read while others are
    filled.
    """
    around = [w for w in emitter.scope.active if w.level is Level.LOCAL and w.count > 1]
    if any(w.level is Level.GLOBAL for w in emitter.scope.workers.values()):
        raise Unsupported(
            "toLocal: expected mapWorkgroup and mapLocal in the kernel, found mapGlobal, whose "
            "work-items share no memory"
        )
    at = reduce(lambda at, w: at.along(Plain(w.count), w.id), around, places.NOWHERE)
    allocate = _allocator(emitter.scope, hint, Space.LOCAL, halves)
    place = places.laid(type_of(e), at, allocate)
    places.cells(place)
    return place


def _allocator(scope: Scope, hint: str, space: Space, halves: int = 1) -> places.Allocate:
    """The function that returns the cells of a memory for a component of a tuple. It declares that
    memory, in `space`, with `halves` equal parts, named after `hint`, when it is first asked for
    the component."""
    made: dict[tuple[int, ...], places.Cells] = {}

    def allocate(where: tuple[int, ...], scalar: str, shape: places.Shape) -> places.Cells:
        if where not in made:
            name = "_".join([hint, *map(str, where)])
            memory = scope.memory(name, space, scalar, shape, halves)
            made[where] = lambda i: Cell(memory, i)
        return made[where]

    return allocate


def _made(e: Expr) -> bool:
    """True if e itself says in which memory its result is stored."""
    return isinstance(e, ToLocal | ToPrivate | Store | ReduceSeq | Reduce)


def _brief(e: Expr) -> str:
    line = " ".join(show(e).split())
    return line if len(line) <= 80 else f"{line[:79]}…"
