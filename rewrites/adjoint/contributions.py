"""Contributions: what is added to an array, and where, while a cotangent moves back through a
program.

A view only changes the coordinates of a contribution, a sum leaves an index over which it runs,
an operation on numbers multiplies it by a factor. That is all that the laws of `backward` do.
"""

# key: i index, a coordinate

from dataclasses import dataclass, replace

from ir.core.nodes import Expr, Pattern, Var
from rewrites.analysis.affine_access import Affine, Index

Path = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Contribution:
    """For all values of `indices`, the product of `factors` is added at `coordinates`.

    The array is a leaf of a value: `path` are the components that lead to it, through tuples.
    Factors are numbers in which variables stand for reads (`Notebook.read`). What is added outside
    of the array is lost.
    """

    indices: tuple[Index, ...]
    coordinates: tuple[Affine, ...]
    factors: tuple[Expr, ...]
    path: Path = ()

    def at(self, *coordinates: Affine) -> "Contribution":
        """This contribution at other coordinates."""
        return replace(self, coordinates=coordinates)

    def tail(self) -> "Contribution":
        """This contribution to the element at its first coordinate."""
        return self.at(*self.coordinates[1:])

    def along(self, *path: int) -> "Contribution":
        """This contribution to the leaf with another path."""
        return replace(self, path=path)

    def times(self, *factors: Expr) -> "Contribution":
        """This contribution with more factors."""
        return replace(self, factors=(*self.factors, *factors))


# ---- what variables are bound to, innermost first


@dataclass(frozen=True, slots=True, eq=False)
class Element:
    """The variables of a pattern as the element of an array at an index: in a map or a
    reduction."""

    pattern: Pattern
    array: Expr
    index: Affine
    outside: "Scope"


@dataclass(frozen=True, slots=True, eq=False)
class Named:
    """The variables of a pattern as the parts of a value: in a let."""

    pattern: Pattern
    value: Expr
    outside: "Scope"


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """A variable that counts from 0 to size - 1: in a generate."""

    pattern: Pattern
    size: int
    index: Affine
    outside: "Scope"


@dataclass(frozen=True, slots=True, eq=False)
class Running:
    """The accumulator of a reduction, whose values between two steps nobody keeps."""

    pattern: Pattern
    outside: "Scope"


Frame = Element | Named | Counted | Running
Scope = Frame | None


@dataclass(frozen=True, slots=True)
class Arrival:
    """A contribution that has come to a variable: one of a frame's, or a parameter where there is
    none."""

    name: str
    frame: Scope
    what: Contribution


def found(scope: Scope, name: str) -> tuple[Frame, Path] | None:
    """The innermost frame that binds a name, and the name's path in the frame's pattern; None for a
    parameter."""
    while scope is not None:
        path = path_in(scope.pattern, name)
        if path is not None:
            return scope, path
        scope = scope.outside
    return None


def path_in(p: Pattern, name: str) -> Path | None:
    """The components that lead to a name in a pattern; None if it does not bind the name."""
    if isinstance(p, Var):
        return () if p.name == name else None
    for i, part in enumerate(p):
        inner = path_in(part, name)
        if inner is not None:
            return (i, *inner)
    return None


# ---- coordinates


def constant(n: int) -> Affine:
    """The coordinate that is a number."""
    return Affine((), n)


def plain(a: Affine) -> Index | None:
    """The index that a coordinate is, and nothing else; None if it is more, or a number."""
    match a:
        case Affine(((i, 1),), 0):
            return i
    return None


def least(a: Affine) -> int:
    """The smallest value of a coordinate."""
    return a.constant + sum(min(0, k * (i.size - 1)) for i, k in a.terms)


def most(a: Affine) -> int:
    """The largest value of a coordinate."""
    return a.constant + sum(max(0, k * (i.size - 1)) for i, k in a.terms)


def lies_inside(a: Affine, size: int) -> bool:
    """True if every value of a coordinate is from 0 to size - 1."""
    return least(a) >= 0 and most(a) < size


def replaced(a: Affine, values: dict[Index, Affine]) -> Affine:
    """The coordinate with others in place of some of its indices."""
    if not any(i in values for i, _ in a.terms):
        return a
    total = Affine((), a.constant, a.loose)
    for i, k in a.terms:
        total = total.plus(values.get(i, Affine(((i, 1),))).times(k))
    return total
