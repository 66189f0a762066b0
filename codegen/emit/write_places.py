"""Places: where results are written, seen through views of them, and the memories behind."""

# key: i j indices, w width

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace

from codegen.emit.read_views import ArrayView, TupleView, View
from codegen.emit.scope import Scope
from codegen.index.condition import ALWAYS, Condition, both, substitute_in
from codegen.index.index import Index, constant
from codegen.index.substitute import substitute
from codegen.memory.unrolled_registers import is_aligned
from codegen.tree.array_axes import Axis, Joined, Plain, joined, share, slot, someones
from codegen.tree.kernel_values import Lane, Load, Value, kind_of
from codegen.tree.memories import Memory, Space
from codegen.tree.value_builders import contiguous, fitted, lane_of, lane_variable, lanes_of
from ir.core.frozen import frozen
from ir.core.types import Array, Scalar, Tuple, Type, Vector
from ir.errors import Unsupported


@frozen
class Cell:
    """The place of a scalar, or of a vector of `width` neighbouring scalars, in a memory; it is
    written where the guard holds. If the memory has two halves, `index` is counted in the half with
    the number `half`; else `half` is None."""

    memory: Memory
    index: Index
    width: int = 1
    half: Index | None = None
    guard: Condition = ALWAYS


@frozen
class Scatter:
    """The place of a vector whose lanes are not neighbours in memory, with a cell for each lane."""

    cells: tuple[Cell, ...]


@frozen
class TuplePlace:
    parts: tuple["Place", ...]


@frozen
class ArrayPlace:
    """The place of an array: at(i) is the place of its element i. `scalars` is the place of the
    scalars of an array of vectors, or None if it is not known."""

    axis: Axis
    at: Callable[[Index], "Place"]
    scalars: "ArrayPlace | None" = None
    _some: "list[Place]" = field(default_factory=list, init=False, compare=False)


Place = Cell | Scatter | TuplePlace | ArrayPlace


def put(scope: Scope, place: Place, value: Value) -> None:
    """Add statements that store `value` at a place."""
    match place:
        case Cell(memory, index, width, half, guard):
            scalar, have = memory.scalar, kind_of(value)
            kind = replace(have, scalar=scalar, width=width)
            scope.when(guard, lambda: scope.store(memory, index, fitted(value, kind), half))
        case Scatter(cells):
            whole = loaded_once(scope, value)
            for l, cell in _in_pairs(cells):
                put(scope, cell, _lanes(whole, value, l, cell.width))
        case _:
            found = type(place).__name__
            raise AssertionError(f"expected the place of a scalar or a vector, found {found}")


def _lanes(whole: Value, value: Value, l: int, w: int) -> Value:
    """The w lanes, from lane l on, of the vector `value`, which `whole` holds."""
    if w > 1:
        return lanes_of(whole, l, w)
    lane = Lane(whole, l) if whole is not value else lane_of(value, constant(l))
    assert lane is not None
    return lane


def _in_pairs(cells: Sequence[Cell]) -> Iterator[tuple[int, Cell]]:
    """The cells of lanes, each with the number of its first lane: two lanes that are neighbours in
    global memory, at an even index, share a cell."""
    l = 0
    while l < len(cells):
        pair = l + 1 < len(cells) and _beside(cells[l], cells[l + 1])
        yield l, replace(cells[l], width=2) if pair else cells[l]
        l += 2 if pair else 1


def _beside(one: Cell, other: Cell) -> bool:
    """True if two cells are the halves of an aligned vector in global memory, written at once."""
    if one.memory.space is not Space.GLOBAL or one.width > 1 or one.half is not None:
        return False
    if replace(one, index=other.index) != other or other.index - one.index != constant(1):
        return False
    return is_aligned(one.index, 2)


def loaded_once(scope: Scope, value: Value) -> Value:
    """The value itself, or, for a vector read from global memory, a register that holds it, so that
    its lanes are stored after one load."""
    match value:
        case Load(memory, _, width, _) if width > 1 and memory.space is Space.GLOBAL:
            register = scope.memory("x", Space.PRIVATE, memory.scalar, width)
            scope.store(register, constant(0), value)
            return Load(register, constant(0), width)
    return value


def view_of(place: Place, instead: dict[Memory, Memory] | None = None) -> View:
    """The view that reads a place back. A memory that `instead` has an alias for is read through
    that alias."""
    match place:
        case Cell(memory, index, width, half, _):
            return Load((instead or {}).get(memory, memory), index, width, half)
        case TuplePlace(parts):
            return TupleView(tuple(view_of(p, instead) for p in parts))
        case ArrayPlace(at=at):
            return ArrayView(axes_of(place), lambda i: view_of(at(i), instead))
        case Scatter():
            raise Unsupported(
                "the lanes of this vector lie apart in memory: expected reads of single lanes, "
                "found a read of the whole vector"
            )


