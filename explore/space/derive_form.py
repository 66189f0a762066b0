"""The derivation of a form's candidates: the program lowered, and parameter values that constraints
allow.

The constraints say what is legal, which is far more than is worth trying: a parameter that need not
divide anything is taken from a ladder of sizes, and where there are many parameters each form looks
at some rungs of it only. All points of a form on its rungs are counted, and a seeded sample of them
is drawn without listing them.
"""

# key: p parameter

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod
from random import Random

from constraints.count.points import Point, Space
from constraints.count.points import space as enumerated
from constraints.devices import Profile
from constraints.infer.infer import infer
from constraints.infer.overflow import no_overflow
from constraints.quantities.quantities import Quantities, memory_at, quantities
from constraints.relations.relations import AtMost, Constraint, Divides, OneOf, System
from explore.results.derivation_steps import steps_of
from explore.results.records import WORD, Variant
from explore.space.forms_to_derive import LEAST, Derive
from explore.space.kernel_features import Seen, code_at, features_at
from explore.space.lowered_form import LoweredForm
from explore.space.rough_cost import ESTIMATE
from explore.space.search_domain import narrowed, narrows
from ir.core.frozen import frozen
from ir.core.nodes import Program
from ir.core.size import Size, named
from ir.errors import Unsupported
from rewrites.engine.refused import Refused
from rewrites.tuning.family import Form
from rewrites.tuning.lower import lower
from rewrites.tuning.lowering import Lowering

LADDER = (1, 2, 3, 4, 6, 7, 8, 12, 14, 16, 24, 28, 32, 48, 56, 64, 96, 112, 128)
COARSE = (1, 2, 4, 8, 16, 32, 64, 128)
SELDOM = 8  # of the points of a form that takes long to compile, one in so many
WIDER = 4  # times as many points are drawn, of which the likely ones are kept
_EDGES = 1 << 20


@frozen
class Derived:
    """A form that was lowered, with a sample of its points as variants, and the bytes of memory
    that each takes.

    `count` is the number of all its points; `outside` that without the domain that is asked for, or
    None if no domain narrows it.
    """

    lowered: LoweredForm
    count: int  # of points on the ladder
    variants: tuple[Variant, ...]  # without plan
    memory: tuple[int, ...]
    outside: int | None = None  # points that it has without the domain, if that narrows it

    @property
    def family(self) -> str:
        """The name of the form's family."""
        return self.lowered.family


@frozen
class Inapplicable:
    """A form in which its family does not lower the program, and why."""

    family: str
    form: str
    reason: str


def derive(task: Derive) -> Derived | Inapplicable:
    """The form of a task lowered, with points drawn; or why it does not apply."""
    try:
        lowering, outside = _within(task, lower(kept(task.program), task.form))
        random = _random(task.seed, lowering)
        system, space = worth_trying(lowering, task.profile, random, task.max_memory)
    except (Refused, Unsupported) as refused:
        return Inapplicable(task.form.family, task.form.name, str(refused))
    made = lowered_form(task.form, lowering, system, task.profile)
    drawn = space.sample(WIDER * task.points, random)
    sample = afforded(drawn[: task.points], made.quantities, task.profile)
    seen: Seen = {}
    sample = likely(made, drawn, len(sample), seen)
    variants = tuple(made.variant(point, seen) for point in sample)
    memory = tuple(memory_at(made.quantities, point) for point in sample)
    return Derived(made, space.count, variants, memory, outside)


