"""Relations evaluated exactly on columns: one NumPy array for each parameter, with a row for each
point, in int64 or Python's integers."""

# key: a b sizes, p polynomial, c columns by parameter, k integer coefficient

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from constraints.relations.relations import AllOf, AnyOf, AtMost, Divides, Equal, OneOf, Relation
from ir.core.size import ONE, Atom, Floor, Mod, Monomial, Name, Poly, Size

Column: TypeAlias = NDArray[np.int64] | NDArray[np.object_]
Columns: TypeAlias = Mapping[str, Column]
Mask: TypeAlias = NDArray[np.bool_]

SAFE = 2**62


def column(values: list[int]) -> Column:
    """The integers as a NumPy column: int64 where they fit, else Python's own."""
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:
        return np.array(values, dtype=object)


def predicate(r: Relation, ceilings: Mapping[str, int]) -> Callable[[Columns], Mask]:
    """The test of the relation r: a function from columns of values to a mask, which tells in which
    rows r holds. The values of each parameter are at most its number in `ceilings`."""
    test = _relation(r)
    if _magnitude(r, ceilings) < SAFE:
        return lambda c: np.broadcast_to(test(c), (_rows(c),))
    return lambda c: np.broadcast_to(
        test({name: v.astype(object) for name, v in c.items()}), (_rows(c),)
    )


def evaluate(a: Size, c: Columns, rows: int) -> tuple[Column, Column]:
    """The numerators and the denominators of the size a in each of `rows` rows of the columns c."""
    num, den = _ratio(a, c)
    return _in_rows(num, rows), _in_rows(den, rows)


def _in_rows(a: Column, rows: int) -> Column:
    repeated: Column = a if a.ndim else a[np.newaxis].repeat(rows)
    return repeated


def _relation(r: Relation) -> Callable[[Columns], Mask]:
    match r:
        case Divides(m, n):
            return lambda c: _divides(_ratio(m, c), _ratio(n, c))
        case AtMost(x, y):
            return lambda c: _at_most(_ratio(x, c), _ratio(y, c))
        case Equal(x, y):
            return lambda c: _equal(_ratio(x, c), _ratio(y, c))
        case OneOf(x, values):
            return lambda c: _one_of(_ratio(x, c), values)
        case AllOf(parts):
            every = [_relation(part) for part in parts]
            return lambda c: _all(every, c)
        case AnyOf(parts):
            some = [_relation(part) for part in parts]
            return lambda c: ~_all([_negated(part) for part in some], c)


def _negated(test: Callable[[Columns], Mask]) -> Callable[[Columns], Mask]:
    return lambda c: ~test(c)


def _all(tests: list[Callable[[Columns], Mask]], c: Columns) -> Mask:
    mask = np.ones(_rows(c), dtype=np.bool_)
    for test in tests:
        mask = mask & test(c)
    return mask


def _rows(c: Columns) -> int:
    return len(next(iter(c.values()))) if c else 1


Ratio: TypeAlias = tuple[Column, Column]
"""Numerator and denominator; what is the same in all rows has no dimension."""


def _ratio(a: Size, c: Columns) -> Ratio:
    if isinstance(a, int):
        return _number(a), _number(1)
    return _poly(a.num, c), _poly(a.den, c)


def _number(k: int) -> Column:
    return np.array(k, dtype=np.int64 if abs(k) < SAFE else object)


def _mask(values: object) -> Mask:
    return np.asarray(values, dtype=np.bool_)


def _divides(m: Ratio, n: Ratio) -> Mask:
    (a, b), (x, y) = m, n
    if _ones(b) and _ones(y):
        return _mask(a > 0) & _mask(_mod(x, a) == 0)
    whole = _mask((b != 0) & (y != 0) & (a * b > 0))
    return whole & _mask(_mod(np.asarray(x * b), np.asarray(a * y)) == 0)


def _at_most(s: Ratio, t: Ratio) -> Mask:
    (a, b), (x, y) = s, t
    if _ones(b) and _ones(y):
        return _mask(a <= x)
    return _mask((b != 0) & (y != 0) & (a * b * y * y <= x * y * b * b))


def _ones(b: Column) -> bool:
    return b.ndim == 0 and bool(b == 1)


def _equal(s: Ratio, t: Ratio) -> Mask:
    (a, b), (x, y) = s, t
    return _mask((b != 0) & (y != 0) & (a * y == x * b))


