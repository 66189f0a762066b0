"""Polynomials over the atoms of sizes: sums of whole multiples of products of atoms, in one order.

An atom is opaque here: two are the same if they are equal, and they are sorted by their text.
"""

# key: a atom, p q polynomials, m n monomials, k c integer coefficients

from collections.abc import Mapping
from math import gcd
from typing import Never, TypeVar

from ir.core.hash_once import Hashed


class Atomic(Hashed):
    """A base class for atoms of sizes; it keeps the text by which atoms are sorted."""

    __slots__ = ("_key",)
    _key: str


A = TypeVar("A", bound=Atomic)
Monomial = tuple[tuple[A, int], ...]  # atoms and their powers
Poly = tuple[tuple[Monomial[A], int], ...]  # monomials and how often each is taken

ONE: Poly[Never] = (((), 1),)


def lowest(p: Poly[A], q: Poly[A]) -> tuple[Poly[A], Poly[A]]:
    """The polynomials p and q divided by their common factor, as far as monomials and exact
    division find it."""
    p, q = _cancel_monomial(p, q)
    if len(q) > 1:
        whole = _divide(p, q)
        if whole is not None:
            p, q = whole, ONE
        elif (inverse := _divide(q, p)) is not None:
            p, q = ONE, inverse
    return _cancel_content(p, q)


def _cancel_content(p: Poly[A], q: Poly[A]) -> tuple[Poly[A], Poly[A]]:
    k = gcd(*(c for _, c in p), *(c for _, c in q))
    if q[0][1] < 0:
        k = -k
    return _scale_down(p, k), _scale_down(q, k)


def _cancel_monomial(p: Poly[A], q: Poly[A]) -> tuple[Poly[A], Poly[A]]:
    common = _common(p + q)
    if not common:
        return p, q
    return _divide_monomial(p, common), _divide_monomial(q, common)


def _common(p: Poly[A]) -> Monomial[A]:
    shared = dict(p[0][0])
    for monomial, _ in p[1:]:
        powers = dict(monomial)
        shared = {a: min(n, powers[a]) for a, n in shared.items() if a in powers}
    return _monomial(shared)


def _divide_monomial(p: Poly[A], m: Monomial[A]) -> Poly[A]:
    return of_terms({times(monomial, m, -1): k for monomial, k in p})


def _divide(p: Poly[A], q: Poly[A]) -> Poly[A] | None:
    """The polynomial p / q if q divides p exactly, by long division on the leading monomial; else
    None."""
    lead, k = q[-1]
    result: dict[Monomial[A], int] = {}
    rest = p
    for _ in range(64):
        if not rest:
            return of_terms(result)
        top, c = rest[-1]
        step = times(top, lead, -1)
        if c % k or any(power < 0 for _, power in step):
            return None
        result[step] = c // k
        rest = add(rest, scale(multiply(q, ((step, 1),)), -(c // k)))
    return None


def add(p: Poly[A], q: Poly[A]) -> Poly[A]:
    """The sum p + q."""
    total = dict(p)
    for monomial, k in q:
        total[monomial] = total.get(monomial, 0) + k
    return of_terms(total)


def multiply(p: Poly[A], q: Poly[A]) -> Poly[A]:
    """The product p * q."""
    if p == ONE:
        return q
    if q == ONE:
        return p
    total: dict[Monomial[A], int] = {}
    for m, k in p:
        for n, c in q:
            product = times(m, n, 1)
            total[product] = total.get(product, 0) + k * c
    return of_terms(total)


def times(m: Monomial[A], n: Monomial[A], sign: int) -> Monomial[A]:
    """The product m * n, or m / n where the sign is -1: powers may then be negative."""
    powers = dict(m)
    for atom, power in n:
        powers[atom] = powers.get(atom, 0) + sign * power
    return _monomial(powers)


def scale(p: Poly[A], k: int) -> Poly[A]:
    """The product k * p."""
    return tuple((m, c * k) for m, c in p)


def _scale_down(p: Poly[A], k: int) -> Poly[A]:
    return tuple((m, c // k) for m, c in p)


def _monomial(powers: Mapping[A, int]) -> Monomial[A]:
    return tuple(sorted(((a, n) for a, n in powers.items() if n), key=lambda f: _key(f[0])))


def of_terms(terms: Mapping[Monomial[A], int]) -> Poly[A]:
    """The polynomial of these terms, ordered by degree, then by text: the last term leads."""
    return tuple(sorted(((m, k) for m, k in terms.items() if k), key=_order))


def _order(term: tuple[Monomial[A], int]) -> tuple[int, tuple[str, ...]]:
    word = tuple([_key(a) for a, n in term[0] for _ in range(n)])
    return len(word), word


def _key(a: Atomic) -> str:
    try:
        return a._key
    except AttributeError:
        object.__setattr__(a, "_key", str(a))
        return a._key
