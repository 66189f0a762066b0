"""The parameters that must divide a size, or have a list of values, so that few candidates are
tried instead of a range."""

# key: n size, p parameter, m divisor

from collections.abc import Iterable
from functools import lru_cache
from itertools import product

from constraints.relations.relations import Divides, OneOf, Relation, scope
from ir.core.size import Name, Nat, Size, denominator, named, names, same


@lru_cache(maxsize=1 << 16)
def divisors(n: int) -> tuple[int, ...]:
    """The divisors of n >= 1, in order."""
    found = [1]
    for prime, power in _factors(n):
        found = [a * prime**k for a, k in product(found, range(power + 1))]
    return tuple(sorted(found))


def _factors(n: int) -> list[tuple[int, int]]:
    found, prime = [], 2
    while prime * prime <= n:
        k = 0
        while n % prime == 0:
            n, k = n // prime, k + 1
        if k:
            found.append((prime, k))
        prime += 1 if prime == 2 else 2
    return [*found, (n, 1)] if n > 1 else found


Form = tuple[Size, Size]
"""(n, shift): the parameter plus the shift divides n"""


def divisor_forms(p: str, relations: Iterable[Relation]) -> list[Form]:
    """The pairs (n, shift) such that a relation demands that p + shift divides n."""
    return [form for r in relations if p in scope(r) and (form := _form(p, r)) is not None]


def _form(p: str, r: Relation) -> Form | None:
    """The pair (n, shift) of a relation `m | n` with m = p + shift, or (n, 0) with m = p * rest;
    otherwise None."""
    match r:
        case Divides(Nat() as m, n) if p not in names(n) and denominator(m) == 1:
            shift = m - named(p)
            if p not in names(shift):
                return n, shift
            if len(m.num) == 1 and any(atom == Name(p) for atom, _ in m.num[0][0]):
                return n, 0
    return None


def listed(p: str, relations: Iterable[Relation]) -> tuple[int, ...] | None:
    """The values that a relation lists for the parameter p; None if no relation lists them."""
    for r in relations:
        match r:
            case OneOf(a, values) if same(a, named(p)):
                return tuple(sorted(set(values)))
    return None
