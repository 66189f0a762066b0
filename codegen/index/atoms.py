"""The atoms of index arithmetic, of which an `Index` adds up multiples.

Each atom carries a `key`, its text, which orders atoms and decides their equality; the inclusive
range `lo … hi` of its values (None: unbounded); and the names of the variables in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ir.core.frozen import distinct

if TYPE_CHECKING:
    from codegen.index.index import Index

Bound = int | None


@distinct
class Var:
    """An integer variable; within one kernel a name has one range."""

    key: str
    lo: Bound
    hi: Bound
    names: frozenset[str]


@distinct
class Quot:
    """The quotient ⌊index / divisor⌋, with divisor ≥ 2."""

    key: str
    lo: Bound
    hi: Bound
    names: frozenset[str]
    index: Index
    divisor: int


@distinct
class Rem:
    """The remainder index − divisor · ⌊index / divisor⌋, with divisor ≥ 2."""

    key: str
    lo: Bound
    hi: Bound
    names: frozenset[str]
    index: Index
    divisor: int


@distinct
class Product:
    """The product of two or more atoms, none of them a product."""

    key: str
    lo: Bound
    hi: Bound
    names: frozenset[str]
    factors: tuple[Atom, ...]


@distinct
class Min:
    """The smaller of two indices, whose order is not known."""

    key: str
    lo: Bound
    hi: Bound
    names: frozenset[str]
    left: Index
    right: Index


@distinct
class Max:
    """The larger of two indices, whose order is not known."""

    key: str
    lo: Bound
    hi: Bound
    names: frozenset[str]
    left: Index
    right: Index


@distinct
class Assume:
    """The value of `index` where an enclosing guard keeps it inside `lo … hi`."""

    key: str
    lo: Bound
    hi: Bound
    names: frozenset[str]
    index: Index


Atom = Var | Quot | Rem | Product | Min | Max | Assume


def named(name: str, lo: Bound, hi: Bound) -> Var:
    """The variable `name`, lo ≤ name ≤ hi."""
    if not name.isidentifier():
        raise ValueError(f"expected an identifier as the name of an index variable, found {name!r}")
    if lo is not None and hi is not None and lo > hi:
        raise ValueError(f"expected a range with a value for {name}, found {lo} … {hi}")
    return Var(name, lo, hi, frozenset((name,)))


def quot(x: Index, d: int) -> Quot:
    """The quotient of an index, with its range: lo ≤ x ≤ hi  ⇒  ⌊lo/d⌋ ≤ ⌊x/d⌋ ≤ ⌊hi/d⌋."""
    lo = None if x.lo is None else x.lo // d
    hi = None if x.hi is None else x.hi // d
    return Quot(f"({x.key}/{d})", lo, hi, x.names, x, d)


def rem(x: Index, d: int) -> Rem:
    """The remainder of an index, with its range: 0 ≤ x % d ≤ d − 1, and x % d ≤ hi where 0 ≤ x ≤
    hi."""
    small = x.lo is not None and x.lo >= 0 and x.hi is not None and x.hi < d
    return Rem(f"({x.key}%{d})", 0, x.hi if small else d - 1, x.names, x, d)


def product(factors: tuple[Atom, ...]) -> Product:
    """The product of atoms, with its range: between the least and the greatest product of their
    bounds."""
    lo, hi = factors[0].lo, factors[0].hi
    for factor in factors[1:]:
        lo, hi = _range_of_product(lo, hi, factor.lo, factor.hi)
    names = frozenset[str]().union(*(factor.names for factor in factors))
    return Product("*".join(factor.key for factor in factors), lo, hi, names, factors)


def smaller(x: Index, y: Index) -> Min:
    """The minimum of two indices, with its range: min(lo, lo′) ≤ min(x, y) ≤ min(hi, hi′)."""
    x, y = (x, y) if x.key <= y.key else (y, x)
    lo = None if x.lo is None or y.lo is None else min(x.lo, y.lo)
    hi = min((bound for bound in (x.hi, y.hi) if bound is not None), default=None)
    return Min(f"min({x.key},{y.key})", lo, hi, x.names | y.names, x, y)


def larger(x: Index, y: Index) -> Max:
    """The maximum of two indices, with its range: max(lo, lo′) ≤ max(x, y) ≤ max(hi, hi′)."""
    x, y = (x, y) if x.key <= y.key else (y, x)
    lo = max((bound for bound in (x.lo, y.lo) if bound is not None), default=None)
    hi = None if x.hi is None or y.hi is None else max(x.hi, y.hi)
    return Max(f"max({x.key},{y.key})", lo, hi, x.names | y.names, x, y)


def assumed(x: Index, lo: Bound, hi: Bound) -> Assume:
    """The index x with the assumption lo ≤ x ≤ hi, which must hold wherever the result is
    evaluated."""
    return Assume(f"[{x.key}:{lo}:{hi}]", lo, hi, x.names, x)


def _range_of_product(a: Bound, b: Bound, c: Bound, d: Bound) -> tuple[Bound, Bound]:
    if a is not None and b is not None and c is not None and d is not None:
        ends = (a * c, a * d, b * c, b * d)
        return min(ends), max(ends)
    if a is None or a < 0 or c is None or c < 0:
        return None, None
    return a * c, None
