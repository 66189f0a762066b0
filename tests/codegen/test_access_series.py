"""Tests of series of accesses: those accesses, and only those, whose indices differ by constants
are taken together as a series."""

from itertools import product
from random import Random

from codegen.index.index import var
from codegen.proof.access_series import Lattice, as_series, lattices
from codegen.proof.accesses import Access, Where
from codegen.tree.memories import Memory, Space


def cells(lattice: Lattice) -> list[int]:
    steps = [range(0, n * d, d) for n, d in lattice.steps]
    return [lattice.c + sum(at) for at in product(*steps)]


def test_each_number_lies_in_one_lattice_and_nothing_else_does() -> None:
    random = Random(5)
    for _ in range(500):
        numbers = sorted(random.sample(range(-40, 60), random.randint(1, 40)))
        assert sorted(c for lattice in lattices(numbers) for c in cells(lattice)) == numbers


def test_a_block_of_rows_and_columns_is_one_lattice() -> None:
    block = sorted(128 * i + 4 * j for i in range(8) for j in range(16))
    assert lattices(block) == [Lattice(0, ((16, 4), (8, 128)))]


def test_a_block_of_stores_is_one_access_and_one_beside_it_stays_alone() -> None:
    memory, where = Memory("out", Space.GLOBAL, "float", 4096), Where()
    x = var("x", 0, 3)
    numbers = [128 * i + 4 * j for i in range(8) for j in range(16)] + [2000]
    found = as_series([Access(memory, x + c, 4, None, True, where, "") for c in numbers])
    assert [(a.index.lo, a.index.hi) for a in found] == [(0, 7 * 128 + 15 * 4 + 3), (2000, 2003)]


def test_an_access_that_comes_twice_is_one() -> None:
    memory, where = Memory("out", Space.GLOBAL, "float", 4096), Where()
    x = var("x", 0, 3)
    assert len(as_series([Access(memory, x, 1, None, True, where, "")] * 5)) == 1
