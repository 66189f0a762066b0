"""Tests that an index written in digits (quotients and remainders of nested divisors) has the same
value as before, and that every quotient in it is taken apart."""

import pytest

from codegen.index.atoms import quot
from codegen.index.index import from_atom, var
from codegen.index.mixed_radix_digits import digits, plus
from codegen.index.substitute import evaluate

X = var("x", 0, 95)


@pytest.mark.parametrize("a", [2, 4, 6])
@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("s", [0, 1, 5])
def test_a_quotient_becomes_digits_beside_one_of_a_multiple(a: int, d: int, s: int) -> None:
    """In the sum 3·(x // a) + 40·((x + s·a) // (a·d)), written in digits, x // a no longer occurs,
    and the sum has the same values. By the law (x + s·a) // (a·d) = (x // a + s) // d, x // a is d
    times the second quotient, and a digit."""
    finer, coarse = quot(X, a), quot(X + s * a, a * d)
    whole = plus(from_atom(finer) * 3, from_atom(coarse), 40)
    apart = digits(whole)
    assert finer.key not in {atom.key for atom, _ in apart.terms}
    assert {coarse.key} < {atom.key for atom, _ in apart.terms}
    for x in range(96):
        assert evaluate(apart, {"x": x}) == 3 * (x // a) + 40 * ((x + s * a) // (a * d))
