"""The bytes that a program must move even if everything fits on chip: the inputs that it depends
on, and its results."""

from explore.bounds.program_work import bytes_of
from ir.core.nodes import Program
from ir.dependence.needed_elements import dependence
from ir.meaning.inputs import cells_of


def moved_bytes(program: Program) -> int:
    """The bytes of the input elements that the results depend on, each read once, and of the
    output, written once."""
    read = dependence(program).read
    inputs = (p.var for p in program.params)
    moved = sum(read[x.name] * bytes_of(x) // cells_of(x.type) for x in inputs)
    return moved + bytes_of(program.body)
