"""The growth of numbers and of their errors by fast algorithms that make a program's sums."""

# key: p program, m results a side

from collections.abc import Iterable
from math import prod

from ir.core.frozen import frozen
from ir.core.nodes import Program
from rewrites.fast_algorithms.bilinear_algorithms import Bilinear, cook_toom
from rewrites.transforms.tile_transforms import MOST_POINTS
from rewrites.tuning.sums_of_programs import sums_of


@frozen
class Growth:
    """The factors by which an algorithm's factors are larger than what it is given (`numbers`, at
    most), and by which errors of its products grow (`errors`, of random numbers)."""

    numbers: float = 1.0
    errors: float = 1.0


def of_algorithms(every: Iterable[Bilinear]) -> Growth:
    """The growth by algorithms along several dimensions, or inside each other."""
    made = [*every]
    return Growth(
        prod(a.largest_growth() for a in made), prod(a.mean_amplification() for a in made)
    )


def of_tiles(p: Program, m: int) -> Growth:
    """The largest growth by transforms of windows of a program in tiles of m results a side: along
    each sum but the longest one (that over channels) of a kernel."""
    every = [of_algorithms(cook_toom(m, r) for r in _taps(sums, m)) for sums in sums_of(p)]
    return Growth(
        max((g.numbers for g in every), default=1.0), max((g.errors for g in every), default=1.0)
    )


def _taps(sums: tuple[int, ...], m: int) -> list[int]:
    """The lengths of windows among sums inside each other that tiles of m results serve."""
    return [r for r in sorted(sums)[:-1] if 1 < r <= MOST_POINTS + 1 - m]
