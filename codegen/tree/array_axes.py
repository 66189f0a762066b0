"""The axes of arrays as kernels walk them: which work-item owns which element, and in which
loop."""

from codegen.index.atoms import Assume
from codegen.index.index import Index, constant, from_atom, summed
from ir.core.frozen import frozen
from ir.core.types import Array, Type
from ir.errors import Unsupported


def number(n: object) -> int:
    """The size n as an int; Unsupported if n still has parameters."""
    if not isinstance(n, int):
        raise Unsupported(f"expected sizes that are numbers, found {n}, which has no value")
    return n


@frozen
class Plain:
    """An axis of `size` elements that every work-item may visit."""

    size: int


@frozen
class Owned:
    """An axis of `size` elements that are divided among `count` work-items or groups: element i
    belongs to the one whose `id` is i % count."""

    size: int
    id: Index
    count: int


@frozen
class Joined:
    """An axis of joined rows: element i is element i % inner.size of row i // inner.size."""

    outer: "Axis"
    inner: "Axis"

    @property
    def size(self) -> int:
        return self.outer.size * self.inner.size


Axis = Plain | Owned | Joined


def joined(outer: Axis, inner: Axis) -> Axis:
    """The axis of the elements of all rows of an array of arrays, one row after the other; `outer`
    is the axis of the rows, `inner` that of the elements of a row."""
    if isinstance(outer, Plain) and isinstance(inner, Plain):
        return Plain(outer.size * inner.size)
    return Joined(outer, inner)


def owners(axis: Axis) -> frozenset[Index]:
    """The ids among which the elements of an axis are divided."""
    match axis:
        case Plain():
            return frozenset()
        case Owned(_, owner, _):
            return frozenset({owner})
        case Joined(outer, inner):
            return owners(outer) | owners(inner)


def share(axis: Axis) -> int:
    """The number of elements of an axis that one work-item has to store."""
    match axis:
        case Plain(n):
            return n
        case Owned(n, _, count):
            return -(-n // count)
        case Joined(outer, inner):
            return share(outer) * share(inner)


def slot(axis: Axis, i: Index) -> Index:
    """The position of element i among the elements of its owner; the work-item that asks must be
    proved to be this owner."""
    match axis:
        case Plain():
            return i
        case Owned(_, owner, count):
            if bare(i % count) != bare(owner) and bare(bare(i) % count) != bare(owner):
                raise Unsupported(
                    f"element {i.key} of a parallel map's result in private memory is read by a "
                    "work-item that may not have made it; expected a parallel map over the same "
                    "dimension around the read, or toLocal around the result"
                )
            return i // count
        case Joined(outer, inner):
            return slot(outer, i // inner.size) * share(inner) + slot(inner, i % inner.size)


def someones(axis: Axis) -> Index:
    """The index of some element that the work-item which runs the text owns."""
    match axis:
        case Plain():
            return constant(0)
        case Owned(_, owner, _):
            return owner
        case Joined(outer, inner):
            return someones(outer) * inner.size + someones(inner)


def plain(t: Type) -> tuple[Axis, ...]:
    """The axes of an array of type t, and of the arrays that are its elements, all of them `Plain`:
    not divided among work-items. There are none if t is no array."""
    if not isinstance(t, Array):
        return ()
    return (Plain(number(t.size)), *plain(t.elem))


def bare(i: Index) -> Index:
    """The index i without the assumptions that guards allow."""
    if not any(isinstance(atom, Assume) for atom, _ in i.terms):
        return i
    total = summed((), i.constant)
    for atom, k in i.terms:
        total += bare(atom.index) * k if isinstance(atom, Assume) else from_atom(atom) * k
    return total
