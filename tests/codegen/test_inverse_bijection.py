"""Tests of the inverses of bijections on indices: digits that move, rows that are turned."""

from collections.abc import Callable

import pytest

from codegen.index.index import Index, var
from codegen.index.inverse_bijection import inverse
from codegen.index.substitute import evaluate


def crossed(by: int) -> Callable[[Index], Index]:
    """Rows of eight whose places are exchanged as digits of the row's number say."""

    def f(i: Index) -> Index:
        added = [(i // digit + i // 8 * by // digit) % 2 * digit for digit in (1, 2, 4)]
        return i // 8 * 8 + added[0] + added[1] + added[2]

    return f


FUNCTIONS: dict[str, tuple[int, Callable[[Index], Index]]] = {
    "backwards": (12, lambda i: i * -1 + 11),
    "digits exchanged": (12, lambda i: i % 4 * 3 + i // 4),
    "turned as a whole": (12, lambda i: (i + 5) % 12),
    "rows crossed by one": (64, crossed(1)),
    "rows crossed by two": (48, crossed(2)),
    "rows crossed by three": (16, crossed(3)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_bijection_after_its_inverse_is_the_identity(name: str) -> None:
    n, f = FUNCTIONS[name]
    back = inverse(f, n)
    assert back is not None
    j = var("j", 0, n - 1)
    for at in range(n):
        i = evaluate(back(j), {"j": at})
        assert 0 <= i < n
        assert evaluate(f(var("i", 0, n - 1)), {"i": i}) == at


@pytest.mark.parametrize("k", range(1, 8))
def test_what_is_no_bijection_has_no_inverse(k: int) -> None:
    assert inverse(lambda i: i // 8 * 8 + (i * 2 + i // 8 * k) % 8, 64) is None
    assert inverse(lambda i: i // 8 * 8 + (i + i // 4 * k) % 8, 64) is None
