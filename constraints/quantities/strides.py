"""The distances in memory between neighbouring elements of arrays, followed through views: so it is
known which numbers lie side by side.

All distances count numbers, and may depend on parameters.
"""

# key: e term, t type, m n sizes

from ir.core.frozen import frozen
from ir.core.nodes import (
    AsScalar,
    AsVector,
    Expr,
    Join,
    Pad,
    PadEdge,
    Slide,
    Split,
    Store,
    Transpose,
)
from ir.core.size import Size, denominator, exact, floor_div
from ir.core.type_rules import elem_of
from ir.core.types import Array, Type, Vector, unlift


@frozen
class Run:
    """`count` places, each `step` numbers behind the one before it (None: it is not known how
    far)."""

    count: Size
    step: Size | None


Axis = tuple[Run, ...]  # the places of one array, the last run changing quickest


@frozen
class Strides:
    """The places in memory of an array's elements: an axis for the array and for each of the arrays
    that its elements are, outermost first; and, if scalars are vectors, the distance between
    neighbouring lanes (`lane`; None if it is not known)."""

    axes: tuple[Axis, ...] = ()
    lane: Size | None = None

    @property
    def element(self) -> "Strides":
        """The places of one element of the array."""
        return Strides(self.axes[1:], self.lane)

    def of(self, axis: Axis) -> "Strides":
        """The places of an array along `axis`, each of whose elements has these places."""
        return Strides((axis, *self.axes), self.lane)


UNKNOWN = Strides()


def row_major(t: Type) -> Strides:
    """The places of a value of type t without tuples, kept as a whole."""
    lengths = list[Size]()
    while isinstance(t, Array):
        lengths.append(t.size)
        t = t.elem
    step: Size = t.width if isinstance(t, Vector) else 1
    found = Strides((), 1 if isinstance(t, Vector) else None)
    for n in reversed(lengths):
        found, step = found.of((Run(n, step),)), step * n
    return found


def repeated(n: Size) -> Axis:
    """The axis of an array whose n elements are all the same."""
    return (Run(n, 0),)


def viewed(e: Expr, xs: Strides) -> Strides:
    """The places of the view e of an array whose places are `xs`."""
    match e, xs.axes:
        case Store(), _:
            return xs
        case Transpose(), (rows, columns, *rest):
            return Strides((columns, rows, *rest), xs.lane)
        case Join(), (rows, columns, *rest):
            return Strides((_joined(rows, columns), *rest), xs.lane)
        case Split(m), (axis, *rest):
            return Strides((*_split(axis, m), *rest), xs.lane)
        case Slide(size, step), ((Run(n, apart),), *rest):
            windows = Run(floor_div(n - size, step) + 1, apart and apart * step)
            return Strides(((windows,), (Run(size, apart),), *rest), xs.lane)
        case Pad(left, right) | PadEdge(_, left, right), ((Run(n, apart),), *rest):
            return Strides(((Run(left + n + right, apart),), *rest), xs.lane)
        case AsVector(v), (axis, *rest):
            vectors, lanes = _split(axis, v)
            return Strides((vectors, *rest), lanes[0].step if len(lanes) == 1 else None)
        case AsScalar(vectors), (axis, *rest):
            lanes = (Run(unlift(elem_of(vectors))[1], xs.lane),)
            return Strides((_joined(axis, lanes), *rest))
    return UNKNOWN


def _joined(rows: Axis, columns: Axis) -> Axis:
    """The axis of arrays along `columns`, one behind the other along `rows`: two runs are one if
    the second goes on where the first ends."""
    before, after = rows[-1], columns[0]
    if after.count == 1:
        return (*rows, *columns[1:])
    if before.count == 1:
        return (*rows[:-1], *columns)
    if before.step is None or after.step is None or before.step != after.step * after.count:
        return (*rows, *columns)
    return (*rows[:-1], Run(before.count * after.count, after.step), *columns[1:])


def _split(axis: Axis, m: Size) -> tuple[Axis, Axis]:
    """The axis of the chunks of m places along `axis`, and that of a chunk: whole runs and a part
    of the one before them. Where sizes do not tell, a chunk is taken to lie in the last run."""
    *others, last = axis
    if others and _divides(last.count, m) and not _divides(m, last.count):
        chunks, chunk = _split(tuple(others), exact(m, last.count))
        return chunks, (*chunk, last)
    turns = Run(exact(last.count, m), last.step and last.step * m)
    return (*others, turns) if turns.count != 1 or not others else tuple(others), (
        Run(m, last.step),
    )


def _divides(m: Size, n: Size) -> bool:
    """True if m divides n for all values of the parameters."""
    return denominator(exact(n, m)) == 1
