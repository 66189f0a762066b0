"""The width of vectors: all sums of a program have one width, which divides what each of them goes
over."""

# key: e term, n number of steps

from collections.abc import Iterator
from math import gcd

from ir.core.nodes import Expr, Reduce
from ir.core.size import Size
from ir.core.terms import children
from ir.core.type_rules import size_of
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.strategy import attempt, skip
from rewrites.kernels.register_block import trips, weight
from rewrites.number_laws.units import round_fold

ROUND = 4  # what is rounded up is a multiple of this


def has_width(n: Size) -> bool:
    """True if n may be split into vectors: it is a multiple of 2 or 3, or its value is not known
    yet."""
    return not isinstance(n, int) or gcd(n, 2 * 3) > 1


def common(e: Expr) -> int:
    """The number that the width of vectors must divide: the greatest common divisor of the lengths
    of all sums in e that are known, or, if no width divides it, of these lengths with the odd ones
    rounded up. 0 if no length is known, so that any width will do."""
    steps = [n for n in _longest(e) if isinstance(n, int)]
    exact = gcd(*steps)
    return exact if has_width(exact) else gcd(*(n + n % 2 * (-n % ROUND) for n in steps))


def rounded(multiple: int) -> Strategy:
    """The strategy that lengthens a sum, by units of its operator, if no width of vectors divides
    both its length and `multiple`; other sums stay as they are."""

    def run(e: Expr) -> Rewritten | None:
        n = size_of(e.xs) if isinstance(e, Reduce) else None
        odd = isinstance(n, int) and not has_width(gcd(n, multiple))
        return attempt(round_fold(k=ROUND))(e) if odd else skip(e)

    return run


def _longest(e: Expr) -> Iterator[Size]:
    """The length of the longest loop of each nest of sums in e: vectors go along these."""
    if isinstance(e, Reduce):
        yield max(trips(e), key=weight)
    for c in (e.init, e.xs) if isinstance(e, Reduce) else children(e):
        yield from _longest(c)
