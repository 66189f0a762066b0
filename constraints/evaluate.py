"""Relations as functions of columns, one row a point: exact, in int64 or in Python's integers."""

# key: a b sizes, p polynomial, c columns by parameter, k integer coefficient

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from constraints.terms import AllOf, AnyOf, AtMost, Divides, Equal, OneOf, Relation
from ir.nat import ONE, Atom, Floor, Mod, Name, Poly, Size

Column: TypeAlias = NDArray[np.int64] | NDArray[np.object_]
Columns: TypeAlias = Mapping[str, Column]
Mask: TypeAlias = NDArray[np.bool_]

SAFE = 2**62


def column(values: list[int]) -> Column:
    """Integers as int64 where they fit, else as Python's own."""
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:
        return np.array(values, dtype=object)


def predicate(r: Relation, ceilings: Mapping[str, int]) -> Callable[[Columns], Mask]:
    """A relation over columns whose values are at most `ceilings`."""
    test = _relation(r)
    if _magnitude(r, ceilings) < SAFE:
        return test
    return lambda c: test({name: v.astype(object) for name, v in c.items()})


def evaluate(a: Size, c: Columns, rows: int) -> tuple[Column, Column]:
    """Numerators and denominators of a size, one a row."""
    if isinstance(a, int):
        return _fill(a, rows), _fill(1, rows)
    return _poly(a.num, c, rows), _poly(a.den, c, rows)


def _fill(k: int, rows: int) -> Column:
    return np.full(rows, k, dtype=np.int64 if abs(k) < SAFE else object)


def _relation(r: Relation) -> Callable[[Columns], Mask]:
    match r:
        case Divides(m, n):
            return lambda c: _divides(_ratio(m, c), _ratio(n, c))
        case AtMost(x, y):
            return lambda c: _at_most(_ratio(x, c), _ratio(y, c))
        case Equal(x, y):
            return lambda c: _equal(_ratio(x, c), _ratio(y, c))
        case OneOf(x, values):
            return lambda c: _one_of(_ratio(x, c), values, c)
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
        mask &= test(c)
    return mask


def _rows(c: Columns) -> int:
    return len(next(iter(c.values()))) if c else 1


def _ratio(a: Size, c: Columns) -> tuple[Column, Column]:
    return evaluate(a, c, _rows(c))


Ratio: TypeAlias = tuple[Column, Column]


def _mask(values: object) -> Mask:
    return np.asarray(values, dtype=np.bool_)


def _divides(m: Ratio, n: Ratio) -> Mask:
    (a, b), (x, y) = m, n
    whole = _mask((b != 0) & (y != 0) & (a * b > 0))
    return whole & _mask(_mod(x * b, a * y) == 0)


def _at_most(s: Ratio, t: Ratio) -> Mask:
    (a, b), (x, y) = s, t
    if _ones(b) and _ones(y):
        return _mask(a <= x)
    return _mask((b != 0) & (y != 0) & (a * b * y * y <= x * y * b * b))


def _ones(b: Column) -> bool:
    return bool(_mask(b == 1).all())


def _equal(s: Ratio, t: Ratio) -> Mask:
    (a, b), (x, y) = s, t
    return _mask((b != 0) & (y != 0) & (a * y == x * b))


def _one_of(s: Ratio, values: tuple[int, ...], c: Columns) -> Mask:
    a, b = s
    mask = np.zeros(_rows(c), dtype=np.bool_)
    for v in values:
        mask |= _mask((b != 0) & (a == b * v))
    return mask


def _poly(p: Poly, c: Columns, rows: int) -> Column:
    total = _fill(0, rows)
    for monomial, k in p:
        term = _fill(k, rows)
        for atom, power in monomial:
            value = _atom(atom, c, rows)
            for _ in range(power):
                term = term * value
        total = total + term
    return total


def _atom(atom: Atom, c: Columns, rows: int) -> Column:
    match atom:
        case Name(name):
            return c[name]
        case Floor(a, b):
            (n, d), (m, e) = evaluate(a, c, rows), evaluate(b, c, rows)
            return _floor(n * e, d * m)
        case Mod(a, b):
            (n, d), (m, e) = evaluate(a, c, rows), evaluate(b, c, rows)
            return _floor(_mod(n * e, d * m), d * e)


def _floor(a: Column, b: Column) -> Column:
    return np.asarray(a // np.where(_mask(b == 0), 1, b))


def _mod(a: Column, b: Column) -> Column:
    return np.asarray(a % np.where(_mask(b == 0), 1, b))


def _magnitude(r: Relation, ceilings: Mapping[str, int]) -> int:
    """A bound on every number met while testing a relation."""
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
    """A bound on a size, and on what is met while it is evaluated."""
    return max(_largest(a, ceilings))


def _largest(a: Size, ceilings: Mapping[str, int]) -> tuple[int, int]:
    if isinstance(a, int):
        return max(1, abs(a)), 1
    return largest(a.num, ceilings), largest(a.den, ceilings) if a.den != ONE else 1


def largest(p: Poly, ceilings: Mapping[str, int]) -> int:
    """A bound on a polynomial, and on what is met while it is evaluated."""
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
