"""From a program and a family to a lowered program, with parameters or bound."""

from collections.abc import Mapping

from ir.core.bind_parameters import bind_sizes
from ir.core.nodes import Program
from ir.errors import UserError
from rewrites.catalogue.forms import FAMILIES, Lowering, first, forms
from rewrites.catalogue.forms import lower as lower_form
from rewrites.engine.refused import Refused


def family_named(name: str) -> str:
    """The family, or an error that lists what there is."""
    if name not in FAMILIES:
        raise UserError(f"no family {name!r}: expected one of {', '.join(FAMILIES)}")
    return name


def lowering(program: Program, family: str, form: str | None = None) -> Lowering:
    """The program lowered by a family: by its first form that applies, or the one named."""
    try:
        if form is None:
            return first(program, family_named(family))
        found = [f for f in forms(program, family_named(family)) if f.name == form]
        if not found:
            raise UserError(f"family {family} has no form {form!r}")
        return lower_form(program, family, found[0])
    except Refused as refused:
        raise UserError(f"family {family} does not apply: {refused}") from refused


def bound(program: Program, values: Mapping[str, int]) -> Program:
    """A parametric program with its parameters given."""
    rest = tuple(name for name in program.free if name not in values)
    return Program(program.name, program.params, bind_sizes(program.body, values), rest)
