"""Least global traffic: what any schedule must move, given how much it can hold on chip.

The bounds are those of Zhang et al. (PPoPP 2021), from the structure of a program: a nest of maps
around one reduction of products of two operands, of which some maps reach only one, some only the
other. Where windows overlap an input is used for `reuse` of them. docs/explore.md has the proofs.
"""

# key: r side of a window, m side of a tile of results

from dataclasses import dataclass
from math import prod, sqrt

from ir.inputs import cells_of, known
from ir.nodes import Expr, Program, Reduce, Slide, Store
from ir.terms import subterms
from ir.typing import size_of, type_of
from rewrites.dims import Refused, classify, reduction
from rewrites.families import parameters
from rewrites.normal import normalise
from rewrites.spine import nest, store_operands
from rewrites.strategy import seq


@dataclass(frozen=True, slots=True)
class Products:
    """A program's sums of products. Amounts and what is held on chip count elements."""

    count: int  # multiplications
    results: int
    reuse: float  # windows that an input is in: the product of size / step over slides
    windows: tuple[tuple[int, int], ...] = ()  # size and step of each slide

    def direct(self, chip: float) -> float:
        """No schedule of these products moves less: count / (4 √(2 reuse chip))."""
        return self.count / (4 * sqrt(2 * self.reuse * chip))

    def volume(self, chip: float) -> float:
        """What the io-optimal dataflow moves with blocks of `chip` results."""
        return 2 * self.count / sqrt(self.reuse * chip) + self.results

    def winograd(self, m: int, chip: float) -> float | None:
        """No schedule of F(m × m, r × r) moves less; None where windows are not r × r, step 1."""
        sizes = {size for size, _ in self.windows}
        if len(self.windows) != 2 or len(sizes) != 1 or any(s != 1 for _, s in self.windows):
            return None
        (r,) = sizes
        spread = (m + r - 1) * r / m
        return self.count / r**2 * spread / (2 * sqrt(2 * chip)) - chip


def products(program: Program) -> Products | None:
    """Those of a program that is one nest around one reduction, of two shared operands."""
    done = seq(normalise, store_operands(parameters(program)))(program.body)
    e = program.body if done is None else done[0]
    if any(isinstance(sub, Store) for sub in subterms(e)):
        return None
    try:
        dims = classify(e)
    except Refused:
        return None
    if not dims.rows or not dims.columns:
        return None
    maps = nest(e)
    windows = [_window(s) for m in maps for s in subterms(m.xs) if isinstance(s, Slide)]
    count = prod(known(size_of(m.xs)) for m in maps) * _trips(reduction(e))
    reuse = prod(max(1.0, size / step) for size, step in windows)
    return Products(count, cells_of(type_of(e)), reuse, tuple(windows))


def _window(s: Slide) -> tuple[int, int]:
    return known(s.size), known(s.step)


def _trips(e: Expr) -> int:
    return known(size_of(e.xs)) * _trips(e.f.body) if isinstance(e, Reduce) else 1
