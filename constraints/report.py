"""A report on a system of constraints: domains of parameters, necessary constraints, and the number
of points."""

# key: p parameter, c constraint

from constraints.count.points import Space, count_bound, space
from constraints.relations.relations import Constraint, System
from constraints.solve.explain import explain
from constraints.solve.solver import Answer, Solver
from ir.core.frozen import frozen
from ir.errors import Unsupported


@frozen
class Report:
    """A report on a system of constraints: the values of each parameter, the constraints that are
    not implied by others, and the number of legal points.

    `count` is exact; where it is None, `uncounted` says why, and `at_most` is an upper bound, or
    None too. `explanation` says why there is no point.
    """

    domains: dict[str, tuple[int, ...] | None]
    constraints: tuple[Constraint, ...]
    implied: int  # constraints left out because the others imply them
    count: int | None
    at_most: int | None
    uncounted: str | None
    explanation: str | None  # why there is no point


def report(system: System, seconds: float, everything: bool = False) -> Report:
    """The report on a system: how many points are legal (by the counting engine), the values that
    each parameter takes, and the necessary constraints (by Z3), each engine within `seconds`. With
    `everything`, constraints that others imply are kept too."""
    counted = _counted(system, seconds)
    solver = Solver(system, seconds)
    shown = system.constraints if everything or _empty(counted) else solver.necessary()
    return Report(
        _domains(system, counted),
        shown,
        len(system.constraints) - len(shown),
        counted.count if isinstance(counted, Space) else None,
        None if isinstance(counted, Space) else count_bound(system),
        None if isinstance(counted, Space) else counted,
        _explanation(system, solver, counted),
    )


def _counted(system: System, seconds: float) -> Space | str:
    try:
        return space(system, seconds=seconds)
    except Unsupported as reason:
        return str(reason)


def _empty(counted: Space | str) -> bool:
    return isinstance(counted, Space) and counted.count == 0


def _domains(system: System, counted: Space | str) -> dict[str, tuple[int, ...] | None]:
    known = counted if isinstance(counted, Space) else None
    return {p: known.domain(p) if known else None for p in system.parameters}


def _explanation(system: System, solver: Solver, counted: Space | str) -> str | None:
    if isinstance(counted, Space) and counted.count:
        return None
    verdict = solver.feasible()
    if verdict.answer is Answer.NO:
        return explain(verdict.core, system.parameters)
    return "no variant; the time limit is too short to say why" if _empty(counted) else None
