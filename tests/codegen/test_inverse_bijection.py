"""Tests of the inverses of bijections on indices: digits that move, rows that are turned."""

from collections.abc import Callable

import pytest

from codegen.index.index import Index, var
from codegen.index.inverse_bijection import inverse
from codegen.index.substitute import evaluate


def turned(d: int, k: int) -> Callable[[Index], Index]:
    return lambda i: i // d * d + (i + i // d * k) % d


FUNCTIONS: dict[str, tuple[int, Callable[[Index], Index]]] = {
    "backwards": (12, lambda i: i * -1 + 11),
    "digits exchanged": (12, lambda i: i % 4 * 3 + i // 4),
    "turned as a whole": (12, lambda i: (i + 5) % 12),
    "rows turned by one more": (64, turned(8, 1)),
    "rows turned back": (64, turned(8, 7)),
    "rows turned by two more": (48, turned(8, 2)),
    "few rows": (12, turned(6, 5)),
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
