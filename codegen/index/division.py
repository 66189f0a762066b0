"""The quotients and remainders of indices by positive numbers, and how they are put back together.

Key: x y indices, k l coefficients, c constant, d divisor, q quotient.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd
from typing import TYPE_CHECKING

from codegen.index import index as sums
from codegen.index.atoms import Quot, Rem, quot, rem
from ir.core.frozen import frozen

if TYPE_CHECKING:
    from codegen.index.index import Index, Term


def quotient(x: Index, d: int) -> Index:
    """The index ⌊x / d⌋, d ≥ 1, simplified by these laws:

    x // d = q                          if q·d ≤ x < q·d + d
    (d·x + y) // d = x + y // d
    (g·x + y) // (g·d) = x // d         if 0 ≤ y < g
    (x // a + y) // d = (x + a·y) // (a·d)
    (x % (a·d)) // d = (x // d) % a
    (k·(x // a) + l·x + y) // d = m·(x // a)    if k + l·a = m·d and 0 ≤ l·(x % a) + y < d
    """
    if d == 1:
        return x
    block = _block(x, d)
    if block is not None:
        return sums.constant(block)
    outer, rest = _pulled(x, d)
    if outer is not None:
        return outer + quotient(rest, d)
    coarse = _coarse(x, d)
    if coarse is not None:
        return quotient(coarse.index, d // coarse.grain)
    for atom, k in x.terms:
        if isinstance(atom, Quot) and k == 1:
            a = atom.divisor
            return quotient(atom.index + a * _without(atom.key, x), a * d)
    match x.terms:
        case ((Rem(index=y, divisor=m), 1),) if m % d == 0 and x.constant == 0:
            return remainder(quotient(y, d), m // d)
    for outer, rest in _digits(x, d):
        block = _block(rest, d)
        if block is not None:
            return outer + block
    return sums.from_atom(quot(x, d))


def remainder(x: Index, d: int) -> Index:
    """The index x − d·⌊x / d⌋, d ≥ 1, simplified by these laws:

    x % d = x − q·d                      if q·d ≤ x < q·d + d
    (d·x + y) % d = y % d
    (g·x + y) % (g·d) = g·(x % d) + y    if 0 ≤ y < g
    (k·(x % m) + y) % d = (k·x + y) % d  if d divides k·m
    (k·(x // a) + l·x + y) % d = l·(x % a) + y    if d divides k + l·a and 0 ≤ l·(x % a) + y < d
    """
    if d == 1:
        return sums.constant(0)
    block = _block(x, d)
    if block is not None:
        return sums.shifted(x, -d * block)
    outer, rest = _pulled(x, d)
    if outer is not None:
        return remainder(rest, d)
    coarse = _coarse(x, d)
    if coarse is not None:
        return remainder(coarse.index, d // coarse.grain) * coarse.grain + coarse.fine
    for atom, k in x.terms:
        if isinstance(atom, Rem) and k * atom.divisor % d == 0:
            return remainder(_without(atom.key, x) + k * atom.index, d)
    for _, rest in _digits(x, d):
        block = _block(rest, d)
        if block is not None:
            return sums.shifted(rest, -d * block)
    return sums.from_atom(rem(x, d))


def _digits(x: Index, d: int) -> Iterator[tuple[Index, Index]]:
    """The pairs (m·(y // a), l·(y % a) + z), one for each variable y with x = k·(y // a) + l·y + z
    and k + l·a = m·d: then x = d·m·(y // a) + l·(y % a) + z."""
    held = {atom.key: l for atom, l in x.terms}
    for atom, k in x.terms:
        if not isinstance(atom, Quot) or atom.index.constant or len(atom.index.terms) != 1:
            continue
        ((y, once),) = atom.index.terms
        l = held.get(y.key, 0)
        if once == 1 and l and (k + l * atom.divisor) % d == 0:
            fine = sums.from_atom(rem(atom.index, atom.divisor)) * l
            outer = sums.from_atom(atom) * ((k + l * atom.divisor) // d)
            yield outer, _without(y.key, _without(atom.key, x)) + fine


def _block(x: Index, d: int) -> int | None:
    """The q with q·d ≤ x < q·d + d, if the range of x shows that there is one; else None."""
    if x.lo is None or x.hi is None:
        return None
    q = x.lo // d
    return q if q == x.hi // d else None


def _pulled(x: Index, d: int) -> tuple[Index | None, Index]:
    """The indices outer and rest with x = d·outer + rest, where the coefficients of rest are in
    −d+1 … d−1; outer is None if it would be 0."""
    c = x.constant // d
    outer: list[Term] = []
    rest: list[Term] = []
    for term in x.terms:
        atom, k = term
        if -d < k < d:
            rest.append(term)
            continue
        q = k // d if k > 0 else -(-k // d)
        outer.append((atom, q))
        if k != q * d:
            rest.append((atom, k - q * d))
    if not outer and not c:
        return None, x
    return sums.summed(tuple(outer), c), sums.summed(tuple(rest), x.constant - c * d)


@frozen
class _Coarse:
    """An index as grain·index + fine, with 0 ≤ fine < grain."""

    grain: int
    index: Index
    fine: Index


def _coarse(x: Index, d: int) -> _Coarse | None:
    """The index x in units of g, the largest divisor of d such that the rest of x stays below g;
    None if there is no such divisor."""
    grains = {gcd(k, d) for _, k in x.terms}
    grains.add(gcd(*grains))
    for g in sorted(grains, reverse=True):
        if g == 1:
            return None
        fine = sums.summed(tuple([term for term in x.terms if term[1] % g]), x.constant % g)
        block = _block(fine, g)
        if block is not None:
            terms = tuple([(atom, k // g) for atom, k in x.terms if k % g == 0])
            return _Coarse(
                g, sums.summed(terms, x.constant // g + block), sums.shifted(fine, -g * block)
            )
    return None


# putting quotients and remainders back together


def recombined(x: Index) -> Index:
    """The index x with its first remainder put back together with its quotient, if x has that too.

    d·(x // d) + x % d = x
    b·((x // b) % a) + x % b = x % (a·b)
    """
    for atom, k in x.terms:
        if isinstance(atom, Rem) and _has_partner(x, k * atom.divisor):
            whole = _whole(x, atom, k)
            if whole is not None:
                return whole
    return x


def _has_partner(x: Index, step: int) -> bool:
    return any(isinstance(atom, Quot | Rem) and _contains(k, step) for atom, k in x.terms)


def _contains(k: int, step: int) -> bool:
    """True if a coefficient k is `step`, or of the same sign and larger."""
    return k >= step if step > 0 else k <= step


def _whole(x: Index, part: Rem, k: int) -> Index | None:
    """The index x with k·(y // d) and its remainder y % d (`part`) replaced by what they make
    together; None if x does not contain this quotient."""
    d = part.divisor
    step = k * d
    q = quotient(part.index, d)
    held = {atom.key: l for atom, l in x.terms}
    if q.terms and all(_contains(held.get(atom.key, 0), step * l) for atom, l in q.terms):
        taken = tuple([(atom, -step * l) for atom, l in q.terms])
        rest = sums.summed(
            sums.merged(_without(part.key, x).terms, taken), x.constant - step * q.constant
        )
        return rest + k * part.index
    for atom, l in x.terms:
        if l == step and isinstance(atom, Rem) and _congruent(q, atom.index, atom.divisor):
            both = remainder(part.index, d * atom.divisor)
            return _without(atom.key, _without(part.key, x)) + k * both
    return None


def _without(key: str, x: Index) -> Index:
    return sums.summed(tuple([term for term in x.terms if term[0].key != key]), x.constant)


def _congruent(x: Index, y: Index, d: int) -> bool:
    """True if x % d = y % d, whatever the values of the atoms."""
    difference = x - y
    return difference.constant % d == 0 and all(k % d == 0 for _, k in difference.terms)
