"""Views as they are read: an array is a function from an index to what is read there.

Nothing is computed until a scalar or a vector is asked for; then its value is an expression over
loads. Where computing it takes statements, these go to the scope's open block.
"""

# key: i j indices, w width, f index to view

from collections.abc import Callable

from codegen.emit.scope import Scope
from codegen.index.condition import ALWAYS, NEVER, Condition, at_least, less, within
from codegen.index.index import Index, assume, constant, maximum, minimum
from codegen.tree.array_axes import Axis, Plain, joined, number, plain
from codegen.tree.kernel_values import Kind, Load, Value, kind_of
from codegen.tree.memories import Space
from codegen.tree.statements import Block, If, Store, Unroll
from codegen.tree.value_builders import fitted, lane_of, lane_variable, select, vectorised
from ir.core.frozen import frozen
from ir.core.nodes import Edge
from ir.core.types import Array, Scalar, Tuple, Type, Vector
from ir.errors import Unsupported


@frozen
class ArrayView:
    """The view of an array: its axis and those of the arrays inside (`axes`), and at(i), the view
    of its element i.

    For an array of vectors that were formed of scalars, `scalars` is the view of these scalars; it
    is None if they are not known.
    """

    axes: tuple[Axis, ...]
    at: Callable[[Index], "View"]
    scalars: "ArrayView | None" = None

    @property
    def axis(self) -> Axis:
        return self.axes[0]


@frozen
class TupleView:
    parts: tuple["View", ...]


View = ArrayView | TupleView | Value


def array(view: View) -> ArrayView:
    assert isinstance(view, ArrayView)
    return view


def component(view: View, k: int) -> View:
    assert isinstance(view, TupleView)
    return view.parts[k]


def value(view: View) -> Value:
    assert not isinstance(view, ArrayView | TupleView)
    return view


# ---- layouts


