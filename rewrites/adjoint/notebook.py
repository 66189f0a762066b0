"""The notebook of a way back through a program: fresh indices, the reads that variables in factors
stand for, and the arrays that are made before others and named."""

# key: i index, a coordinate, c contribution, e term

from dataclasses import replace

from ir.core.nodes import Expr, Map, Var
from ir.core.size import show_size
from ir.core.terms import bound_names, component, free, fresh, lam, substitute
from ir.core.type_rules import type_of
from ir.core.types import Array, Scalar, Tuple, Type, show_type
from ir.core.views import is_view
from rewrites.adjoint.contributions import Contribution, Path, replaced
from rewrites.analysis.affine_access import Access, Affine, Index, index
from rewrites.engine.refused import Refused


class Notebook:
    """The notes that are taken while a cotangent moves back: indices and how they are split, reads
    of arrays by the names of their variables, and named arrays."""

    def __init__(self, taken: frozenset[str]) -> None:
        self.taken = set(taken)
        self.reads = dict[str, Access]()
        self.digits = dict[Index, Affine]()  # indices that have been split, as their digits
        self.lets = dict[Expr, Var]()
        self._count = 0

    # ---- indices

    def index(self, size: int) -> Index:
        """A fresh index from 0 to size - 1."""
        self._count += 1
        return Index(f"i{self._count}", size)

    def halve(self, i: Index, n: int) -> None:
        """Split an index i into digits, high · n + low; n divides its size."""
        high, low = self.index(i.size // n), self.index(n)
        self.digits[i] = index(high).times(n).plus(index(low))

    def resolved(self, a: Affine) -> Affine:
        """The coordinate a with each index that has been split replaced by its digits."""
        while any(i in self.digits for i, _ in a.terms):
            a = replaced(a, self.digits)
        return a

    def divided(self, a: Affine, n: int) -> tuple[Affine, Affine]:
        """The quotient and the remainder of a coordinate by n; an index is split if that is needed.
        NoAccess if they cannot be written as coordinates."""
        a = self.resolved(a)
        across = [i for i, k in a.terms if k == 1 and i.size > n and i.size % n == 0]
        if len(across) == 1 and not a.loose:
            self.halve(across[0], n)
        return self.resolved(a).divided(n)

    # ---- reads

    def read(self, base: Expr, coordinates: tuple[Affine, ...]) -> Expr:
        """The variable that stands for the number of the array `base` at these coordinates."""
        access = Access(base, coordinates)
        for name, other in self.reads.items():
            if other == access:
                return Var(name, _number(type_of(base)))
        name = f"?read{len(self.reads)}"
        self.reads[name] = access
        return Var(name, _number(type_of(base)))

    def accesses(self, e: Expr) -> dict[str, Access]:
        """The reads that the number e depends on, by the names of their variables."""
        names = sorted(free(e) & self.reads.keys(), key=lambda name: int(name[5:]))
        return {n: self._resolved_read(self.reads[n]) for n in names}

    def _resolved_read(self, a: Access) -> Access:
        return Access(a.base, tuple(map(self.resolved, a.coordinates)))

    # ---- contributions

    def settled(self, c: Contribution) -> Contribution:
        """The contribution c with each index that has been split replaced by its digits."""
        own = dict.fromkeys(j for i in c.indices for j, _ in self.resolved(index(i)).terms)
        return replace(c, indices=tuple(own), coordinates=tuple(map(self.resolved, c.coordinates)))

    def put(self, c: Contribution, values: dict[Index, Affine]) -> Contribution:
        """The contribution c with the coordinates `values` in the place of the indices that are
        their keys, also in its factors; the indices of these coordinates join its own."""
        own = dict.fromkeys(
            j for i in c.indices for j in ([x for x, _ in values[i].terms] if i in values else [i])
        )
        coordinates = tuple(replaced(a, values) for a in c.coordinates)
        return replace(
            c,
            indices=tuple(own),
            coordinates=coordinates,
            factors=tuple(self._put(f, values) for f in c.factors),
        )

    def _put(self, e: Expr, values: dict[Index, Affine]) -> Expr:
        new = {
            name: self.read(a.base, tuple(replaced(x, values) for x in a.coordinates))
            for name, a in self.accesses(e).items()
        }
        return substitute(e, new)

    # ---- arrays

    def named(self, hint: str, e: Expr) -> Expr:
        """The variable that names the array e, so that it is computed once (`hint` is the name if
        it is free); e itself if it is a view."""
        if is_view(e):
            return e
        if e not in self.lets:
            name = fresh(hint, self.taken | bound_names(e) | free(e))
            self.taken.add(name)
            self.lets[e] = Var(name, type_of(e))
        return self.lets[e]


def _number(t: Type) -> Type:
    """The type of the innermost elements of nested arrays of type t."""
    return _number(t.elem) if isinstance(t, Array) else t


def leaf(e: Expr, path: Path) -> Expr:
    """The leaf of the value e at a path; of an array of tuples, the array of this component of
    each."""
    if not path:
        return e
    t = type_of(e)
    if isinstance(t, Tuple):
        return leaf(component(path[0], e), path[1:])
    assert isinstance(t, Array)
    return Map(lam("x", t.elem, lambda x: leaf(x, path)), e)


def leaf_type(t: Type, path: Path) -> Type:
    """The type of the leaf at a path of a value of type t: a number, or nested arrays of
    numbers."""
    match t:
        case Array(elem, n):
            return Array(leaf_type(elem, path), n)
        case Tuple(parts):
            return leaf_type(parts[path[0]], path[1:])
    return t


def leaf_paths(t: Type) -> list[Path]:
    """The paths of all leaves of a value of type t."""
    match t:
        case Array(elem, _):
            return leaf_paths(elem)
        case Tuple(parts):
            return [(i, *rest) for i, part in enumerate(parts) for rest in leaf_paths(part)]
    return [()]


def scalar_in(t: Type) -> Scalar:
    """The type of the numbers in a leaf of type t; Refused for vectors."""
    number = _number(t)
    if not isinstance(number, Scalar):
        raise Refused(f"expected arrays of numbers, found {show_type(t)}")
    return number


def sizes_in(t: Type) -> tuple[int, ...]:
    """The sizes of the dimensions of a leaf of type t; Refused if one depends on a parameter."""
    sizes = list[int]()
    while isinstance(t, Array):
        if not isinstance(t.size, int):
            raise Refused(
                f"expected sizes that are numbers, found {show_size(t.size)}, which has no value"
            )
        sizes.append(t.size)
        t = t.elem
    return tuple(sizes)
