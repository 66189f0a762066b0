"""Index arithmetic: Σ kᵢ·atomᵢ + c over the integers, kept in normal form, with its range.

`//` and `%` round as Python's do: x = d·(x // d) + x % d with 0 ≤ x % d < d, d a positive number.
Equations in the doc strings are laws: the tests prove each one. A law with a side condition is
used only where ranges prove the condition.

Two indices are equal when their normal forms are, and variables are equal by name: do not cache
results by index across kernels, where one name may have two ranges.

Key: x y indices, k l coefficients, c constant, d divisor.
"""

from collections.abc import Iterator
from dataclasses import field

from codegen.index import division as divide
from codegen.index.atoms import (
    Assume,
    Atom,
    Bound,
    Max,
    Min,
    Product,
    Quot,
    Rem,
    Var,
    assumed,
    larger,
    named,
    product,
    smaller,
)
from ir.core.frozen import distinct

Term = tuple[Atom, int]


@distinct
class Index:
    """The sum Σ k·atom + constant, in lo … hi; terms are in order of their atoms' keys, and no k is
    0."""

    terms: tuple[Term, ...]
    constant: int
    lo: Bound
    hi: Bound
    _key: str = field(default="", init=False)

    @property
    def key(self) -> str:
        """The normal form as text: equal for equal indices, and only for them."""
        if not self._key:
            object.__setattr__(self, "_key", _text(self.terms, self.constant))
        return self._key

    @property
    def names(self) -> frozenset[str]:
        """The names of the variables in the index."""
        if len(self.terms) == 1:
            return self.terms[0][0].names
        return frozenset[str]().union(*(atom.names for atom, _ in self.terms))

    @property
    def is_constant(self) -> bool:
        return not self.terms

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Index) and self.key == other.key)

    def __repr__(self) -> str:
        return f"Index({self.key})"

    def __add__(self, other: "Index | int") -> "Index":
        if isinstance(other, int):
            return shifted(self, other)
        return _plus(self, other)

    def __sub__(self, other: "Index | int") -> "Index":
        return self + -other

    def __rsub__(self, other: int) -> "Index":
        return -self + other

    def __neg__(self) -> "Index":
        return _times(self, -1)

    def __mul__(self, other: "Index | int") -> "Index":
        if isinstance(other, int):
            return _times(self, other)
        return _multiplied(self, other)

    def __floordiv__(self, divisor: "Index | int") -> "Index":
        return divide.quotient(self, _positive(divisor))

    def __mod__(self, divisor: "Index | int") -> "Index":
        return divide.remainder(self, _positive(divisor))

    __radd__ = __add__
    __rmul__ = __mul__


def constant(c: int) -> Index:
    return Index((), c, c, c)


def var(name: str, lo: Bound, hi: Bound) -> Index:
    """The variable of this name with lo ≤ name ≤ hi; one with a single value is that value."""
    if lo is not None and lo == hi:
        return constant(lo)
    return from_atom(named(name, lo, hi))


def as_index(x: Index | int) -> Index:
    return x if isinstance(x, Index) else constant(x)


# sums and products


def summed(terms: tuple[Term, ...], c: int) -> Index:
    """The index of ordered terms and the constant c; its range is the sum of the terms' ranges and
    c."""
    lo: Bound = c
    hi: Bound = c
    for atom, k in terms:
        low, high = (atom.lo, atom.hi) if k > 0 else (atom.hi, atom.lo)
        lo = None if lo is None or low is None else lo + k * low
        hi = None if hi is None or high is None else hi + k * high
    return Index(terms, c, lo, hi)


def shifted(x: Index, c: int) -> Index:
    """The index x + c: (Σ kᵢ·aᵢ + c) + c′ = Σ kᵢ·aᵢ + (c + c′)."""
    if not c:
        return x
    lo = None if x.lo is None else x.lo + c
    hi = None if x.hi is None else x.hi + c
    return Index(x.terms, x.constant + c, lo, hi)


def from_atom(atom: Atom) -> Index:
    return Index(((atom, 1),), 0, atom.lo, atom.hi)


def operands_of(atom: Atom) -> tuple[Index, ...]:
    """The indices directly inside an atom."""
    match atom:
        case Quot(index=x) | Rem(index=x) | Assume(index=x):
            return (x,)
        case Min(left=x, right=y) | Max(left=x, right=y):
            return (x, y)
        case Product(factors=factors):
            return tuple(map(from_atom, factors))
        case Var():
            return ()


def inner_atoms(index: Index) -> Iterator[Atom]:
    """The atoms of an index, and all atoms inside them."""
    for atom, _ in index.terms:
        yield atom
        for operand in operands_of(atom):
            yield from inner_atoms(operand)


