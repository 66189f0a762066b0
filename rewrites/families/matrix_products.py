"""Matrix products that a family leaves between its transforms, by matrix instructions: kernels of
the family `matrix`, whose groups stage one operand and whose lanes load the other one."""

# key: p program

from collections.abc import Iterator
from itertools import product

from ir.core.nodes import Program
from ir.core.types import FLOAT, leaves
from ir.instructions.fragments import Fragment
from ir.instructions.table import MATRIX
from rewrites.families.matrix import Matrix, by_instruction, chunk_traits, differ, ways
from rewrites.kernels.staged_sums import Chunks, Slices
from rewrites.storing.stored_views import Choices
from rewrites.tuning.algorithm_growth import Growth
from rewrites.tuning.family import Trait, Tuning
from rewrites.tuning.matrix_tuning import of_patches
from rewrites.tuning.offered_instructions import offered
from rewrites.tuning.sums_of_programs import sums_of

EACH = ((False, True), (False,), (Slices.NONE, Slices.STEPS), (False,), (False, True))

MOST_LOST = 0.01  # of results: forms that lose more are not worth trying


def products_by_instructions(
    p: Program, sums: frozenset[tuple[int, ...]], grown: Growth
) -> Iterator[tuple[tuple[Trait, ...], Matrix, Tuning]]:
    """The ways to make by matrix instructions the products that a family leaves of a program's sums
    of floats, each with its traits and its tuning.

    `sums` are the lengths of the sums inside each other that are left of each kernel; the steps of
    an instruction divide the longest one of some kernel. The algorithm around them makes numbers
    and errors grow as `grown` says."""
    if {t for param in p.params for t in leaves(param.var.type)} != {FLOAT}:
        return
    for name in offered(p):
        if all(max(found) % MATRIX[name].steps for found in sums):
            continue
        kinds = [parts for parts in ways(MATRIX[name], {FLOAT}) if parts is not None]
        for chunks in filter(differ, (Chunks(*choices) for choices in product(kinds, *EACH))):
            form = Matrix(Choices(), name, chunks.parts, chunks)
            made_by = by_instruction(sums, form, grown)
            if made_by.loses < MOST_LOST:
                yield (made_by, *chunk_traits(chunks)), form, of_patches(name, chunks.slices)


def longest_sums(p: Program, share: int = 1) -> frozenset[tuple[int, ...]]:
    """The length of the longest sum of each kernel of a program, divided by `share`."""
    return frozenset((max(found) // share,) for found in sums_of(p) if max(found) >= share)


def rows_in_lanes(form: Matrix) -> Fragment:
    """The order in which lanes hold the rows of products in this form."""
    return MATRIX[form.instruction].brought[0]
