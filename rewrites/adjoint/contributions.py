"""Contributions: what is added to an array, and at which places, while a cotangent moves back
through a program.

A view only changes a contribution's coordinates, a sum adds an index, an operation on numbers
multiplies by a factor. The laws of `backward` do nothing else."""

# key: i index, a coordinate

from dataclasses import replace

from ir.core.frozen import distinct, frozen
from ir.core.nodes import Expr, Pattern, Var
from rewrites.analysis.affine_access import Affine, Index

Path = tuple[int, ...]


@frozen
class Contribution:
    """A sum that is added to an array: for all values of `indices`, the product of `factors`, at
    `coordinates`.

    The array is a leaf of a value: `path` are the numbers of the components that lead to it through
    tuples. The variables in a factor stand for reads of arrays (`Notebook.read`). What is added
    outside of the array is dropped.
    """

    indices: tuple[Index, ...]
    coordinates: tuple[Affine, ...]
    factors: tuple[Expr, ...]
    path: Path = ()

    def at(self, *coordinates: Affine) -> "Contribution":
        """This contribution at other coordinates."""
        return replace(self, coordinates=coordinates)

    def tail(self) -> "Contribution":
        """This contribution without its first coordinate: to the element which that coordinate
        selects."""
        return self.at(*self.coordinates[1:])

    def along(self, *path: int) -> "Contribution":
        """This contribution with `path` as its path."""
        return replace(self, path=path)

    def times(self, *factors: Expr) -> "Contribution":
        """This contribution with more factors."""
        return replace(self, factors=(*self.factors, *factors))


# ---- what variables are bound to, innermost first


@distinct
class Element:
    """The frame of a map or reduction: its pattern is bound to the element of an array at an index.
    The frames around it are `outside`."""

    pattern: Pattern
    array: Expr
    index: Affine
    outside: "Scope"


@distinct
class Named:
    """The frame of a let: its pattern is bound to a value. The frames around it are `outside`."""

    pattern: Pattern
    value: Expr
    outside: "Scope"


@distinct
class Counted:
    """The frame of a generate: its variable, `pattern`, counts from 0 to size - 1, and now is
    `index`. The frames around it are `outside`."""

    pattern: Pattern
    size: int
    index: Affine
    outside: "Scope"


@distinct
class Running:
    """The frame of a reduction's accumulator, which `pattern` is bound to. Its values between two
    steps are not stored. The frames around it are `outside`."""

    pattern: Pattern
    outside: "Scope"


Frame = Element | Named | Counted | Running
Scope = Frame | None


@frozen
class Arrival:
    """A contribution, `what`, that has arrived at the variable `name` of a frame, or at the
    parameter of this name if `frame` is None."""

    name: str
    frame: Scope
    what: Contribution


def found(scope: Scope, name: str) -> tuple[Frame, Path] | None:
    """The innermost frame in scope that binds a name, and the name's path in the frame's pattern;
    None if the name is a parameter's."""
    while scope is not None:
        path = path_in(scope.pattern, name)
        if path is not None:
            return scope, path
        scope = scope.outside
    return None


def path_in(p: Pattern, name: str) -> Path | None:
    """The numbers of the components that lead to a name in a pattern; None if it does not bind the
    name."""
    if isinstance(p, Var):
        return () if p.name == name else None
    for i, part in enumerate(p):
        inner = path_in(part, name)
        if inner is not None:
            return (i, *inner)
    return None


# ---- coordinates


def constant(n: int) -> Affine:
    """The coordinate that is the number n, without an index."""
    return Affine((), n)


def plain(a: Affine) -> Index | None:
    """The index i if the coordinate a is i alone; None if a is a number, or has more terms, or a
    factor."""
    match a:
        case Affine(((i, 1),), 0):
            return i
    return None


def least(a: Affine) -> int:
    """The smallest value of a coordinate, over all values of its indices."""
    return a.constant + sum(min(0, k * (i.size - 1)) for i, k in a.terms)


def most(a: Affine) -> int:
    """The largest value of a coordinate, over all values of its indices."""
    return a.constant + sum(max(0, k * (i.size - 1)) for i, k in a.terms)


def lies_inside(a: Affine, size: int) -> bool:
    """True if every value of a coordinate is from 0 to size - 1."""
    return least(a) >= 0 and most(a) < size


def replaced(a: Affine, values: dict[Index, Affine]) -> Affine:
    """The coordinate a with the coordinates in `values` in the place of the indices that are their
    keys."""
    if not any(i in values for i, _ in a.terms):
        return a
    total = Affine((), a.constant, a.loose)
    for i, k in a.terms:
        total = total.plus(values.get(i, Affine(((i, 1),))).times(k))
    return total
