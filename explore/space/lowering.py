"""The lowering of a program by a named family, and the binding of its parameters."""

from collections.abc import Mapping

from ir.core.bind_parameters import bind_sizes
from ir.core.nodes import Program
from ir.errors import UserError
from rewrites.engine.refused import Refused
from rewrites.families.all_families import family_named, first, form_named
from rewrites.tuning.lower import lower
from rewrites.tuning.lowering import Lowering


def lowering(program: Program, family: str, form: str | None = None) -> Lowering:
    """The program lowered by a family: in the form that is named, or the first that applies."""
    try:
        if form is None:
            return first(program, family_named(family))
        return lower(program, form_named(program, family, form))
    except Refused as refused:
        raise UserError(f"family {family} does not apply: {refused}") from refused


def bound(program: Program, values: Mapping[str, int]) -> Program:
    """The program with these values in place of its parameters."""
    rest = tuple(name for name in program.free if name not in values)
    return Program(program.name, program.params, bind_sizes(program.body, values), rest)