def cells(place: Place) -> list[Cell]:
    """The cells of a place; if it is an array's, those of one of its elements, one that the running
    work-item owns."""
    match place:
        case Cell() as cell:
            return [cell]
        case Scatter(parts):
            return list(parts)
        case TuplePlace(parts):
            return [c for p in parts for c in cells(p)]
        case ArrayPlace():
            return cells(some(place))


def is_own(place: Place) -> bool:
    """True if all cells of a place are in private memory and have no guard, and the place has no
    vector whose lanes are scattered in memory."""
    own = (c.memory.space is Space.PRIVATE and c.guard == ALWAYS for c in cells(place))
    return all(own) and not is_scattered(place)


def is_scattered(place: Place) -> bool:
    """True if a place has vectors whose lanes are not neighbours in memory."""
    match place:
        case Cell():
            return False
        case Scatter():
            return True
        case TuplePlace(parts):
            return any(map(is_scattered, parts))
        case ArrayPlace():
            return is_scattered(some(place))


def some(place: Place) -> Place:
    """The place of one element of an array's place, one that the running work-item owns."""
    outer = array_place(place)
    if not outer._some:
        outer._some.append(outer.at(someones(outer.axis)))
    return outer._some[0]


def axes_of(place: Place) -> tuple[Axis, ...]:
    """The axes of an array's place, and of its elements as far as they are arrays."""
    return (place.axis, *axes_of(some(place))) if isinstance(place, ArrayPlace) else ()


# ---- inverse views


