"""The gathering of a contribution: the array that it adds up to, in which each element is the sum
of all that is added to it.

A contribution says to which place each number goes. Its coordinates are solved for its indices, so
that it says for each place which numbers come: the windows of a convolution become windows of the
cotangent. If a coordinate has steps of s, the places are taken in s phases, one for each
remainder."""

# key: c contribution, a coordinate, i index, n size, s step

from collections.abc import Callable
from dataclasses import replace
from math import gcd, prod
from typing import TypeGuard

from ir.core.frozen import frozen
from ir.core.nodes import Binary, Expr, Generate, Join, Lit, Map, Pad, Split, Unary, Var
from ir.core.terms import lam, subterms
from ir.core.type_rules import elem_of, size_of, type_of
from ir.core.types import INT, Scalar
from rewrites.adjoint.contributions import (
    Contribution,
    constant,
    least,
    lies_inside,
    most,
    plain,
)
from rewrites.adjoint.notebook import Notebook
from rewrites.adjoint.sum_nest import nest
from rewrites.analysis.affine_access import Access, Affine, Index, index
from rewrites.analysis.folds import number
from rewrites.laws.affine_views import at_level, widened

Arranged = Callable[[Expr], Expr]


@frozen
class Solved:
    """A dimension of a gathered array. The nest that makes the array has maps over `indices` for
    it; the view `arranged` turns the dimensions of these maps into it."""

    indices: tuple[Index, ...]
    arranged: Arranged


def gathered(c: Contribution, sizes: tuple[int, ...], scalar: Scalar, book: Notebook) -> Expr:
    """The array of these sizes, of numbers of the type `scalar`, that a contribution adds up to."""
    c = book.settled(c)
    dims = list[Solved]()
    for d, n in enumerate(sizes):
        taken = {i for dim in dims for i in dim.indices}
        c, dim = solved(c, d, n, taken, book)
        dims.append(dim)
    own = tuple(i for dim in dims for i in dim.indices)
    e = nest(c, own, scalar, book)
    for d, dim in enumerate(dims):
        e = at_level(d, e, dim.arranged)
    return e


