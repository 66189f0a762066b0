"""Random inputs of programs with whole numbers from the whole range of their types; the least and
the largest come often."""

# key: p program

import numpy as np

from ir.core.nodes import Program
from ir.meaning.inputs import Data, any_numbers, makes_whole_of_reals, random_inputs

ENDS = 0.3  # of the numbers are the least or the largest


def wide_inputs(p: Program, seed: int) -> dict[str, Data]:
    """Random inputs of a program, equal for equal seeds: small whole numbers, as `random_inputs`
    draws them; but about half of the arrays of whole numbers hold any numbers of their type.

    If a program makes whole numbers of real ones, only arrays of bytes hold any numbers. Sums of
    larger numbers are rounded, not on all devices in the same way, so that a real number might
    become another whole number.
    """
    rng = np.random.default_rng(seed)
    most = 1 if makes_whole_of_reals(p) else 8
    return {name: _wide(x, most, rng) for name, x in random_inputs(p, seed).items()}


def _wide(x: Data, most: int, rng: np.random.Generator) -> Data:
    if isinstance(x, tuple):
        return tuple(_wide(part, most, rng) for part in x)
    if x.dtype.kind not in "iu" or x.dtype.itemsize > most or rng.random() < 0.5:
        return x
    return any_numbers(x.dtype, x.shape, rng, ENDS)
