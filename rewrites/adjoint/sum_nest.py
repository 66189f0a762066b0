"""The nest that computes what a contribution adds up to: maps over the indices of the elements,
around a sum over the contribution's other indices."""

# key: c contribution, i index, e term, scalar type of numbers

from collections.abc import Mapping, Sequence
from functools import reduce

from ir.core.nodes import (
    Binary,
    Expr,
    Generate,
    Get,
    Join,
    Lit,
    Map,
    Reduce,
    Reorder,
    Slide,
    Unary,
    Zip,
)
from ir.core.terms import lam, lam2, substitute
from ir.core.type_rules import elem_of, size_of, type_of
from ir.core.types import FLOAT, INT, Scalar, is_whole, show_type
from ir.meaning.inputs import shape_of
from rewrites.adjoint.contributions import Contribution
from rewrites.adjoint.notebook import Notebook
from rewrites.analysis.affine_access import Access, Affine, Index, NoAccess, index
from rewrites.analysis.folds import number
from rewrites.engine.refused import Refused
from rewrites.laws.affine_views import at_level, gather, unjoined

Arrays = Mapping[str, tuple[Expr, tuple[Index, ...]]]  # of each read, with the indices it is over


def nest(c: Contribution, own: tuple[Index, ...], scalar: Scalar, book: Notebook) -> Expr:
    """The array over the indices `own` of what a contribution adds up to, in numbers of the type
    `scalar`: for each value of these indices, the sum over all its other indices."""
    product = reduce(lambda a, b: Binary("*", a, b), c.factors)
    accesses = {name: a for f in c.factors for name, a in book.accesses(f).items()}
    used = [i for a in accesses.values() for x in a.coordinates for i, _ in x.terms]
    for i in c.indices:
        if i not in own and i not in used:
            product = Binary("*", product, number(i.size, scalar))
    sums = tuple(dict.fromkeys(i for i in used if i not in own))
    back = {i: index(i).times(-1).shifted(i.size - 1) for i in _falling(accesses, sums)}
    arrays: dict[str, tuple[Expr, tuple[Index, ...]]] = {}
    for name, a in accesses.items():
        turned = Access(a.base, tuple(_turned(x, back) for x in a.coordinates))
        order = tuple(i for i in (*own, *sums) if i in used_by(turned))
        arrays[name] = (_view(turned, order), order)
    return _maps(own, sums, arrays, _converted(product, scalar), scalar)


def _converted(product: Expr, scalar: Scalar) -> Expr:
    """The product, converted to the type `scalar` of the numbers that it is added to unless its own
    type is wider; Refused if one type is whole and the other is not."""
    own = type_of(product)
    if own == scalar:
        return product
    if is_whole(own) != is_whole(scalar):
        raise Refused(
            f"expected products of the type {scalar.name} in a sum that makes a cotangent, found "
            f"products of the type {show_type(own)}"
        )
    return product if own == FLOAT else Unary(scalar.name, product)


def used_by(a: Access) -> set[Index]:
    """The indices that an access depends on."""
    return {i for x in a.coordinates for i, _ in x.terms}


def _falling(accesses: Mapping[str, Access], sums: Sequence[Index]) -> list[Index]:
    """Those of the indices `sums` that have a negative factor in the first of `accesses` that uses
    them: such an index is made to count down, so that the array is read forwards."""
    first: dict[Index, int] = {}
    for a in accesses.values():
        for x in a.coordinates:
            for i, k in x.terms:
                first.setdefault(i, k)
    return [i for i in sums if first[i] < 0]


def _turned(a: Affine, back: Mapping[Index, Affine]) -> Affine:
    total = Affine((), a.constant, a.loose)
    for i, k in a.terms:
        total = total.plus(back.get(i, index(i)).times(k))
    return total


def _view(a: Access, order: tuple[Index, ...]) -> Expr:
    """The view, an array over the indices `order`, of what an access reads; dimensions that are
    read backwards are reversed."""
    single, twins = _once_each(_forward(a))
    falling = {i for x in single.coordinates for i, k in x.terms if k < 0}
    back = {i: index(i).times(-1).shifted(i.size - 1) for i in falling}
    forward = Access(single.base, tuple(_turned(x, back) for x in single.coordinates))
    wide = tuple(j for i in order for j in (i, *twins.get(i, ())))
    try:
        split = unjoined(forward, wide)
        e = gather(split.base, split.coordinates, wide)
    except NoAccess as why:
        raise Refused(str(why)) from why
    for level, i in enumerate(wide):
        if i in falling:
            e = at_level(level, e, reversed_)
    for level, i in enumerate(order):
        for _ in twins.get(i, ()):
            e = at_level(level, e, diagonal)
    return e


