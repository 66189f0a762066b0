"""The signs of symbolic sizes, and comparisons of them, whatever values their parameters have."""

# key: n a b c sizes, p polynomial, x atom, m monomial, k coefficient

from collections.abc import Iterator
from functools import lru_cache
from math import gcd

from ir.core.size import (
    ONE,
    Atom,
    Floor,
    Mod,
    Name,
    Poly,
    Size,
    denominator,
    exact,
    numerator,
    quotient,
)


@lru_cache(maxsize=1 << 14)
def non_negative(n: Size) -> bool:
    """True if n >= 0 is seen from its form: no term of n, or of a lower bound of n, is negative."""
    if isinstance(n, int):
        return n >= 0
    if not _added(n.den):
        return False
    return _added(n.num) or any(map(non_negative, _lower_bounds(numerator(n))))


def _added(p: Poly) -> bool:
    """True if every term of the polynomial p is 0 or more."""
    return all(k > 0 and all(_counts(x) for x, _ in monomial) for monomial, k in p)


def _counts(x: Atom) -> bool:
    """True if the atom x, a parameter, quotient or remainder, is 0 or more."""
    match x:
        case Name() | Mod():
            return True
        case Floor(a, _):
            return non_negative(a)


def _lower_bounds(n: Size) -> Iterator[Size]:
    """Lower bounds of n, each with one quotient floor(a / b) or remainder replaced by a bound of
    its own."""
    p = () if isinstance(n, int) else n.num
    for x in dict.fromkeys(x for monomial, _ in p for x, power in monomial if power == 1):
        one, c = quotient(((((x, 1),), 1),), ONE), _factor(p, x)
        match x:
            case Floor(a, b) if denominator(exact(c, b)) == 1:
                if non_negative(-exact(c, b)):
                    yield n - c * one + exact(c, b) * a
                elif non_negative(exact(c, b)):
                    yield n - c * one + exact(c, b) * (a - b + 1)
            case Mod(_, b) if non_negative(-c):
                yield n - c * one + c * (b - 1)


def _factor(p: Poly, x: Atom) -> Size:
    """The factor of the atom x in the polynomial p: what p's terms multiply x with."""
    alone = [(tuple(f for f in m if f != (x, 1)), k) for m, k in p if (x, 1) in m]
    return sum((quotient(((m, k),), ONE) for m, k in alone), start=0)


def divides(k: Size, n: Size) -> bool:
    """False if k is a number below 1, or if n is a number that k cannot divide, whatever k's
    parameters are (8 * k divides no 5); else True. Whether a size with parameters is divisible is
    asked later, by the types."""
    if isinstance(k, int) and k < 1:
        return False
    return not isinstance(n, int) or n % _part(k) == 0


def _part(k: Size) -> int:
    """A number that divides k for all values of its parameters: the largest, if k is no
    quotient."""
    if isinstance(k, int):
        return k
    return gcd(*(times for _, times in k.num)) if k.den == ONE else 1


def at_most(a: Size, b: Size) -> bool:
    """False if a and b are numbers and a > b, else True: nothing is decided for sizes with
    parameters."""
    return a <= b if isinstance(a, int) and isinstance(b, int) else True
