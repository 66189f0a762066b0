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
    """By the law (x + s·a) // (a·d) = (x // a + s) // d, the quotient x // a is replaced by d times
    the coarser quotient plus one more digit: x // a is a term of the sum no more, and the sum has
    the same values."""
    finer, coarse = quot(X, a), quot(X + s * a, a * d)
    whole = plus(from_atom(finer) * 3, from_atom(coarse), 40)
    apart = digits(whole)
    assert finer.key not in {atom.key for atom, _ in apart.terms}
    assert {coarse.key} < {atom.key for atom, _ in apart.terms}
    for x in range(96):
        assert evaluate(apart, {"x": x}) == 3 * (x // a) + 40 * ((x + s * a) // (a * d))