def _forward(a: Access) -> Access:
    """The access a with those dimensions of its array reversed that it reads only backwards: it
    reads them forwards then."""
    base, coordinates = a.base, list[Affine]()
    for level, (x, n) in enumerate(zip(a.coordinates, shape_of(type_of(a.base)), strict=False)):
        if x.terms and all(k < 0 for _, k in x.terms):
            base, x = at_level(level, base, reversed_), x.times(-1).shifted(n - 1)
        coordinates.append(x)
    return Access(base, tuple(coordinates))


def _once_each(a: Access) -> tuple[Access, dict[Index, tuple[Index, ...]]]:
    """The access a with a new index for each further occurrence of an index, so that each occurs
    once; and for each index that was replaced the new ones."""
    twins: dict[Index, tuple[Index, ...]] = {}
    seen, coordinates = set[Index](), list[Affine]()
    for x in a.coordinates:
        own = dict[Index, Affine]()
        for i, _ in x.terms:
            if i in seen:
                twin = Index(f"{i.name}'{len(twins.get(i, ()))}", i.size)
                twins[i] = (*twins.get(i, ()), twin)
                own[i] = index(twin)
            seen.add(i)
        coordinates.append(_turned(x, own))
    return Access(a.base, tuple(coordinates)), twins


def diagonal(xs: Expr) -> Expr:
    """The array of the elements xs[i][i]."""
    n = size_of(xs)
    return Join(Slide(1, n + 1, Join(xs)))


def reversed_(xs: Expr) -> Expr:
    """The array xs with its elements in the opposite order."""
    last = size_of(xs) - 1
    assert isinstance(last, int)
    return Reorder(lam("i", INT, lambda i: Binary("-", Lit(last, INT), i)), xs)


def _maps(
    own: Sequence[Index], sums: Sequence[Index], arrays: Arrays, product: Expr, scalar: Scalar
) -> Expr:
    """The nest of maps over the indices `own`, around the sum over `sums`, of a product in which
    variables stand for elements of `arrays`."""
    if not own:
        values, left = _done(arrays)
        wide = type_of(product)
        assert isinstance(wide, Scalar)
        made = _sums(sums, left, substitute(product, values), number(0, wide))
        return made if wide == scalar else Unary(scalar.name, made)
    i, *rest = own
    over = [name for name, (_, order) in arrays.items() if i in order]

    def body(parts: Mapping[str, Expr]) -> Expr:
        inner = {**arrays, **{n: (e, arrays[n][1][1:]) for n, e in parts.items()}}
        return _maps(rest, sums, inner, product, scalar)

    if not over:
        return Generate(i.size, lam("i", INT, lambda _: body({})))
    f_hint, xs = _zipped([arrays[n][0] for n in over])
    return Map(lam(f_hint, elem_of(xs), lambda x: body(_parts(over, x))), xs)


def _done(arrays: Arrays) -> tuple[dict[str, Expr], Arrays]:
    """Those of `arrays` that are numbers by now, as maps bind all of their indices, by name; and
    the other arrays."""
    values = {name: e for name, (e, order) in arrays.items() if not order}
    return values, {name: a for name, a in arrays.items() if a[1]}


def _zipped(arrays: list[Expr]) -> tuple[str, Expr]:
    return ("x", arrays[0]) if len(arrays) == 1 else ("parts", Zip(tuple(arrays)))


def _parts(names: Sequence[str], x: Expr) -> dict[str, Expr]:
    if len(names) == 1:
        return {names[0]: x}
    return {name: Get(k, x) for k, name in enumerate(names)}


def _sums(sums: Sequence[Index], arrays: Arrays, product: Expr, start: Expr) -> Expr:
    """The number `start` plus the sum of a product over `sums`. Neighbouring indices on which the
    same arrays depend share a reduction."""
    if not sums:
        is_start = isinstance(start, Lit)
        return product if is_start else Binary("+", start, product)
    over = [name for name, (_, order) in arrays.items() if sums[0] in order]
    together = list[Index]()
    for i in sums:
        if [name for name, (_, order) in arrays.items() if i in order] != over:
            break
        together.append(i)
    flat = [_joined(arrays[name][0], len(together) - 1) for name in over]
    hint, xs = _zipped(flat)
    scalar = type_of(start)

    def body(acc: Expr, x: Expr) -> Expr:
        parts = _parts(over, x)
        inner = {**arrays, **{n: (e, arrays[n][1][len(together) :]) for n, e in parts.items()}}
        values, left = _done(inner)
        return _sums(sums[len(together) :], left, substitute(product, values), acc)

    return Reduce(start, lam2(("acc", hint), (scalar, elem_of(xs)), body), xs)


def _joined(e: Expr, times: int) -> Expr:
    for _ in range(times):
        e = Join(e)
    return e
