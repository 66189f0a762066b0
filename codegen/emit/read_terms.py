"""The reading of terms as views: nothing is computed that is not asked for, and layouts move no
data."""

# key: e term, env what variables are bound to, n size, i index, w width

from math import prod

from codegen.emit import materialise as making
from codegen.emit import read_views as views
from codegen.emit.bound_values import Env, bound, hint_of
from codegen.emit.read_views import ArrayView, TupleView, View, array, component, value
from codegen.emit.recursion import Recursion
from codegen.emit.reductions import reduce
from codegen.emit.scope import Mark
from codegen.index.condition import at_least, less
from codegen.index.index import Index, assume, constant
from codegen.tree.array_axes import Axis, Plain, number, plain
from codegen.tree.index_functions import arithmetic as index_arithmetic
from codegen.tree.index_functions import index_at
from codegen.tree.kernel_values import Call, Kind, Load, Number, Value, Whole
from codegen.tree.value_builders import binary, chosen, conversion, unary
from ir.core.conversions import CONVERSIONS
from ir.core.instruction import Instruct
from ir.core.nodes import (
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
    Lit,
    MakeArray,
    MakeTuple,
    Map,
    MapPar,
    MapSeq,
    Pad,
    PadEdge,
    Reduce,
    ReduceSeq,
    Reorder,
    Select,
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
from ir.core.type_rules import elem_of, type_of
from ir.core.types import INT_LARGEST, INT_LEAST, Scalar, is_whole, unlift
from ir.core.views import is_table
from ir.errors import Unsupported


def read(emitter: Recursion, e: Expr, env: Env) -> View:
    """The view of e: its value as a function of the indices of an element."""
    match e:
        case Var(name, _):
            return env[name]
        case Lit() | SizeOf() | Unary() | Binary() | Select():
            return arithmetic(emitter, e, env)
        case MakeArray(parts):
            return listed(emitter, e, parts, env)
        case MakeTuple(parts):
            return TupleView(tuple([emitter.read(part, env) for part in parts]))
        case Get(k, inner):
            return component(emitter.read(inner, env), k)
        case Let(p, given, body):
            return emitter.read(body, making.let(emitter, p, given, body, env))
        case Map(f, xs):
            return delayed(emitter, f, array(emitter.read(xs, env)), env)
        case Generate(n, f):
            return delayed(emitter, f, indices(number(n)), env)
        case ReduceSeq() | Reduce():
            return reduce(emitter, e, env, None)
        case Instruct() if not e.together:
            return called(emitter, e, env)
        case MapPar() | MapSeq() | Instruct() | ToLocal() | ToPrivate() | Store():
            return making.materialised(emitter, e, env, emitter.wanted)
    return layout(emitter, e, env)


def layout(emitter: Recursion, e: Expr, env: Env) -> View:
    """The view of the term e, which only changes layout, and moves no data."""
    scope = emitter.scope
    match e:
        case Zip(parts):
            return views.zipped(tuple([array(emitter.read(part, env)) for part in parts]))
        case Split(m, xs):
            return views.split(number(m), array(emitter.read(xs, env)))
        case Join(xs):
            return views.join(array(emitter.read(xs, env)))
        case Slide(size, step, xs, _):
            return views.slide(number(size), number(step), array(emitter.read(xs, env)))
        case Transpose(xs):
            return views.transpose(array(emitter.read(xs, env)))
        case Reorder(f, xs):
            inner = array(emitter.read(xs, env))
            return views.reorder(lambda i: index_at(f, i), inner)
        case Concat(a, b):
            left, right = array(emitter.read(a, env)), array(emitter.read(b, env))
            return views.concat(scope, elem_of(a), left, right)
        case Pad(left, right, given, xs):
            fill, inner = emitter.read(given, env), array(emitter.read(xs, env))
            return views.pad(scope, elem_of(xs), number(left), number(right), fill, inner)
        case PadEdge(edge, left, right, xs):
            inner = array(emitter.read(xs, env))
            return views.pad_edge(edge, number(left), number(right), inner)
        case At(k, xs):
            return array(emitter.read(xs, env)).at(constant(number(k)))
        case AsVector(w, xs):
            inner = array(emitter.read(xs, env))
            return views.as_vector(scope, elem_of(xs), number(w), inner)
        case AsScalar(xs):
            _, w = unlift(elem_of(xs))
            return views.as_scalar(scope, number(w), array(emitter.read(xs, env)))
    raise Unsupported(f"expected a term that code can be made for, found {type(e).__name__}")


def delayed(emitter: Recursion, f: Lam, xs: ArrayView, env: Env) -> View:
    """The view of map f xs, whose elements are computed where they are read.

    An element that is read again at the same index, where the statements that computed it are still
    in scope, is not computed again.
    """
    axes = (xs.axis, *plain(type_of(f.body)))
    seen: dict[str, tuple[View, Mark]] = {}

    def at(i: Index) -> View:
        known = seen.get(i.key)
        if known is not None and emitter.scope.is_open(known[1]):
            return known[0]
        start = emitter.scope.mark()
        result = read(emitter, f.body, bound(env, f.pattern, xs.at(i)))
        view = making.compact(emitter, hint_of(f.pattern), result)
        seen[i.key] = view, emitter.scope.since(start)
        return view

    return ArrayView(axes, at)


def listed(emitter: Recursion, e: Expr, parts: tuple[Expr, ...], env: Env) -> View:
    """The view of e, a list of `parts` [a, b, …]: of a constant table, if it is one; else a choice
    of one of the parts by the index."""
    if is_table(e):
        return _table(emitter, e)
    axes: tuple[Axis, ...] = tuple(plain(type_of(e)))
    return ArrayView(axes, lambda i: _part(emitter, parts, i, env))


def _part(emitter: Recursion, parts: tuple[Expr, ...], i: Index, env: Env) -> View:
    if i.is_constant:
        return emitter.read(parts[i.constant], env)
    return views.choose(
        emitter.scope,
        type_of(parts[0]),
        (less(i, 1), at_least(i, 1)),
        lambda: emitter.read(parts[0], env),
        lambda: _part(emitter, parts[1:], assume(i - 1, 0, len(parts) - 2), env),
    )


def _table(emitter: Recursion, e: Expr) -> View:
    """The view of e, a table of numbers, in constant memory, row after row."""
    scalar, dims, values = _flat(e)
    memory = emitter.scope.table(scalar, values)

    def at(dims: tuple[int, ...], start: Index) -> View:
        if not dims:
            return Load(memory, start)
        width = prod(dims[1:])
        return ArrayView(tuple(map(Plain, dims)), lambda i: at(dims[1:], start + i * width))

    return at(dims, constant(0))


def _flat(e: Expr) -> tuple[str, tuple[int, ...], tuple[float | int, ...]]:
    """The scalar type, the sizes and the numbers of the table e."""
    if isinstance(e, Lit):
        return e.scalar.name, (), (e.value,)
    assert isinstance(e, MakeArray)
    rows = [_flat(part) for part in e.parts]
    scalar, dims, _ = rows[0]
    return scalar, (len(rows), *dims), tuple(v for _, _, values in rows for v in values)


def arithmetic(emitter: Recursion, e: Expr, env: Env) -> Value:
    match e:
        case Lit(given, scalar):
            if scalar.name == "int":
                return Whole(constant(int(given)))
            return Number(int(given) if is_whole(scalar) else float(given), scalar.name)
        case SizeOf(n):
            return Whole(constant(number(n)))
        case Unary(op, a):
            x = value(emitter.read(a, env))
            if op == "neg" and isinstance(x, Whole) and _is_int(-x.index):
                return Whole(-x.index)
            return conversion(x, CONVERSIONS[op]) if op in CONVERSIONS else unary(op, x)
        case Binary(op, a, b):
            x, y = value(emitter.read(a, env)), value(emitter.read(b, env))
            if isinstance(x, Whole) and isinstance(y, Whole):
                known = index_arithmetic(op, x.index, y.index)
                if known is not None and _is_int(known):
                    return Whole(known)
            return binary(op, x, y)
        case Select(c, a, b):
            return chosen(*(value(emitter.read(x, env)) for x in (c, a, b)))
    raise AssertionError(f"expected arithmetic, found {type(e).__name__}")


def called(emitter: Recursion, e: Instruct, env: Env) -> Value:
    """The value of a number that a work-item computes by the instruction of e alone, without other
    lanes."""
    scalar = type_of(e)
    assert isinstance(scalar, Scalar)
    given = tuple([value(emitter.read(part, env)) for part in e.parts])
    return Call(e.instruction, given, Kind(scalar.name))


def indices(n: int) -> ArrayView:
    return ArrayView((Plain(n),), Whole)


def _is_int(i: Index) -> bool:
    """True if the range of an index fits an int, so that arithmetic on it cannot have wrapped."""
    return i.lo is not None and i.hi is not None and i.lo >= INT_LEAST and i.hi <= INT_LARGEST
