"""Arrays of what contributions to a term add up to, made on the way back: where the term's law
needs one index as coordinate, or hands the contributions on to many places."""

# key: e term, c contribution, scope what variables are bound to

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from ir.core.nodes import Binary, Expr, Map, Zip
from ir.core.terms import free, lam2, variables
from ir.core.type_rules import elem_of, size_of, type_of
from rewrites.adjoint.contributions import (
    Contribution,
    Counted,
    Element,
    Named,
    Scope,
    lies_inside,
    plain,
)
from rewrites.adjoint.gather import gathered
from rewrites.adjoint.notebook import Notebook, leaf_type, scalar_in, sizes_in
from rewrites.analysis.affine_access import Affine, Index, index


def met(e: Expr, scope: Scope, all_: Sequence[Contribution], book: Notebook) -> list[Contribution]:
    """The contributions `all_` to e, made one for each leaf of e. Several to one leaf, or one that
    is a sum, are added up in an array first, so that e hands them back only once."""
    done = list[Contribution]()
    for path in dict.fromkeys(c.path for c in all_):
        own = _added([c for c in all_ if c.path == path])
        if (
            len(own) == 1
            and all(map(plain, own[0].coordinates))
            and not sums(own[0], e, scope, book)
        ):
            done += own
        else:
            done.append(made(e, scope, own, book))
    return done


def sums(c: Contribution, e: Expr, scope: Scope, book: Notebook) -> bool:
    """True if a contribution to e sums over an index that none of its coordinates has. The
    coordinates of the array elements that e depends on count as its coordinates, too."""
    placed = {*context(e, scope, book), *(i for a in c.coordinates for i, _ in a.terms)}
    return not placed.issuperset(c.indices)


def context(e: Expr, scope: Scope, book: Notebook) -> tuple[Index, ...]:
    """The indices of the array elements that e depends on, through the variables in scope."""
    names, own = free(e), list[Index]()
    while scope is not None:
        bound = {v.name for v in variables(scope.pattern)}
        if names & bound:
            names -= bound
            match scope:
                case Element(_, xs, at, _):
                    names |= free(xs)
                    own += [i for i, _ in book.resolved(at).terms]
                case Counted(_, _, at, _):
                    own += [i for i, _ in book.resolved(at).terms]
                case Named(_, a, _):
                    names |= free(a)
        scope = scope.outside
    return tuple(dict.fromkeys(reversed(own)))


def made(e: Expr, scope: Scope, all_: Sequence[Contribution], book: Notebook) -> Contribution:
    """The contribution to e that the contributions `all_` to it, to one leaf, add up to: it reads
    an array of their sums, element by element."""
    path = all_[0].path
    t = leaf_type(type_of(e), path)
    sizes = sizes_in(t)
    around = [i for i in context(e, scope, book) if any(i in c.indices for c in all_)]
    arrays = list[Expr]()
    for c in all_:
        own = [i for i in around if i in c.indices]
        at = tuple(map(index, around))
        missing = tuple(i for i in around if i not in own)
        c = replace(c, indices=(*c.indices, *missing), coordinates=(*at, *c.coordinates))
        whole = (*(i.size for i in around), *sizes)
        arrays.append(gathered(c, whole, scalar_in(t), book))
    total = reduce(sum_of, arrays)
    fresh = tuple(book.index(n) for n in sizes)
    own_indices = (*around, *fresh)
    base = book.named("cotangents", total)
    at = tuple(map(index, own_indices))
    return Contribution(own_indices, at[len(around) :], (book.read(base, at),), path)


def inside(e: Expr, scope: Scope, c: Contribution, d: int, book: Notebook) -> Contribution:
    """The contribution c to e without what it adds outside of e's dimension d, which is dropped
    anyway."""
    c = book.settled(c)
    size = sizes_in(leaf_type(type_of(e), c.path))[d]
    a = c.coordinates[d]
    if lies_inside(a, size):
        return c
    match a:
        case Affine(((i, 1),), k):
            first, last = max(0, -k), min(i.size, size - k)
            if first < last:
                return book.put(c, {i: index(book.index(last - first)).shifted(first)})
    return made(e, scope, [c], book)


def plainly(e: Expr, scope: Scope, c: Contribution, book: Notebook) -> tuple[Contribution, Index]:
    """The contribution c to e with a single index as its first coordinate, over all elements of e;
    and that index. If the first coordinate is not of this kind, c is added up in an array first."""
    c = inside(e, scope, c, 0, book)
    i, size = plain(c.coordinates[0]), size_of(e)
    if i is None or i.size != size or any(i in dict(a.terms) for a in c.coordinates[1:]):
        c = made(e, scope, [c], book)
        i = plain(c.coordinates[0])
    assert i is not None
    return c, i


def sum_of(a: Expr, b: Expr) -> Expr:
    """The element by element sum of two arrays, or of two numbers."""
    if not sizes_in(type_of(a)):
        return Binary("+", a, b)
    xs = Zip((a, b))
    f = lam2(("a", "b"), (elem_of(a), elem_of(b)), sum_of)
    return Map(f, xs)


def _added(all_: Sequence[Contribution]) -> list[Contribution]:
    """The contributions `all_`, with those at the same coordinates added up to one."""
    places: dict[object, list[Contribution]] = {}
    for c in all_:
        places.setdefault((frozenset(c.indices), c.coordinates), []).append(c)
    return [_one(own) for own in places.values()]


def _one(all_: list[Contribution]) -> Contribution:
    if len(all_) == 1:
        return all_[0]
    products = [reduce(lambda a, b: Binary("*", a, b), c.factors) for c in all_]
    return replace(all_[0], factors=(reduce(lambda a, b: Binary("+", a, b), products),))
