"""The worth of each part of a run's fastest variant: the variant is made again without that part,
and timed.

Nothing is searched for: family, form and parameters are those of the variant, but for the part that
is left out. Every variant so made is checked as in a run; then all are timed in turns.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from benchmarks.timed_again import meter, program_of, timed
from codegen.compile import Generated, generate
from codegen.demand_proofs import demand_proofs
from codegen.plan import Plan
from codegen.proof.footprint import footprint
from codegen.tree.memories import Space
from constraints.devices import Profile
from constraints.infer.infer import infer
from explore.measure.measure_tasks import Measure
from explore.results.front import usable
from explore.results.records import Failed, Record, Variant
from explore.run.run import Run
from explore.run.target import device_of, profile_of
from explore.space.legal_point import settled
from explore.space.lowering import bound, lowering
from explore.workers.workers import Workers
from ir.core.nodes import Program
from ir.errors import Unsupported, UserError

Point = tuple[str, dict[str, int]]  # a form and its parameters


def _without_words(*removed: str) -> Callable[[str, Mapping[str, int]], Point]:
    def change(form: str, point: Mapping[str, int]) -> Point:
        return " ".join(word for word in form.split() if word not in removed), dict(point)

    return change


def _one_result(form: str, point: Mapping[str, int]) -> Point:
    """The form, unchanged, and the point with 1 for every side of a block: then a work-item makes
    one vector of results, and uses each element only once after it has loaded it."""
    sides = ("tr", "tc", "tx", "ty")
    return form, {name: 1 if name in sides else n for name, n in point.items()}


VECTORS = "vector loads"
# What the paper on im2win calls its optimizations, and what ours without them is.
PARTS: dict[str, Callable[[str, Mapping[str, int]], Point]] = {
    "micro-kernel": _one_result,
    VECTORS: _without_words("relaid", "along"),
    "prefetch": _without_words("ahead"),
}


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of leaving a part out: how many times longer the variant takes (`times`), or, where
    that is None, why it is not known (`note`)."""

    part: str
    times: float | None
    note: str = ""


def has(part: str, program: Program, variant: Variant) -> bool:
    """True if a variant of the program has the part called `part`: if leaving the part out, as
    `PARTS` says, changes the variant's form or point. For the part VECTORS, the variant's kernels
    have to load vectors, too."""
    point = dict(variant.parameters)
    if PARTS[part](variant.form, point) == (variant.form, point):
        return False
    return part != VECTORS or loads_vectors(
        _generated(program, variant.family, variant.form, point)
    )


def loads_vectors(made: Generated) -> bool:
    """True if a kernel that is launched at every run loads vectors from global memory."""
    launches = zip(made.kernels, made.plan.kernels, strict=True)
    accesses = (a for k, l in launches if not l.prepack for a in footprint(k).accesses)
    return any(a.width > 1 and not a.writes and a.memory.space is Space.GLOBAL for a in accesses)


def whole(program: Program, records: Sequence[Record]) -> Record:
    """The record of the fastest of those variants of a run that have the most of the parts
    (`PARTS`); a UserError if no variant ran to the end."""
    found = usable(records)
    if not found:
        raise UserError(
            f"no variant of {program.name} ran to the end: there is nothing to take apart"
        )
    parts = {r.variant.id: sum(has(p, program, r.variant) for p in PARTS) for r in found}
    most = max(parts.values())
    full = [r for r in found if parts[r.variant.id] == most]
    return min(full, key=lambda r: r.time_ns or float("inf"))


def ablation(run: Run) -> tuple[Record, list[Cost]]:
    """The fastest of those variants of a run that have the most parts, and the cost of each part.
    The costs are kept in the run's folder, and read from there the next time."""
    program = program_of(run)
    record, file = whole(program, run.records), run.folder / "ablation.json"
    if file.is_file():
        return record, [Cost(**cost) for cost in json.loads(file.read_text())]
    costs = list(_measured(run, program, record))
    kept = [{"part": c.part, "times": c.times, "note": c.note} for c in costs]
    file.write_text(json.dumps(kept))
    return record, costs


def _measured(run: Run, program: Program, record: Record) -> Iterator[Cost]:
    profile = profile_of(device_of(run.environment))
    made = {part: _made(program, record, part, profile) for part in PARTS}
    with meter(run) as worker:
        checked = {part: _checked(worker, plan) for part, plan in made.items()}
        yield from (Cost(part, None, why) for part, why in checked.items() if why)
        plans = {part: p for part, p in made.items() if isinstance(p, Plan) and not checked[part]}
        yield from _in_turns(worker, record, plans)


def _made(program: Program, record: Record, part: str, profile: Profile) -> Plan | str:
    """The plan of the record's variant, made without `part`; if the variant does not have that
    part, or is not legal without it, the reason as text."""
    variant = record.variant
    if not has(part, program, variant):
        return "it has none"
    form, point = PARTS[part](variant.form, dict(variant.parameters))
    try:
        settled(infer(_lowered(program, variant.family, form), profile), point, variant.family)
        made = _generated(program, variant.family, form, point, profile.group_items)
        demand_proofs(made)
    except (UserError, Unsupported) as reason:
        return str(reason)
    return "some stay" if part == VECTORS and loads_vectors(made) else made.plan


@lru_cache(maxsize=64)
def _lowered(program: Program, family: str, form: str) -> Program:
    return lowering(program, family, form).program


def _generated(
    program: Program, family: str, form: str, point: Mapping[str, int], items: int = 4096
) -> Generated:
    return generate(bound(_lowered(program, family, form), point), max_work_group=items)


def _checked(worker: Workers, plan: Plan | str) -> str:
    """The reason why a plan cannot be timed: its run fails, or gives wrong results. The text is
    empty if the plan can be timed; if `plan` is a reason already, it is returned as it is."""
    if isinstance(plan, str):
        return plan
    worker.submit(Measure(0, plan))
    (done,) = worker.results()
    return done.result.reason if isinstance(done.result, Failed) else ""


def _in_turns(worker: Workers, record: Record, plans: Mapping[str, Plan]) -> Iterator[Cost]:
    assert record.variant.plan is not None
    best, *others = timed(worker, (record.variant.plan, *plans.values()))
    for part, level in zip(plans, others, strict=True):
        yield Cost(part, level.median_ns / best.median_ns)
