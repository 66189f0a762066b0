"""The types of values: scalars, vectors of scalars, arrays with a size, tuples."""

# key: t u types, n size

from collections.abc import Iterator

from ir.core.hash_once import Hashed, hashed
from ir.core.size import Size, same, show_size
from ir.errors import IllTyped


@hashed
class Scalar(Hashed):
    """A scalar type: float, half, bfloat, long, int, short, ushort, char or uchar."""

    name: str


@hashed
class Vector(Hashed):
    """The type of vectors: `width` scalars that move and compute together."""

    scalar: Scalar
    width: Size


@hashed
class Array(Hashed):
    """The type [elem]size of arrays."""

    elem: "Type"
    size: Size


@hashed
class Tuple(Hashed):
    """The type (t, u, …) of tuples."""

    parts: tuple["Type", ...]


Type = Scalar | Vector | Array | Tuple

FLOAT, HALF, BFLOAT = Scalar("float"), Scalar("half"), Scalar("bfloat")
LONG, INT, SHORT, USHORT = Scalar("long"), Scalar("int"), Scalar("short"), Scalar("ushort")
CHAR, UCHAR = Scalar("char"), Scalar("uchar")
SCALARS = {s.name: s for s in (FLOAT, HALF, BFLOAT, LONG, INT, SHORT, USHORT, CHAR, UCHAR)}
BYTES = {"float": 4, "half": 2, "bfloat": 2, "int": 4, "short": 2, "ushort": 2}
BYTES |= {"char": 1, "uchar": 1, "long": 8}
INT_LEAST, INT_LARGEST = -(2**31), 2**31 - 1
RANGES = {  # least and largest of the whole numbers
    "long": (-(2**63), 2**63 - 1),
    "int": (INT_LEAST, INT_LARGEST),
    "short": (-(2**15), 2**15 - 1),
    "ushort": (0, 2**16 - 1),
    "char": (-(2**7), 2**7 - 1),
    "uchar": (0, 2**8 - 1),
}
LARGEST = {  # finite numbers
    "float": float(2**128 - 2**104),
    "half": 65504.0,
    "bfloat": float(2**128 - 2**120),
}
NARROW_REALS = frozenset({HALF, BFLOAT})


def equal(t: "Type", u: "Type") -> bool:
    """True if t and u are the same type, with sizes compared by their normal forms."""
    if t is u:
        return True
    match t, u:
        case Scalar(a), Scalar(b):
            return a == b
        case Vector(a, n), Vector(b, m):
            return a == b and same(n, m)
        case Array(a, n), Array(b, m):
            return same(n, m) and equal(a, b)
        case Tuple(ts), Tuple(us):
            return len(ts) == len(us) and all(map(equal, ts, us))
    return False


def scalar_of(t: Type) -> Scalar | None:
    """The scalar type of a scalar or vector type t; None for arrays and tuples."""
    return t if isinstance(t, Scalar) else t.scalar if isinstance(t, Vector) else None


def is_whole(t: Type) -> bool:
    """True for whole numbers of any width, and vectors of them."""
    scalar = scalar_of(t)
    return scalar is not None and scalar.name in RANGES


def lift(t: Type, width: Size) -> Type:
    """The type t with a vector of this width in place of every scalar: the element type of
    `asVector`."""
    match t:
        case Scalar():
            return Vector(t, width)
        case Array(elem, n):
            return Array(lift(elem, width), n)
        case Tuple(parts):
            return Tuple(tuple(lift(p, width) for p in parts))
        case Vector():
            raise IllTyped(f"expected scalars to form vectors of, found {show_type(t)}")


def unlift(t: Type) -> tuple[Type, Size]:
    """The type of one lane and the width of the vectors in t: the inverse of `lift`."""
    widths = {leaf.width if isinstance(leaf, Vector) else None for leaf in leaves(t)}
    if len(widths) != 1 or None in widths:
        raise IllTyped(f"expected vectors of one width, found {show_type(t)}")
    (width,) = widths
    assert width is not None
    return _lane(t), width


def _lane(t: Type) -> Type:
    match t:
        case Vector(scalar, _):
            return scalar
        case Array(elem, n):
            return Array(_lane(elem), n)
        case Tuple(parts):
            return Tuple(tuple(map(_lane, parts)))
        case Scalar():
            return t


def leaves(t: Type) -> Iterator[Scalar | Vector]:
    """The scalars and vectors that a type is made of."""
    match t:
        case Scalar() | Vector():
            yield t
        case Array(elem, _):
            yield from leaves(elem)
        case Tuple(parts):
            for part in parts:
                yield from leaves(part)


def only_scalar(t: Type) -> Scalar | None:
    """The scalar type of all scalars and vectors in t; None if there are several types."""
    found = {scalar_of(leaf) for leaf in leaves(t)}
    return found.pop() if len(found) == 1 else None


def narrowed(t: Type, scalar: Scalar) -> Type:
    """The type t with the narrower `scalar` in place of every float."""
    match t:
        case Scalar():
            return scalar if t == FLOAT else t
        case Vector(other, n):
            return Vector(scalar if other == FLOAT else other, n)
        case Array(elem, n):
            return Array(narrowed(elem, scalar), n)
        case Tuple(parts):
            return Tuple(tuple(narrowed(part, scalar) for part in parts))


def narrow_real(t: Type) -> Scalar | None:
    """The type half or bfloat, whichever occurs first in t; None if neither does."""
    return next((s for leaf in leaves(t) if (s := scalar_of(leaf)) in NARROW_REALS), None)


def show_type(t: Type) -> str:
    """The text of a type in the language's own syntax."""
    match t:
        case Scalar(name):
            return name
        case Vector(scalar, width):
            return f"{scalar.name}<{show_size(width)}>"
        case Array(elem, size):
            text = show_size(size)
            return f"[{show_type(elem)}]{text if text.isalnum() else f'({text})'}"
        case Tuple(parts):
            return f"({', '.join(map(show_type, parts))})"


def depth(t: Type) -> int:
    """The number of dimensions of the array type t; 0 if it is no array."""
    return 1 + depth(t.elem) if isinstance(t, Array) else 0
