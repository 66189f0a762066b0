"""The sums of products of a program, counted, for the bounds on the traffic that they need.

Workers that measure variants read stored bounds, and do not import this module.
"""

from explore.bounds.least_traffic import Products, Windows
from explore.bounds.program_work import bytes_of
from ir.core.nodes import Program
from ir.core.type_rules import type_of
from ir.dependence.needed_elements import dependence
from ir.meaning.inputs import cells_of
from rewrites.nest.work_amounts import amounts
from rewrites.tuning.family import parameter_names


def products(program: Program) -> Products | None:
    """The amounts of a program's sums of products, if it is one nest around one reduction of two
    shared operands; None for other programs."""
    known = amounts(program.body, parameter_names(program))
    if known is None:
        return None
    made = dependence(Program(program.name, program.params, known.nest))
    sums = min(made.whole_sums, known.results)  # as many or more, along each dimension
    windows = tuple(
        Windows(w.size, w.step, w.count, w.count * sums // known.results) for w in known.windows
    )
    results, real = cells_of(type_of(program.body)), min(1.0, made.products / known.products)
    arrays = (*(p.var for p in program.params), program.body)
    word = min(bytes_of(a) // cells_of(type_of(a)) for a in arrays if cells_of(type_of(a)))
    return Products(known.products, results, float(known.reuse), windows, real, known.others, word)