def split(m: int, xs: ArrayView) -> View:
    axis, *inner = xs.axes
    return ArrayView(
        (Plain(axis.size // m), Plain(m), *inner),
        lambda c: ArrayView((Plain(m), *inner), lambda e: xs.at(c * m + e)),
    )


def join(xs: ArrayView) -> View:
    outer, inner, *rest = xs.axes
    m = inner.size
    return ArrayView((joined(outer, inner), *rest), lambda i: array(xs.at(i // m)).at(i % m))


def slide(size: int, step: int, xs: ArrayView) -> View:
    axis, *inner = xs.axes
    rows: tuple[Axis, ...] = (Plain(size), *inner)
    return ArrayView(
        (Plain((axis.size - size) // step + 1), *rows),
        lambda c: ArrayView(rows, lambda e: xs.at(c * step + e)),
    )


def transpose(xs: ArrayView) -> View:
    outer, inner, *rest = xs.axes
    return ArrayView(
        (inner, outer, *rest),
        lambda i: ArrayView((outer, *rest), lambda j: array(xs.at(j)).at(i)),
    )


def reorder(f: Callable[[Index], Index], xs: ArrayView) -> View:
    axis, *inner = xs.axes
    n = axis.size
    return ArrayView((Plain(n), *inner), lambda i: xs.at(assume(f(i), 0, n - 1)))


def zipped(parts: tuple[ArrayView, ...]) -> View:
    axis = next((a.axis for a in parts if not isinstance(a.axis, Plain)), parts[0].axis)
    return ArrayView((axis,), lambda i: TupleView(tuple([a.at(i) for a in parts])))


def concat(scope: Scope, t: Type, a: ArrayView, b: ArrayView) -> View:
    n, m = a.axis.size, b.axis.size

    def at(i: Index) -> View:
        return choose(
            scope,
            t,
            (less(i, n), at_least(i, n)),
            lambda: a.at(assume(i, 0, n - 1)),
            lambda: b.at(assume(i - n, 0, m - 1)),
        )

    return ArrayView((Plain(n + m), *plain(t)), at)


def pad(scope: Scope, t: Type, left: int, right: int, fill: View, xs: ArrayView) -> View:
    n = xs.axis.size

    def at(i: Index) -> View:
        return choose(
            scope,
            t,
            (within(i - left, 0, n), None),
            lambda: xs.at(assume(i - left, 0, n - 1)),
            lambda: fill,
        )

    return ArrayView((Plain(left + n + right), *plain(t)), at)


def pad_edge(edge: Edge, left: int, right: int, xs: ArrayView) -> View:
    axis, *inner = xs.axes
    n = axis.size
    return ArrayView(
        (Plain(left + n + right), *inner), lambda i: xs.at(edge_index(edge, i - left, n))
    )


def edge_index(edge: Edge, i: Index, n: int) -> Index:
    """The index of the element that stands at index i of an array of n elements after it is padded;
    `edge` says by which elements. An index outside 0 … n − 1 is in the padding."""
    match edge:
        case Edge.CLAMP | Edge.ANY:
            return minimum(maximum(i, 0), n - 1)
        case Edge.WRAP:
            return i % n
        case Edge.MIRROR:
            return mirrored(i, n)


def mirrored(i: Index, n: int) -> Index:
    """The index that a mirrored padding reads at i: … 1 0 | 0 1 … n-1 | n-1 n-2 …

    It is the smaller of i % 2n and 2n - 1 - i % 2n.
    """
    if within(i, 0, n) == ALWAYS:
        return i
    j = i % (2 * n)
    return assume(minimum(j, 2 * n - 1 - j), 0, n - 1)


# ---- choices

Guard = tuple[Condition, Condition | None]  # where one holds, and its negation if that matters


def choose(
    scope: Scope, t: Type, guard: Guard, a: Callable[[], View], b: Callable[[], View]
) -> View:
    """The view, of type t, that is a() where the guard holds and b() elsewhere.

    A guard is a pair: a condition, and its negation or None. With a negation, the statements that
    compute b() run only where it holds. With None they run everywhere, so b() must be one that may
    be read anywhere.
    """
    if guard[0] == ALWAYS:
        return a()
    if guard[0] == NEVER:
        return spread(t, b())
    match t:
        case Array(elem):
            return ArrayView(
                plain(t),
                lambda i: choose(scope, elem, guard, lambda: _at(a(), i), lambda: _at(b(), i)),
            )
        case Tuple(parts):
            return TupleView(
                tuple(
                    [choose(scope, p, guard, _part(a, k), _part(b, k)) for k, p in enumerate(parts)]
                )
            )
    return _chosen(scope, kind_for(t), guard, a, b)


def _chosen(
    scope: Scope, kind: Kind, guard: Guard, a: Callable[[], View], b: Callable[[], View]
) -> Value:
    condition, otherwise = guard
    x, before = scope.expression(lambda: fitted(value(a()), kind))
    y, other = scope.expression(lambda: fitted(value(b()), kind))
    if not before.statements and not other.statements:
        return select(condition, x, y)
    chosen = scope.memory("chosen", Space.PRIVATE, kind.scalar, kind.width)
    zero = constant(0)
    last = Block((*other.statements, Store(chosen, zero, y)))
    scope.add(last if otherwise is None else If(otherwise, last))
    scope.add(If(condition, Block((*before.statements, Store(chosen, zero, x)))))
    return Load(chosen, zero, kind.width)


def _at(view: View, i: Index) -> View:
    return view.at(i) if isinstance(view, ArrayView) else view


def _part(f: Callable[[], View], k: int) -> Callable[[], View]:
    def part() -> View:
        view = f()
        return view.parts[k] if isinstance(view, TupleView) else view

    return part


def spread(t: Type, view: View) -> View:
    """The view as one of type t; a scalar becomes an array or tuple whose every element is that
    scalar."""
    if isinstance(view, ArrayView | TupleView):
        return view
    match t:
        case Array(elem):
            return ArrayView(plain(t), lambda _: spread(elem, view))
        case Tuple(parts):
            return TupleView(tuple(spread(p, view) for p in parts))
        case Vector() | Scalar():
            return fitted(view, kind_for(t))


def repeated(n: int, t: Type, view: View) -> ArrayView:
    """The view of an array of n elements of type t: each is `view`, or, if `view` is a scalar and t
    is not, a value of type t that has this scalar everywhere."""
    return ArrayView((Plain(n), *plain(t)), lambda _: spread(t, view))


def kind_for(t: Scalar | Vector) -> Kind:
    if isinstance(t, Scalar):
        return Kind(t.name)
    if t.width not in (1, 2, 3, 4, 8, 16):
        raise Unsupported(f"expected vectors of 2, 3, 4, 8 or 16, found vectors of {t.width}")
    return Kind(t.scalar.name, number(t.width))


# ---- vectors


def as_vector(scope: Scope, lane_type: Type, w: int, xs: ArrayView) -> View:
    """The view of asVector(w, xs), where xs holds elements of type `lane_type`."""
    axis, *inner = xs.axes
    return ArrayView(
        (Plain(axis.size // w), *inner),
        lambda i: lifted(scope, lane_type, w, lambda lane: xs.at(i * w + lane)),
        xs,
    )


def lifted(scope: Scope, t: Type, w: int, f: Callable[[Index], View]) -> View:
    """The view of a value like one of type t, but with a vector of w lanes in place of each scalar:
    lane l of each vector is the scalar at that place of f(l), a view of type t."""
    match t:
        case Array(elem):
            return ArrayView(
                plain(t), lambda j: lifted(scope, elem, w, lambda lane: array(f(lane)).at(j))
            )
        case Tuple(parts):
            return TupleView(
                tuple([lifted(scope, p, w, _component_of(f, k)) for k, p in enumerate(parts)])
            )
        case Scalar(name):
            return _gathered(scope, name, w, f)
        case Vector():
            raise Unsupported("asVector: expected scalars as elements, found vectors")


def _component_of(f: Callable[[Index], View], k: int) -> Callable[[Index], View]:
    return lambda lane: component(f(lane), k)


def _gathered(scope: Scope, scalar: str, w: int, f: Callable[[Index], View]) -> Value:
    kind_for(Vector(Scalar(scalar), w))
    name = scope.lane()
    e, before = scope.expression(lambda: value(f(lane_variable(name, w))))
    if not before.statements:
        return vectorised(e, name, w)
    gathered = scope.memory("gathered", Space.PRIVATE, scalar, w)
    scope.loop(
        "lane",
        w,
        lambda l: scope.store(gathered, l, fitted(value(f(l)), Kind(scalar))),
        Unroll.FREE,
    )
    return Load(gathered, constant(0), w)


def as_scalar(scope: Scope, w: int, xs: ArrayView) -> View:
    """The view of asScalar(xs) for vectors of w lanes; asScalar of asVector is the array itself."""
    if xs.scalars is not None:
        return xs.scalars
    axis, *inner = xs.axes
    return ArrayView(
        (joined(axis, Plain(w)), *inner), lambda j: lane_view(scope, xs.at(j // w), j % w)
    )


def lane_view(scope: Scope, view: View, lane: Index) -> View:
    """The view of scalars that a view of vectors has in one lane."""
    match view:
        case ArrayView(axes, at):
            return ArrayView(axes, lambda i: lane_view(scope, at(i), lane))
        case TupleView(parts):
            return TupleView(tuple(lane_view(scope, p, lane) for p in parts))
    found = lane_of(view, lane)
    if found is not None:
        return found
    kind = kind_of(view)
    spilled = scope.memory("lanes", Space.PRIVATE, kind.scalar, kind.width)
    scope.store(spilled, constant(0), view)
    return Load(spilled, lane)
