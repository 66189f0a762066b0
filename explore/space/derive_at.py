"""The derivation of a form for points that were good elsewhere: for a point that is not legal here,
the nearest legal points are taken."""

# key: p parameter

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from constraints.count.points import Point
from constraints.count.points import space as enumerated
from constraints.devices import Profile
from constraints.quantities.quantities import memory_at
from constraints.relations.relations import Constraint, Divides, OneOf, System, holds, scope
from explore.options.options import Domain
from explore.space.derive_form import (
    LADDER,
    Derived,
    Inapplicable,
    constraints,
    kept,
    lowered_form,
)
from explore.space.kernel_features import Seen
from explore.space.neighbours import allowed
from explore.space.search_domain import narrowed
from ir.core.frozen import frozen
from ir.core.nodes import Program
from ir.core.size import named
from ir.errors import Unsupported, UserError
from rewrites.engine.refused import Refused
from rewrites.tuning.family import Form
from rewrites.tuning.lower import lower

AROUND = 4  # values of a parameter that are looked at first
MOST = 1 << 14  # legal points that are looked at
NEAR = 2  # points that stand for one that is not legal


@frozen
class DeriveAt:
    """A task to derive a form of a program at these points, or near them."""

    program: Program
    form: Form
    profile: Profile
    points: tuple[tuple[tuple[str, int], ...], ...]
    max_memory: int | None = None
    domain: Domain | None = None


def derive_at(task: DeriveAt) -> Derived | Inapplicable:
    """The lowered form of a task with the points that are legal for its program; or the reason why
    the form does not apply."""
    try:
        low = narrowed(lower(kept(task.program), task.form), task.program, task.domain)
        system = constraints(low, task.profile, task.max_memory)
        wanted = dict.fromkeys(
            tuple(sorted(point.items()))
            for given in task.points
            for point in legal_near(system, dict(given))
        )
    except (Refused, Unsupported, UserError) as refused:
        return Inapplicable(task.form.family, task.form.name, str(refused))
    made = lowered_form(task.form, low, system, task.profile)
    seen: Seen = {}
    variants = tuple(made.variant(dict(point), seen) for point in wanted)
    memory = tuple(memory_at(made.quantities, dict(point)) for point in wanted)
    return Derived(made, len(wanted), variants, memory)


def legal_near(system: System, point: Mapping[str, int]) -> list[Point]:
    """The point itself if it is legal; else the legal points nearest to it, of those where each
    parameter has one of the values nearest to its own. More and more values are looked at until
    there is a legal point; none is returned if there is none at all, or too many to count."""
    if point.keys() != set(system.parameters) or min(point.values(), default=0) < 0:
        return []
    if allowed(system, point):
        return [dict(point)]
    rungs = {p: _alone(system, p, value) for p, value in point.items()}
    count, most = AROUND, max(map(len, rungs.values()), default=0)
    while not (found := _among(system, {p: rungs[p][:count] for p in rungs})) and count < most:
        count *= 2
    return sorted(found, key=lambda other: (_apart(point, other), sorted(other.items())))[:NEAR]


def _among(system: System, rungs: Mapping[str, Sequence[int]]) -> list[Point]:
    """The legal points, at most MOST, whose parameters have values among `rungs`; none if they are
    too many to count."""
    asked = tuple(
        Constraint(OneOf(named(p), tuple(sorted(values))), f"{p} is one of these", "a hint")
        for p, values in rungs.items()
    )
    try:
        found = enumerated(replace(system, constraints=(*system.constraints, *asked)))
    except Unsupported:
        return []
    return found.sample(min(found.count, MOST)) if found.count else []


def _alone(system: System, p: str, value: int) -> list[int]:
    """The values of the parameter p that satisfy the constraints on p alone, those nearest to
    `value` first."""
    mine = [c.relation for c in system.constraints if scope(c.relation) == {p}]
    legal = (n for n in {value, *_values(system, p)} if all(holds(r, {p: n}) for r in mine))
    return sorted(legal, key=lambda n: (_doublings(n, value), n))


def _values(system: System, p: str) -> Iterator[int]:
    """The values that constraints list for the parameter p (divisors, or those of a list), and
    those of the ladder."""
    bare = named(p)
    yield from LADDER
    for constraint in system.constraints:
        match constraint.relation:
            case OneOf(a, values) if a == bare:
                yield from (n for n in values if n >= 0)
            case Divides(m, int(n)) if m == bare and n > 0:
                yield from (k for k in range(1, math.isqrt(n) + 1) if n % k == 0)
                yield from (n // k for k in range(1, math.isqrt(n) + 1) if n % k == 0)


def _apart(point: Mapping[str, int], other: Mapping[str, int]) -> float:
    """The distance of two points: how many doublings lead from one to the other, summed over all
    parameters."""
    return sum(_doublings(other[p], value) for p, value in point.items())


def _doublings(n: int, other: int) -> float:
    """The number of doublings that lead from the smaller number to the larger one; 0 counts as half
    of 1."""
    return abs(math.log2(max(n, 0.5) / max(other, 0.5)))
