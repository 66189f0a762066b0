"""A legal point of a program with parameters: values that the user wants, and legal ones for the
rest."""

# key: p parameter

from collections.abc import Mapping
from dataclasses import replace

from constraints.count.points import space
from constraints.devices import Profile
from constraints.infer.infer import infer
from constraints.infer.overflow import no_overflow
from constraints.relations.relations import Constraint, Equal, System
from explore.space.derive_form import constraints, laddered
from explore.space.lowering import bound, lowering
from ir.core.nodes import Program
from ir.core.size import named
from ir.errors import Unsupported, UserError
from ir.text.suggest import no_such

Values = dict[str, int]


def lowered_at(
    program: Program, family: str, form: str | None, given: Mapping[str, int], profile: Profile
) -> tuple[Program, Values]:
    """The program lowered by a family, in the form named `form` (None: the first that applies), at
    a legal point with the given values; and that point."""
    low = lowering(program, family, form)
    values = settled(constraints(low, profile), given, family)
    return bound(low.program, values), values


def closed(program: Program, profile: Profile) -> tuple[Program, Values]:
    """A lowered program, whose numbers do not overflow, with legal values for its open sizes; and
    these values."""
    fitting = no_overflow(program.body)
    system = infer(program, profile, fitting) if program.free else System((), fitting)
    values = settled(system, {}, program.name)
    found = bound(program, values)
    if program.free:  # sums of as many terms as an open size says
        settled(System((), no_overflow(found.body)), {}, program.name)
    return found, values


def settled(system: System, given: Mapping[str, int], of: str) -> Values:
    """The legal point at which the parameters in `given` have these values; a UserError, in which
    the family or program is called `of`, says why if there is none."""
    for p in given:
        if p not in system.parameters:
            raise no_such("parameter", p, system.parameters, of=of)
    fixed = [Constraint(Equal(named(p), v), "you set it", "--set") for p, v in given.items()]
    whole = replace(system, constraints=(*system.constraints, *fixed))
    if len(given) < len(system.parameters):
        return _drawn(laddered(whole)) or _found(whole)
    return _found(whole)


def _drawn(system: System) -> Values | None:
    """One of all points of a system, drawn with a fixed seed; None if there is none, or if they are
    too many to count."""
    try:
        points = space(system)
    except Unsupported:  # too many to be counted
        return None
    return points.sample(1)[0] if points.count else None


def _found(system: System) -> Values:
    """The point that the solver finds; a UserError says why there is none, Unsupported that none
    was found in time."""
    from constraints.solve.explain import explain  # here: Z3 takes a tenth of a second to import
    from constraints.solve.solver import Solver

    verdict = Solver(system).feasible()
    if verdict.point is not None:
        return verdict.point
    if verdict.core:
        raise UserError(explain(verdict.core, system.parameters))
    raise Unsupported(
        "no legal values of the parameters were found in time: give some of them with --set"
    )