def _one_of(s: Ratio, values: tuple[int, ...]) -> Mask:
    a, b = s
    mask = _mask(False)
    for v in values:
        mask = mask | _mask((b != 0) & (a == b * v))
    return mask


def _poly(p: Poly, c: Columns) -> Column:
    """The value of the polynomial p in each row; factors that its terms share are multiplied
    once."""
    common, rest = _factored(p)
    values: dict[Atom, Column] = {}
    total: Column | None = None
    for monomial, k in rest:
        term = _product(k, monomial, c, values)
        total = term if total is None else np.asarray(total + term)
    if total is None:
        return _number(0)
    if not common:
        return total
    factor = _product(1, common, c, values)
    return factor if rest == ONE else np.asarray(total * factor)


def _product(k: int, m: Monomial, c: Columns, values: dict[Atom, Column]) -> Column:
    term: Column | None = _number(k) if k != 1 or not m else None
    for atom, n in m:
        if atom not in values:
            values[atom] = _atom(atom, c)
        for _ in range(n):
            term = values[atom] if term is None else np.asarray(term * values[atom])
    assert term is not None
    return term


@lru_cache(maxsize=1 << 12)
def _factored(p: Poly) -> tuple[Monomial, Poly]:
    """The product that divides all terms of the polynomial p, and what is left of p."""
    if not p:
        return (), p
    least = dict(p[0][0])
    for monomial, _ in p[1:]:
        powers = dict(monomial)
        least = {atom: min(n, powers[atom]) for atom, n in least.items() if atom in powers}
    return tuple(least.items()), tuple((_without(m, least), k) for m, k in p)


def _without(m: Monomial, factors: Mapping[Atom, int]) -> Monomial:
    left = ((atom, n - factors.get(atom, 0)) for atom, n in m)
    return tuple((atom, n) for atom, n in left if n)


def _atom(atom: Atom, c: Columns) -> Column:
    match atom:
        case Name(name):
            return c[name]
        case Floor(a, b):
            (n, d), (m, e) = _ratio(a, c), _ratio(b, c)
            return _floor(np.asarray(n * e), np.asarray(d * m))
        case Mod(a, b):
            (n, d), (m, e) = _ratio(a, c), _ratio(b, c)
            return _floor(_mod(np.asarray(n * e), np.asarray(d * m)), np.asarray(d * e))


def _floor(a: Column, b: Column) -> Column:
    return np.asarray(a // np.where(_mask(b == 0), 1, b))


def _mod(a: Column, b: Column) -> Column:
    return np.asarray(a % np.where(_mask(b == 0), 1, b))


def _magnitude(r: Relation, ceilings: Mapping[str, int]) -> int:
    """An upper bound of all numbers that arise while the relation r is tested on values up to
    `ceilings`."""
    match r:
        case Divides(a, b) | AtMost(a, b) | Equal(a, b):
            (x, y), (z, w) = _largest(a, ceilings), _largest(b, ceilings)
            return max(x, z) if y == w == 1 else max(x * y * w * w, z * w * y * y, x * w, z * y)
        case OneOf(a, values):
            x, y = _largest(a, ceilings)
            return max(x, *(y * abs(v) for v in values))
        case AllOf(parts) | AnyOf(parts):
            return max((_magnitude(part, ceilings) for part in parts), default=0)


def magnitude(a: Size, ceilings: Mapping[str, int]) -> int:
    """An upper bound of the size a, and of all numbers that arise in its evaluation, for values up
    to `ceilings`."""
    return max(_largest(a, ceilings))


def _largest(a: Size, ceilings: Mapping[str, int]) -> tuple[int, int]:
    if isinstance(a, int):
        return max(1, abs(a)), 1
    return largest(a.num, ceilings), largest(a.den, ceilings) if a.den != ONE else 1


def largest(p: Poly, ceilings: Mapping[str, int]) -> int:
    """An upper bound of the polynomial p, and of all numbers that arise in its evaluation, for
    values up to `ceilings`."""
    total = 0
    for monomial, k in p:
        term = abs(k)
        for atom, power in monomial:
            term *= _largest_atom(atom, ceilings) ** power
        total += term
    return total


def _largest_atom(atom: Atom, ceilings: Mapping[str, int]) -> int:
    match atom:
        case Name(name):
            return max(1, ceilings[name])
        case Floor(a, b) | Mod(a, b):
            (x, y), (z, w) = _largest(a, ceilings), _largest(b, ceilings)
            return max(x, z) if y == w == 1 else x * y * z * w