def solved(
    c: Contribution, d: int, n: int, taken: set[Index], book: Notebook
) -> tuple[Contribution, Solved]:
    """The contribution with its coordinate number d solved for one of its indices, so that each of
    the dimension's n places has its own sum; and the dimension. The indices `taken` are those that
    other dimensions go over already: if the coordinate has one, each place is compared with it
    instead (`_compared`)."""
    a, scalar = book.resolved(c.coordinates[d]), _scalar(c)
    own = [(i, k) for i, k in a.terms if i not in taken]
    if len(own) != len(a.terms):
        return _compared(c, d, n, book)
    if not own:
        one = book.index(1)
        c = replace(c, indices=(*c.indices, one))
        return c, Solved((one,), lambda e: _placed(e, a.constant, 1, n, scalar))
    step = gcd(*(k for _, k in own))
    if step > 1:
        inner = Affine(tuple((i, k // step) for i, k in own))
        low, high = least(inner), most(inner)
        count = high - low + 1
        moved = c.at(*c.coordinates[:d], inner.shifted(-low), *c.coordinates[d + 1 :])
        done, dim = solved(moved, d, count, taken, book)
        start = a.constant + step * low
        return done, Solved(dim.indices, lambda e: _placed(dim.arranged(e), start, step, n, scalar))
    i = plain(a.shifted(-a.constant))
    if i is not None and (a.constant, i.size) == (0, n):
        return c, Solved((i,), lambda e: e)
    return _of_several(c, d, n, a, book)


def _of_several(
    c: Contribution, d: int, n: int, a: Affine, book: Notebook
) -> tuple[Contribution, Solved]:
    """The contribution with its coordinate a (number d), which has several indices, solved for the
    index that leaves the fewest terms to sum up; and the dimension of n places."""
    total = prod(i.size for i, _ in a.terms)
    ones = [i for i, k in a.terms if abs(k) == 1]
    ways: list[tuple[int, Index, Index | None]] = [(total // i.size, i, None) for i in ones]
    for o, s in a.terms:
        for i in ones:
            rest = [k for j, k in a.terms if j not in (o, i)]
            if s > 1 and all(k % s == 0 for k in rest) and (i, 1) in a.terms:
                left = total // o.size // i.size * -(-i.size // s)
                ways.append((left, o, i))
    if not ways:
        return _compared(c, d, n, book)
    _, i, across = min(ways, key=lambda way: way[0])
    return _by_one(c, d, n, i, book) if across is None else _phases(c, d, n, i, across, book)


def _by_one(
    c: Contribution, d: int, n: int, i: Index, book: Notebook
) -> tuple[Contribution, Solved]:
    """The contribution with its coordinate a = i + rest (number d) solved for i = place - rest; and
    the dimension of n places."""
    a, place = c.coordinates[d], book.index(n)
    k = dict(a.terms)[i]
    rest = Affine(tuple((j, x) for j, x in a.terms if j != i), a.constant)
    c = _put(c, i, index(place).plus(rest.times(-1)).times(k), book)
    return c, Solved((place,), lambda e: e)


def _phases(
    c: Contribution, d: int, n: int, o: Index, i: Index, book: Notebook
) -> tuple[Contribution, Solved]:
    """The contribution with its coordinate a = s o + i + rest (number d), where s divides the rest,
    solved in s phases; and the dimension of n places.

    i becomes s t + phase, and o becomes q - t - rest/s, for the places s q + phase."""
    s = dict(c.coordinates[d].terms)[o]
    turns, phase = -(-i.size // s), book.index(s)
    turn = index(book.index(turns)) if turns > 1 else constant(0)
    c = _put(c, i, turn.times(s).plus(index(phase)), book)
    a = c.coordinates[d]
    rest = Affine(tuple((j, k // s) for j, k in a.terms if j not in (o, phase)), a.constant // s)
    low = a.constant % s
    first = -1 if low else 0
    q = book.index(-(-(n - low) // s) - first)
    c = _put(c, o, index(q).shifted(first).plus(rest.times(-1)), book)
    start, scalar = s * first + low, _scalar(c)
    return c, Solved((q, phase), lambda e: _placed(Join(e), start, 1, n, scalar))


def _compared(c: Contribution, d: int, n: int, book: Notebook) -> tuple[Contribution, Solved]:
    """The contribution with its coordinate a (number d) left unsolved, and the dimension of n
    places: a factor, 1 where place - a = 0 and else 0, compares each place with a."""
    place, a = book.index(n), c.coordinates[d]
    one = _ones(1, _scalar(c))
    same = book.read(one, (replace(index(place).plus(a.times(-1)), loose=True),))
    return replace(c.times(same), indices=(*c.indices, place)), Solved((place,), lambda e: e)


def _put(c: Contribution, i: Index, a: Affine, book: Notebook) -> Contribution:
    """The contribution with the coordinate a in the place of the index i; where a is outside of i's
    range, nothing is added."""
    if not lies_inside(a, i.size):
        c = limited(c, i, book)
    return book.put(c, {i: a})


def limited(c: Contribution, i: Index, book: Notebook) -> Contribution:
    """The contribution with a factor that is 0 where the index i is outside of its range. Factors
    that could be infinite there are computed into an array first, inside the range only."""
    c = replace(c, factors=tuple(_read_at(f, i, book) for f in c.factors))
    for n, f in enumerate(c.factors):
        access = book.accesses(f)[f.name] if _is_read(f, book) else None
        d = _dimension(access, i) if access else None
        if access is not None and d is not None:
            base = at_level(d, access.base, _cut(-access.coordinates[d].constant, i.size))
            loose = replace(index(i), loose=True)
            at = (*access.coordinates[:d], loose, *access.coordinates[d + 1 :])
            factors = (*c.factors[:n], book.read(base, at), *c.factors[n + 1 :])
            return replace(c, factors=factors)
    return c.times(book.read(_ones(i.size, _scalar(c)), (replace(index(i), loose=True),)))


def _read_at(f: Expr, i: Index, book: Notebook) -> Expr:
    """The factor f; if it depends on i and could be infinite (it divides, or takes a logarithm), a
    read from an array of its values."""
    accesses = book.accesses(f)
    used = dict.fromkeys(j for a in accesses.values() for x in a.coordinates for j, _ in x.terms)
    if i not in used or not any(map(_may_be_infinite, subterms(f))):
        return f
    own = tuple(used)
    at = tuple(map(index, own))
    scalar = type_of(f)
    assert isinstance(scalar, Scalar)
    made = nest(Contribution(own, at, (f,)), own, scalar, book)
    return book.read(book.named("factors", made), at)


def _may_be_infinite(e: Expr) -> bool:
    match e:
        case Binary("/", _, Lit(n, _)):
            return n == 0
        case Binary("/", _, _) | Unary("log", _):
            return True
    return False


def _is_read(f: Expr, book: Notebook) -> TypeGuard[Var]:
    return isinstance(f, Var) and f.name in book.reads


def _dimension(access: Access, i: Index) -> int | None:
    """The number of the dimension that an access reads at i plus a constant; None if there is
    none."""
    at = [d for d, a in enumerate(access.coordinates) if a.terms == ((i, 1),)]
    return at[0] if at else None


def _cut(left: int, n: int) -> Arranged:
    """The function that gives an array of n elements: its argument with `left` zeros before it, or,
    if `left` is negative, without so many elements at its start. Zeros fill up the end, or elements
    there are cropped."""

    def cut(xs: Expr) -> Expr:
        size = size_of(xs)
        assert isinstance(size, int)
        return widened(xs, left, n - size - left)

    return cut


def _placed(xs: Expr, start: int, step: int, n: int, scalar: Scalar) -> Expr:
    """The array of n elements in which those of xs stand at start, start + step, …, with zeros
    elsewhere; elements of xs that would stand outside are dropped. Elements are numbers, or
    rows."""
    if step > 1:
        zero = number(0, scalar)
        apart = lam("row", elem_of(ones := Split(1, xs)), lambda x: Pad(0, step - 1, zero, x))
        xs = Join(Map(apart, ones))
    return _cut(start, n)(xs)


def _ones(n: int, scalar: Scalar) -> Expr:
    return Generate(n, lam("i", INT, lambda _: number(1, scalar)))


def _scalar(c: Contribution) -> Scalar:
    """The type of the numbers that a contribution adds."""
    t = type_of(c.factors[0])
    assert isinstance(t, Scalar)
    return t