def split_out(m: int, place: Place) -> Place:
    """The place for xs such that split(m, xs) goes to `place`."""
    outer = array_place(place)
    inner = array_place(some(outer))
    return ArrayPlace(
        joined(outer.axis, inner.axis), lambda j: array_place(outer.at(j // m)).at(j % m)
    )


def join_out(n: int, m: int, place: Place) -> Place:
    """The place for xs, n rows of m, such that join(xs) goes to `place`."""
    whole = array_place(place)
    outer: Axis = Plain(n)
    inner: Axis = Plain(m)
    if isinstance(whole.axis, Joined) and whole.axis.inner.size == m:
        outer, inner = whole.axis.outer, whole.axis.inner
    return ArrayPlace(outer, lambda i: ArrayPlace(inner, lambda j: whole.at(i * m + j)))


def transpose_out(place: Place) -> Place:
    outer = array_place(place)
    inner = array_place(some(outer))
    return ArrayPlace(
        inner.axis, lambda j: ArrayPlace(outer.axis, lambda i: array_place(outer.at(i)).at(j))
    )


def shift_out(left: int, stays: Callable[[Index], Condition] | None, n: int, place: Place) -> Place:
    """The place for an array of n elements whose element j goes to index j + left of `place`, and,
    if `stays` is given, only where stays(j + left) holds."""
    outer = array_place(place)
    if stays is None:
        return ArrayPlace(Plain(n), lambda j: outer.at(j + left))
    return ArrayPlace(Plain(n), lambda j: guarded(stays(j + left), outer.at(j + left)))


def lanes_out(w: int, place: Place) -> Place:
    """The place for xs such that asVector(w, xs) goes to `place`."""
    outer = array_place(place)
    if outer.scalars is not None:
        return outer.scalars
    return ArrayPlace(joined(outer.axis, Plain(w)), lambda j: narrowed(outer.at(j // w), j % w))


def vectors_out(scope: Scope, n: int, w: int, place: Place) -> Place:
    """The place for xs, n vectors of w, such that asScalar(xs) goes to `place`."""
    whole = array_place(place)
    axis: Axis = Plain(n)
    if isinstance(whole.axis, Joined) and whole.axis.inner == Plain(w):
        axis = whole.axis.outer
    return ArrayPlace(axis, lambda i: widened(scope, w, lambda l: whole.at(i * w + l)), whole)


def guarded(condition: Condition, place: Place) -> Place:
    """The place that takes values only where the condition holds."""
    if condition == ALWAYS:
        return place
    match place:
        case Cell() as cell:
            return replace(cell, guard=both(cell.guard, condition))
        case Scatter(cells):
            return Scatter(tuple(replace(c, guard=both(c.guard, condition)) for c in cells))
        case TuplePlace(parts):
            return TuplePlace(tuple(guarded(condition, p) for p in parts))
        case ArrayPlace(axis, at):
            return ArrayPlace(axis, lambda i: guarded(condition, at(i)))


def narrowed(place: Place, lane: Index) -> Place:
    """The place of one lane of each of the vectors at `place`."""
    match place:
        case Cell(memory, index, _, half, guard):
            return Cell(memory, index + lane, 1, half, guard)
        case Scatter(cells) if lane.is_constant:
            return cells[lane.constant]
        case TuplePlace(parts):
            return TuplePlace(tuple(narrowed(p, lane) for p in parts))
        case ArrayPlace(axis, at):
            return ArrayPlace(axis, lambda i: narrowed(at(i), lane))
    raise Unsupported(
        "the lanes of this vector lie apart in memory: expected a lane's number that is known "
        f"when code is made, such as 0, found {lane.key}"
    )


def widened(scope: Scope, w: int, lanes: Callable[[Index], Place]) -> Place:
    """The place of vectors of w lanes whose lane l goes to lanes(l)."""
    lane = scope.lane()
    match lanes(lane_variable(lane, w)):
        case Cell() as cell:
            return _wide(cell, lane, w)
        case TuplePlace(parts):
            return TuplePlace(tuple(_widened_part(scope, w, lanes, k) for k in range(len(parts))))
        case ArrayPlace(axis=axis):
            return ArrayPlace(
                axis, lambda i: widened(scope, w, lambda l: array_place(lanes(l)).at(i))
            )
        case Scatter():
            raise Unsupported(
                "expected `asVector` of scalars or `asScalar` of vectors of scalars, found vectors "
                "of vectors"
            )


def _widened_part(scope: Scope, w: int, lanes: Callable[[Index], Place], k: int) -> Place:
    return widened(scope, w, lambda l: part(lanes(l), k))


def _wide(cell: Cell, lane: str, w: int) -> Place:
    start = contiguous(cell.index, lane, w)
    if start is not None and lane not in cell.guard.names:
        return replace(cell, index=start, width=w)
    return Scatter(tuple(_cell_at(cell, lane, l) for l in range(w)))


def _cell_at(cell: Cell, lane: str, l: int) -> Cell:
    return replace(
        cell,
        index=substitute(cell.index, {lane: l}),
        guard=substitute_in(cell.guard, {lane: l}),
    )


def part(place: Place, k: int) -> Place:
    """The place of component k of the tuples at a place, which may lie in arrays."""
    match place:
        case TuplePlace(parts):
            return parts[k]
        case ArrayPlace(axis, at):
            return ArrayPlace(axis, lambda i: part(at(i), k))
    raise AssertionError(f"expected the place of a tuple, found {type(place).__name__}")


def array_place(place: Place) -> ArrayPlace:
    assert isinstance(place, ArrayPlace)
    return place


# ---- memories laid out


Cells = Callable[[Index], Cell]
Shape = tuple[int, ...]
Allocate = Callable[[tuple[int, ...], str, Shape], Cells]
"""(which part of a tuple, scalar, dimensions) -> the cell at an index of that memory"""


@frozen
class Walked:
    """The axes walked so far: the position that they lead to in row-major memory (`index`), and the
    number of elements of each axis (`shape`)."""

    index: Index
    shape: Shape

    def along(self, axis: Axis, i: Index) -> "Walked":
        """The axes walked so far and, after them, `axis`, with the position of its element i."""
        n = share(axis)
        return Walked(self.index * n + slot(axis, i), (*self.shape, n))


NOWHERE = Walked(constant(0), ())


def laid(t: Type, at: Walked, allocate: Allocate, where: tuple[int, ...] = ()) -> Place:
    """The place of a value of type t in row-major memory, inside the axes walked so far (`at`).

    `allocate` gives the memory of each component of a tuple; `where` is the path to the component
    that t is the type of.
    """
    match t:
        case Array(elem, n):
            assert isinstance(n, int)
            axis = Plain(n)
            return ArrayPlace(axis, lambda i: laid(elem, at.along(axis, i), allocate, where))
        case Tuple(parts):
            return TuplePlace(
                tuple([laid(p, at, allocate, (*where, k)) for k, p in enumerate(parts)])
            )
        case Vector(scalar, w):
            assert isinstance(w, int)
            return _leaf(scalar, w, at, allocate, where)
        case Scalar():
            return _leaf(t, 1, at, allocate, where)


def _leaf(scalar: Scalar, w: int, at: Walked, allocate: Allocate, where: tuple[int, ...]) -> Cell:
    cell = allocate(where, scalar.name, (*at.shape, w))(at.index * w)
    return cell if w == 1 else replace(cell, width=w)
