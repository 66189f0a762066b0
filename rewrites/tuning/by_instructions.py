"""Traits and choices of forms that make products by matrix instructions: those of the family
`matrix`, and of families that leave matrix products between their transforms."""

# key: p program

from collections.abc import Iterator
from itertools import product
from math import inf

from ir.core.frozen import frozen
from ir.core.nodes import Program
from ir.core.types import BFLOAT, BYTES, FLOAT, HALF, LARGEST, Scalar, Vector, leaves
from ir.instructions.entry import Entry
from ir.instructions.table import CALLED, MATRIX
from rewrites.kernels.staged_sums import Chunks, Slices
from rewrites.kernels.sums_by_instruction import Parts
from rewrites.number_laws.precision import UNIT, lost_in_parts, lost_narrowed, operand_type
from rewrites.tuning.algorithm_growth import Growth
from rewrites.tuning.family import Trait, Tuning
from rewrites.tuning.matrix_tuning import MOST_SLICES, of_patches
from rewrites.tuning.offered_instructions import offered
from rewrites.tuning.sums_of_programs import lost_in_sums, sums_of

Sums = frozenset[tuple[int, ...]]  # the lengths of the sums inside each other of each kernel
WITHOUT = Growth()  # no algorithm around products
MOST_LOST = 0.01  # of results: forms that lose more are not worth trying


@frozen
class ByInstruction:
    """A way to make a family's products: by an instruction, from staged chunks, with a trait that
    tells it and the tuning of its parameters."""

    trait: Trait
    instruction: str
    chunks: Chunks
    tuning: Tuning


def products_by_instructions(p: Program, sums: Sums, grown: Growth) -> Iterator[ByInstruction]:
    """The ways to make by matrix instructions the products that a family leaves of a program's sums
    of floats.

    `sums` are the lengths of the sums that are left; the steps of an instruction divide the longest
    one of some kernel. The algorithm around them makes numbers and errors grow as `grown` says.
    Instructions that read operands from local memory themselves have no such forms.
    """
    if {t for param in p.params for t in leaves(param.var.type)} != {FLOAT}:
        return
    shared = (Slices.NONE, Slices.STEPS)
    for name in offered(p):
        if MATRIX[name].placed or all(max(found) % MATRIX[name].steps for found in sums):
            continue
        kinds = [parts for parts in ways(MATRIX[name], {FLOAT}) if parts is not None]
        for ahead, slices, running, parts in product((0, 1), shared, (False, True), kinds):
            chunks = Chunks(parts, ahead=ahead, slices=slices, running=running)
            trait = by_instruction(sums, name, parts, chunks, grown)
            if differ(chunks) and trait.loses < MOST_LOST:
                yield ByInstruction(trait, name, chunks, of_patches(name, slices))


def longest_sums(p: Program, share: int = 1) -> Sums:
    """The length of the longest sum of each kernel of a program, divided by `share`."""
    return frozenset((max(found) // share,) for found in sums_of(p) if max(found) >= share)


def by_instruction(
    sums: Sums, name: str, parts: Parts, chunks: Chunks | None, grown: Growth = WITHOUT
) -> Trait:
    """The trait which says that a form makes products of these parts of numbers by the instruction
    `name`, and how much precision they and their sums lose by it, `grown` by an algorithm around
    them. `sums` are the lengths of the sums, which `chunks` divide."""
    match parts:
        case Parts.WHOLE:
            lost = CALLED[name].rounding
        case Parts.NARROW:
            lost = lost_narrowed(name)
        case Parts.HIGH_AND_LOW | Parts.THREE:
            lost = lost_in_parts(name, parts.count)
    cut = lost_in_sums(sums, MATRIX[name], parts, chunks, MOST_SLICES) * grown.errors
    word, meaning = name.replace("_", "-"), f"products by the instruction {name}"
    if cut:
        meaning += f"; sums lose about {cut:.1e} more"
    halves = operand_type(name) == HALF and parts is not Parts.WHOLE
    largest = LARGEST[HALF.name] / grown.numbers if halves else inf
    loses = lost / UNIT * grown.errors
    weight = BYTES[FLOAT.name] / BYTES[operand_type(name).name]  # narrower factors, more products
    return Trait(
        word,
        meaning,
        weight=weight,
        instruction=name,
        loses=loses,
        loses_in_sums=cut,
        largest=largest,
    )


def differ(chunks: Chunks) -> bool:
    """False if these choices give the same kernel as simpler ones: `running` matters only for parts
    of numbers without slices, and `through` only where all sums of a chunk are spelled out."""
    fresh = chunks.parts.count > 1 and chunks.slices is Slices.NONE
    return (fresh or not chunks.running) and (chunks.spelled or not chunks.through)


def ways(entry: Entry, given: set[Scalar | Vector]) -> tuple[Parts | None, ...]:
    """The parts of numbers, of the types `given`, that the instruction `entry` may multiply: first
    in a way with one product, None where it has none, then in ways with several. Numbers that it
    multiplies exactly need no parts."""
    takes = operand_type(entry.name)
    if takes in (BFLOAT, HALF) and given == {FLOAT}:
        more = (Parts.THREE,) if takes == BFLOAT else ()
        return Parts.NARROW, Parts.HIGH_AND_LOW, *more
    if takes == FLOAT:
        return Parts.WHOLE, *((Parts.HIGH_AND_LOW,) if entry.rounding else ())
    return (Parts.WHOLE if takes in given else None,)
