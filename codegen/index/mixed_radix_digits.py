"""Indices written in quotients and remainders, as the digits of mixed-radix numbers.

Index arithmetic puts a quotient and its remainder together wherever it can. To take an equation
apart they must stand beside each other: then each digit has its unit, and a range below the next.

Key: k l coefficients, d divisor, x y indices.
"""

from collections.abc import Iterator

from codegen.index.atoms import Assume, Quot, rem
from codegen.index.index import Index, Term, from_atom, merged, shifted, summed

MOST_SCALE = 64  # lanes of a vector, and vectors


def digits(x: Index) -> Index:
    """The index x in which, wherever l·y stands beside k·(y // d), y is replaced by its digits y //
    d and y % d.

    l·y + k·(y // d) = (k + l·d)·(y // d) + l·(y % d)
    """
    found = [(a, k) for a, k in x.terms if isinstance(a, Quot) and a.index.terms]
    for atom, unit in sorted(found, key=_divisor):
        finer = [a for a, k in found if abs(k) < abs(unit) and _related(a, atom)]
        for y, d in _dividends(atom, finer):
            l = times_in(y, x)
            if l:
                parts: list[Term] = [(atom, l * d), (rem(y, d), l)]
                pair = summed(tuple(sorted(parts, key=_key)), 0)
                return digits(plus(plus(x, y, -l), pair))
    return x


def _related(x: Quot, y: Quot) -> bool:
    """True if the quotients x and y divide sums that have a term in common."""
    return not {atom.key for atom, _ in x.index.terms}.isdisjoint(a.key for a, _ in y.index.terms)


def _dividends(atom: Quot, quotients: list[Quot]) -> Iterator[tuple[Index, int]]:
    """The pairs (y, d) that were found with atom = y // d. First come those in which y contains one
    of `quotients`; the last is the dividend and divisor that the atom is written with."""
    for finer in quotients:
        for g in range(1, MOST_SCALE):
            d, rest = divmod(g * atom.divisor, finer.divisor)
            z = _missing(atom.index, finer, g) if not rest and d > 1 else None
            if z is not None:
                yield plus(from_atom(finer), z), d
    yield atom.index, atom.divisor


def _missing(x: Index, finer: Quot, g: int) -> Index | None:
    """The z with x // D = (y // a + z) // d, where y // a is `finer` and D and d are any divisors
    with a·d = g·D; None if no z is found.

    It holds since y + a·z = g·x + r and 0 ≤ r < g.
    """
    a = finer.divisor
    r = plus(finer.index, x, -g)
    whole: list[Term] = [(atom, -k // a) for atom, k in r.terms if k % a == 0]
    z = summed(tuple(whole), 0)
    r = plus(r, z, a)
    if r.lo is None or r.hi is None:
        return None
    c = -(r.lo // a)  # what brings the least r to 0 … a − 1
    return shifted(z, c) if r.hi + a * c < g else None


def unassumed(x: Index) -> Index:
    """The index x without its assumptions; quotients and remainders are not put together."""
    for atom, k in x.terms:
        if isinstance(atom, Assume):
            return unassumed(plus(plus(x, from_atom(atom), -k), atom.index, k))
    return x


def times_in(y: Index, x: Index) -> int:
    """The largest l for which x contains every term of l·y; 0 if there is none."""
    held = {atom.key: k for atom, k in x.terms}
    found: list[int] = []
    for atom, k in y.terms:
        l = held.get(atom.key, 0)
        found.append(l // k if l * k >= 0 else -(l // -k))
    if all(l > 0 for l in found):
        return min(found)
    return max(found) if all(l < 0 for l in found) else 0


def plus(x: Index, y: Index, k: int = 1) -> Index:
    """The index x + k·y; quotients and remainders are not put together."""
    terms = tuple([(atom, k * l) for atom, l in y.terms])
    return summed(merged(x.terms, terms), x.constant + k * y.constant)


def _divisor(term: tuple[Quot, int]) -> int:
    return term[0].divisor


def _key(term: Term) -> str:
    return term[0].key