def _plus(x: Index, y: Index) -> Index:
    if not y.terms:
        return shifted(x, y.constant)
    if not x.terms:
        return shifted(y, x.constant)
    total = summed(merged(x.terms, y.terms), x.constant + y.constant)
    return divide.recombined(total) if len(total.terms) > 1 else total


def merged(xs: tuple[Term, ...], ys: tuple[Term, ...]) -> tuple[Term, ...]:
    """The sum of two ordered lists of terms: k·a + k′·a = (k + k′)·a."""
    out: list[Term] = []
    i = j = 0
    while i < len(xs) and j < len(ys):
        (x, k), (y, l) = xs[i], ys[j]
        if x is y or x.key == y.key:
            if k + l:
                out.append((x, k + l))
            i, j = i + 1, j + 1
        elif x.key < y.key:
            out.append(xs[i])
            i += 1
        else:
            out.append(ys[j])
            j += 1
    return (*out, *xs[i:], *ys[j:])


def _times(x: Index, k: int) -> Index:
    """The index k·x: k·(Σ kᵢ·aᵢ + c) = Σ (k·kᵢ)·aᵢ + k·c."""
    if k == 1:
        return x
    if k == 0:
        return constant(0)
    lo = None if x.lo is None else k * x.lo
    hi = None if x.hi is None else k * x.hi
    terms = tuple([(atom, k * l) for atom, l in x.terms])
    return Index(terms, k * x.constant, lo, hi) if k > 0 else Index(terms, k * x.constant, hi, lo)


def _multiplied(x: Index, y: Index) -> Index:
    """The product of two indices: (Σ kᵢ·aᵢ + c)·y = Σ kᵢ·(aᵢ·y) + c·y."""
    if not x.terms or not y.terms:
        return _times(y, x.constant) if not x.terms else _times(x, y.constant)
    total = _times(y, x.constant) + _times(summed(x.terms, 0), y.constant)
    for a, k in x.terms:
        for b, l in y.terms:
            total += _times(from_atom(product(_factors(a, b))), k * l)
    return total


def _factors(*atoms: Atom) -> tuple[Atom, ...]:
    flat = [f for atom in atoms for f in (atom.factors if isinstance(atom, Product) else (atom,))]
    return tuple(sorted(flat, key=lambda atom: atom.key))


def _text(terms: tuple[Term, ...], c: int) -> str:
    parts = [atom.key if k == 1 else f"{k}*{atom.key}" for atom, k in terms]
    return "+".join([*parts, str(c)] if c or not parts else parts)


# order and knowledge


def minimum(x: Index | int, y: Index | int) -> Index:
    """The smaller of two indices: min(x, y) = x  if x ≤ y."""
    x, y = as_index(x), as_index(y)
    ordered = _ordered(x, y)
    return ordered[0] if ordered else from_atom(smaller(x, y))


def maximum(x: Index | int, y: Index | int) -> Index:
    """The larger of two indices: max(x, y) = y  if x ≤ y."""
    x, y = as_index(x), as_index(y)
    ordered = _ordered(x, y)
    return ordered[1] if ordered else from_atom(larger(x, y))


def _ordered(x: Index, y: Index) -> tuple[Index, Index] | None:
    """The pair of x and y, the smaller first; None if their ranges do not tell which that is."""
    difference = x - y
    if difference.hi is not None and difference.hi <= 0:
        return x, y
    if difference.lo is not None and difference.lo >= 0:
        return y, x
    return None


def assume(x: Index, lo: Bound = None, hi: Bound = None) -> Index:
    """The index x where an enclosing guard has made sure that lo ≤ x ≤ hi.

    assume(x + c, lo, hi) = assume(x, lo − c, hi − c) + c

    A range that contradicts what is known marks code that never runs: x stays as it is.
    """
    low = lo if x.lo is None else x.lo if lo is None else max(x.lo, lo)
    high = hi if x.hi is None else x.hi if hi is None else min(x.hi, hi)
    if (low == x.lo and high == x.hi) or (low is not None and high is not None and low > high):
        return x
    if low is not None and low == high:
        return constant(low)
    c = x.constant
    low, high = None if low is None else low - c, None if high is None else high - c
    inner = shifted(x, -c)
    match inner.terms:
        case ((Assume() as known, 1),):
            inner = known.index
    return shifted(from_atom(assumed(inner, low, high)), c)


def _positive(d: Index | int) -> int:
    if isinstance(d, Index) and not d.terms:
        d = d.constant
    if isinstance(d, Index) or d < 1:
        raise ValueError(f"expected a positive constant as divisor of an index, found {d}")
    return d
