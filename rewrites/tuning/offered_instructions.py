"""The matrix instructions that a program is offered, by the sums that it has."""

# key: p program

from collections.abc import Iterator
from functools import lru_cache

from ir.core.nodes import Program
from ir.core.types import BYTES
from ir.instructions.entry import Entry
from ir.instructions.table import MATRIX
from rewrites.number_laws.precision import operand_type
from rewrites.tuning.sums_of_programs import sums_of


@lru_cache(maxsize=64)
def offered(p: Program) -> tuple[str, ...]:
    """The names of the matrix instructions for a program, wide operands first, as they lose the
    least. Of instructions that differ only in the steps of a sum, there is the one with the most,
    and others where a sum of the program is a multiple of theirs alone."""
    return tuple(_offered(p))


def _offered(p: Program) -> Iterator[str]:
    longest = {max(sums) for sums in sums_of(p)}
    for name in sorted(MATRIX, key=lambda name: -BYTES[operand_type(name).name]):
        entry = MATRIX[name]
        more = [other.steps for other in MATRIX.values() if _has_more_steps(other, entry)]
        ours = (n for n in longest if n % entry.steps == 0)
        if not more or any(all(n % steps for steps in more) for n in ours):
            yield name


def _has_more_steps(other: Entry, entry: Entry) -> bool:
    """True if `other` multiplies numbers of the same types as `entry`, as precisely, to a result of
    the same shape, in more steps of a sum."""
    return other.steps > entry.steps and _kind(other) == _kind(entry)


def _kind(entry: Entry) -> tuple[object, ...]:
    types = (operand_type(entry.name, n) for n in (0, 1))
    return (*types, entry.fragments[-1].sides, entry.lanes, entry.rounding)
