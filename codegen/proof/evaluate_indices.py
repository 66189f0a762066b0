"""Indices evaluated at many values of their variables at once."""

# key: x index

from collections.abc import Iterable, Mapping
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from codegen.index.atoms import Atom, Max, Min, Product, Quot, Rem, Var
from codegen.index.index import Index, inner_atoms, operands_of

Array = NDArray[np.int64]
Grid = Mapping[str, Array]
"""The values of variables, in arrays that broadcast together."""


def variables_of(indices: Iterable[Index]) -> dict[str, Var]:
    """The variables that occur in some indices, by name."""
    atoms = (atom for x in indices for atom in inner_atoms(x))
    return {atom.key: atom for atom in atoms if isinstance(atom, Var)}


def evaluated(x: Index, grid: Grid) -> Array:
    """The values of an index where its variables have the values that `grid` gives by name, as
    arrays."""
    total = np.asarray(x.constant)
    for atom, k in x.terms:
        total = total + k * _atom(atom, grid)
    return total


def _atom(atom: Atom, grid: Grid) -> Array:
    inner = [evaluated(x, grid) for x in operands_of(atom)]
    match atom:
        case Var(key=name):
            return grid[name]
        case Quot(divisor=d):
            return inner[0] // d
        case Rem(divisor=d):
            return inner[0] % d
        case Min():
            return np.minimum(*inner)
        case Max():
            return np.maximum(*inner)
        case Product():
            return np.asarray(reduce(np.multiply, inner))
    return inner[0]