def likely(made: LoweredForm, drawn: list[Point], count: int, seen: Seen) -> list[Point]:
    """At most `count` of the points `drawn`: the first ones for one half, and for the other half
    those of the rest that are quickest by the cost model."""
    known, device = made.quantities, made.profile

    def rough(point: Point) -> float:
        return sum(dict(kernel)[ESTIMATE] for kernel in features_at(known, point, device, seen))

    first = drawn[: -(-count // 2)]
    return first + sorted(drawn[len(first) :], key=rough)[: count - len(first)]


def lowered_form(form: Form, lowering: Lowering, system: System, profile: Profile) -> LoweredForm:
    """The lowered form of a lowering, with the constraints of `system` on its parameters, for a
    device with this profile."""
    return LoweredForm(
        form=form,
        program=lowering.program,
        steps=steps_of(lowering.derivation),
        rounding=lowering.derivation.rounding,
        system=system,
        quantities=quantities(lowering.program),
        block=prod(lowering.block, start=1) if lowering.block else None,
        profile=profile,
    )


@lru_cache(maxsize=4)
def kept(program: Program) -> Program:
    """The program itself, or an equal one that was given before: so all forms share the results
    that are cached in its terms."""
    return program


def _within(task: Derive, lowering: Lowering) -> tuple[Lowering, int | None]:
    """The lowering narrowed to the task's domain, and the number of points that it has without the
    domain; the lowering unchanged, and None, if no domain narrows it."""
    if not narrows(lowering, task.domain):
        return lowering, None
    near = narrowed(lowering, task.program, task.domain)
    random = _random(task.seed, lowering)
    return near, worth_trying(lowering, task.profile, random, task.max_memory)[1].count


def _random(seed: int, lowering: Lowering) -> Random:
    return Random(f"{seed} {lowering.family} {lowering.form}")


def points(
    lowering: Lowering, profile: Profile, count: int, seed: int, max_memory: int | None = None
) -> tuple[Space, list[Point]]:
    """The space of all points of a lowering that are worth trying on a device, and a sample of up
    to `count` of them, drawn with this seed."""
    random = _random(seed, lowering)
    _, space = worth_trying(lowering, profile, random, max_memory)
    return space, space.sample(count, random)


def worth_trying(
    lowering: Lowering, profile: Profile, random: Random, max_memory: int | None = None
) -> tuple[System, Space]:
    """The system of a form with the constraints that make points worth trying, and the space of its
    points.

    Where no point is left, the constraints for a busy device (`busy`) are dropped first, then the
    stricter limit on code that compiles quickly.
    """
    quick = constraints(lowering, replace(profile, code=profile.quick_code), max_memory)
    free = _off_divisors(quick)
    rungs = {p: _rungs(random, len(free)) for p in free}
    wanted = tuple(busy(lowering, profile))
    found = _where_busy(quick, wanted, rungs)
    if not found[1].count and profile.quick_code < profile.code:
        found = _where_busy(constraints(lowering, profile, max_memory), wanted, rungs)
    return found


def _where_busy(
    system: System, wanted: Sequence[tuple[Constraint, ...]], rungs: Mapping[str, tuple[int, ...]]
) -> tuple[System, Space]:
    """The system with the first set of constraints in `wanted` that leaves any point, or unchanged
    if none does; and the space of its points on these rungs."""
    for wish in wanted:
        more = replace(system, constraints=(*system.constraints, *wish))
        space = _on_rungs(more, rungs)
        if space.count:
            return more, space
    return system, _on_rungs(system, rungs)


def _on_rungs(system: System, rungs: Mapping[str, tuple[int, ...]]) -> Space:
    """The space of the system's points with parameters on these rungs; if it is empty, with
    parameters anywhere on the ladder; if there are too many points to count, on coarse rungs."""
    try:
        space = enumerated(on_ladder(system, rungs), most_edges=_EDGES)
        if not space.count:
            space = enumerated(on_ladder(system, dict.fromkeys(rungs, LADDER)), most_edges=_EDGES)
    except Unsupported:
        space = enumerated(on_ladder(system, dict.fromkeys(rungs, COARSE)), most_edges=_EDGES)
    return space


def afforded(sample: list[Point], known: Quantities, profile: Profile) -> list[Point]:
    """The sample of points; if the kernels of some of them take seconds to compile, only a part of
    it, from its beginning."""
    long = [p for p in sample if code_at(known, p) > profile.quick_code]
    return sample[: max(LEAST, len(sample) // SELDOM)] if long else sample


def busy(lowering: Lowering, profile: Profile) -> Iterator[tuple[Constraint, ...]]:
    """Sets of constraints, best first, by which a work-item keeps enough results for a busy device,
    and no more than its registers hold; none if the lowering keeps no block of results.

    On a device where nothing else hides latency, the results are vectors that fill a register; in
    the second set, half of one.
    """
    if lowering.kept is None:
        return
    (least, most), results = profile.results, lowering.kept.results
    why, origin = f"{least} to {most} results keep {profile.name} busy", "what is worth trying"
    for part in (1, 2) if least > 1 else (profile.vector,):
        filled = AtMost(profile.vector, part * lowering.kept.vector)
        asked = (AtMost(least, results), AtMost(results, most), filled)
        yield tuple(Constraint(relation, why, origin) for relation in asked)


def _rungs(random: Random, parameters: int) -> tuple[int, ...]:
    """The rungs of the ladder that a form with so many `parameters` tries: all if these are few,
    else some drawn at random, as counting takes long."""
    some = len(LADDER) if parameters < 5 else 9
    return tuple(sorted(random.sample(LADDER, some)))


def constraints(lowering: Lowering, profile: Profile, max_memory: int | None = None) -> System:
    """The system of constraints of a lowering on a device: of types, limits, and the family."""
    return infer(lowering.program, profile, asked(lowering, profile), max_memory)


def asked(lowering: Lowering, profile: Profile) -> list[Constraint]:
    """The constraints beyond those of the lowered program: that the sums of its source do not
    overflow, and what a family asks of variants worth having."""
    origin = f"family {lowering.family}"
    needed = [Constraint(AtMost(r.a, r.b), r.why, origin) for r in lowering.requirements]
    tried = [
        Constraint(OneOf(named(c.parameter), c.values), c.why, origin) for c in lowering.choices
    ]
    held = no_overflow(lowering.derivation.start)
    return [*held, *needed, *tried, *_together(lowering, profile)]


def _together(lowering: Lowering, profile: Profile) -> Iterator[Constraint]:
    """The constraints for work-groups that share a core: x y z ≤ S_b ≤ S_sm / 2 (Zhang et al.,
    PPoPP 2021)."""
    if lowering.at_once == 1 or lowering.block is None:
        return
    most = profile.local_bytes // lowering.at_once
    share = f"{most} B: {lowering.at_once} groups share the local memory of a core"
    sums = AtMost(WORD * prod(lowering.block, start=1), most)
    yield Constraint(sums, f"the results of a block in {share}", f"family {lowering.family}")
    for kernel in quantities(lowering.program).kernels:
        for a in kernel.local_bytes:
            yield Constraint(AtMost(a.size, most), f"local memory {share}", a.origin)


def laddered(system: System) -> System:
    """The system with each parameter that need not divide anything restricted to the whole
    ladder."""
    return on_ladder(system, dict.fromkeys(_off_divisors(system), LADDER))


def on_ladder(system: System, rungs: Mapping[str, tuple[int, ...]]) -> System:
    """The system with parameters restricted to these rungs of the ladder."""
    steps = tuple(
        Constraint(OneOf(named(p), values), f"{p} is one of the sizes tried", "the ladder")
        for p, values in rungs.items()
    )
    return replace(system, constraints=(*system.constraints, *steps))


def _off_divisors(system: System) -> list[str]:
    """The parameters that neither have a list of values nor must divide a size."""
    bare: dict[Size, str] = {named(p): p for p in system.parameters}
    relations = [c.relation for c in system.constraints]
    listed = {bare.get(r.a) for r in relations if isinstance(r, OneOf)}
    dividing = {
        bare.get(r.m)
        for r in relations
        if isinstance(r, Divides) and isinstance(r.n, int) and r.n > 0
    }
    return [p for p in system.parameters if p not in dividing | listed]
