"""The share of the executions of a guarded statement in which its guard holds.

The ids of work-items and the counters of loops each take all their values equally often, and
independently of each other.
"""

# key: x an index, n a number of values

from collections.abc import Mapping
from math import prod

import numpy as np
from numpy.typing import NDArray

from codegen.index.atoms import Atom, Max, Min, Product, Quot, Rem, Var
from codegen.index.condition import Condition
from codegen.index.index import Index

Numbers = NDArray[np.int64]

MOST = 1 << 20  # choices that are all tried
DRAWN = 1 << 16  # of more


def share(guard: Condition, counts: Mapping[str, int]) -> float:
    """The share of all choices of values for the variables of a condition in which it holds;
    variable v is one of 0 … counts[v] − 1. If there are more than a million choices, drawn ones
    stand for all."""
    return prod(_share(parts, counts) for parts in _apart(guard.parts))


def _apart(parts: tuple[Index, ...]) -> list[list[Index]]:
    """The parts of a condition in groups that have no variable in common."""
    groups: list[list[Index]] = []
    for part in parts:
        near = [g for g in groups if any(not part.names.isdisjoint(x.names) for x in g)]
        groups = [g for g in groups if g not in near] + [[part, *(x for g in near for x in g)]]
    return groups


def _share(parts: list[Index], counts: Mapping[str, int]) -> float:
    names = sorted(frozenset[str]().union(*(part.names for part in parts)))
    every = [counts[name] for name in names]
    values: dict[str, Numbers]
    if prod(every) <= MOST:
        axes = np.ix_(*(np.arange(n, dtype=np.int64) for n in every))
        values = dict(zip(names, axes, strict=True))
    else:
        random = np.random.default_rng(0)
        values = {name: random.integers(0, counts[name], DRAWN) for name in names}
    holds = np.broadcast_arrays(*[_numbers(part, values) >= 0 for part in parts])
    return float(np.logical_and.reduce(holds).mean())


def _numbers(x: Index, values: Mapping[str, Numbers]) -> Numbers:
    """The index x at each of the values of its variables."""
    total: Numbers = np.asarray(x.constant, np.int64)
    for atom, k in x.terms:
        total = total + k * _of_atom(atom, values)
    return total


def _of_atom(atom: Atom, values: Mapping[str, Numbers]) -> Numbers:
    match atom:
        case Var(key):
            return values[key]
        case Quot(index=x, divisor=d):
            return _numbers(x, values) // d
        case Rem(index=x, divisor=d):
            return _numbers(x, values) % d
        case Min(left=x, right=y):
            return np.minimum(_numbers(x, values), _numbers(y, values))
        case Max(left=x, right=y):
            return np.maximum(_numbers(x, values), _numbers(y, values))
        case Product(factors=factors):
            return np.asarray(prod(_of_atom(f, values) for f in factors))
        case _:
            return _numbers(atom.index, values)
