"""The kernels of a program, the lengths of their sums, and how many additions of a matrix
instruction make a sum."""

# key: p program, e term

from collections.abc import Iterable
from functools import lru_cache
from math import ceil, prod

from ir.core.nodes import Expr, Program
from ir.instructions.entry import Entry
from rewrites.engine.refused import Refused
from rewrites.engine.rule import Rewritten
from rewrites.engine.strategy import seq, skip
from rewrites.kernels.register_block import on_reduction, trips, weight
from rewrites.kernels.staged_sums import Chunks, Slices
from rewrites.kernels.sums_by_instruction import Parts
from rewrites.nest.normal_form import normalise
from rewrites.nest.spine import kernels
from rewrites.number_laws.precision import UNIT, apart, kept_products, operand_type
from rewrites.storing.one_reduction_each import one_each
from rewrites.tuning.family import parameter_names

# Where an instruction cuts off what does not fit into a sum, an addition loses half a unit in the
# last place on average, toward zero: 0.36 epsilons of the partial sum, and, as partial sums of
# numbers of both signs are smaller than the result, about half as much of the result. The
# interpreter found 0.17 to 0.21 for sums of 192 to 1,536 additions of random numbers.
CUT = 0.19


@lru_cache(maxsize=64)
def kernels_of(p: Program) -> tuple[Expr, ...]:
    """The kernels of a program in normal form, with one sum each at most; none for a program whose
    sums cannot be brought into kernels of their own."""
    found: list[Expr] = []

    def look(e: Expr) -> Rewritten | None:
        found.append(e)
        return skip(e)

    try:
        seq(one_each(parameter_names(p), normalise), kernels(look))(p.body)
    except Refused:
        return ()
    return tuple(found)


@lru_cache(maxsize=64)
def sums_of(p: Program) -> frozenset[tuple[int, ...]]:
    """The lengths of the sums inside each other, from the outermost, of each kernel of a program;
    empty for a program whose sums cannot be brought into kernels of their own."""
    found = set[tuple[int, ...]]()

    def look(e: Expr) -> Rewritten | None:
        found.add(tuple(map(weight, trips(e))))
        return skip(e)

    for kernel in kernels_of(p):
        on_reduction(look)(kernel)
    return frozenset(found)


def lost_in_sums(
    sums: Iterable[tuple[int, ...]], entry: Entry, parts: Parts, chunks: Chunks | None, slices: int
) -> float:
    """The relative error of the longest of `sums`, the lengths of the sums inside each other of
    each kernel, that comes from cutting them off at each addition by the instruction `entry`, for
    numbers of random signs; 0 where nothing is cut off.

    `chunks` says how sums are made of chunks (None: without chunks). They have one step of the
    instruction, and slices share them, `slices` in number: other points of a form lose more.
    """
    if entry.kept is None:
        return 0.0
    every = (_additions(entry, found, parts, chunks, slices) for found in sums)
    return CUT * max(every, default=0) / UNIT


def _additions(
    entry: Entry, sums: tuple[int, ...], parts: Parts, chunks: Chunks | None, slices: int
) -> int:
    """The number of additions by the instruction `entry` that follow each other in one accumulator,
    where a result is nested `sums` of these lengths."""
    steps, taps = prod(sums), prod(sums) // max(sums)
    if chunks is not None and chunks.slices is Slices.STEPS:
        steps = ceil(steps / slices)
    elif chunks is not None and chunks.slices is Slices.TAPS:
        steps = ceil(steps / slices / min(_shorter(sums), default=1))
    elif chunks is not None and parts.count > 1 and not chunks.running:
        steps = taps * entry.steps
    alone = parts.count == 1 or apart(operand_type(entry.name), parts.count)
    return ceil(steps / entry.steps) * (1 if alone else len(kept_products(parts.count)))


def _shorter(sums: tuple[int, ...]) -> list[int]:
    """The lengths of all sums but the longest."""
    rest = list(sums)
    rest.remove(max(sums))
    return rest
