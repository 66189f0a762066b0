"""All candidates of a run, derived in parallel, and what is needed to build each."""

import pickle
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from constraints.devices import Profile
from constraints.enumerate import Point
from constraints.quantities import Quantities
from constraints.terms import System
from explore.domain import Narrowed, shares
from explore.features import memory_at
from explore.guide import search_over
from explore.near import Ladders, allowed, ladders, moves
from explore.options import POOL, Options
from explore.records import Failed, Step, Variant
from explore.search import Search
from explore.space import Derive, Derived, Inapplicable, derive, tasks, variant_at
from explore.units import show_bytes
from explore.variant import Task
from explore.work import least_bytes
from explore.worker import Pool
from ir.errors import UserError
from ir.nat import Size
from ir.nodes import Program

DERIVE_LIMIT = 60.0  # seconds a form


@dataclass(frozen=True, slots=True)
class Form:
    """What the variants of one form share."""

    family: str
    name: str
    program: bytes  # pickled
    steps: tuple[Step, ...]
    rounding: float  # machine epsilons that these may lose
    system: System
    known: Quantities
    block: Size | None  # the results of a work-group
    profile: Profile

    def variant(self, point: Point) -> Variant:
        """One of its points."""
        return variant_at(self.family, self.name, self.block, point, self.known, self.profile)


@dataclass(slots=True)
class Candidates:
    """Variants without plans, in a fixed order, each with the form it comes from. A search adds
    those that are near good ones."""

    variants: list[Variant]
    memory: list[int]
    form_of: list[int]
    forms: tuple[Form, ...]
    legal: int  # points that the sample was drawn from
    skipped: tuple[tuple[str, str], ...]  # forms that do not apply, and why
    left: tuple[Narrowed, ...] = ()  # of each family's points, by the domain asked for
    ids: set[str] = field(init=False)
    along: Mapping[str, Ladders] = field(init=False)  # by family

    def __post_init__(self) -> None:
        points = defaultdict[str, list[Point]](list)
        for variant in self.variants:
            points[variant.family].append(dict(variant.parameters))
        self.ids = {variant.id for variant in self.variants}
        self.along = {family: ladders(several) for family, several in points.items()}

    def task(self, number: int) -> Task:
        """What a build worker needs."""
        form = self.forms[self.form_of[number]]
        return Task(number, form.program, self.variants[number].parameters)

    def certified(self, number: int) -> bool:
        """Whether a point satisfies every constraint, in whole numbers of any length."""
        form = self.forms[self.form_of[number]]
        return allowed(form.system, dict(self.variants[number].parameters))

    def search(self, options: Options) -> Search:
        """The order in which to try them."""
        return search_over(
            self.variants,
            self.memory,
            options.strategy,
            options.seed,
            options.variants,
            self.near,
        )

    def near(self, numbers: Sequence[int]) -> tuple[list[Variant], list[float]]:
        """Adds what is near some of them and new."""
        before = len(self.variants)
        for number in numbers:
            for n, point in self._around(number):
                form = self.forms[n]
                variant = form.variant(point)
                if variant.id not in self.ids:
                    self.ids.add(variant.id)
                    self.variants.append(variant)
                    self.memory.append(memory_at(form.known, point))
                    self.form_of.append(n)
        return self.variants[before:], [float(m) for m in self.memory[before:]]

    def _around(self, number: int) -> Iterator[tuple[int, Point]]:
        """Points of the same form, and the same point of the family's other forms."""
        mine, point = self.form_of[number], dict(self.variants[number].parameters)
        form = self.forms[mine]
        for other in moves(point, self.along[form.family]):
            if allowed(form.system, other):
                yield mine, other
        for n, sibling in enumerate(self.forms):
            if n != mine and sibling.family == form.family and allowed(sibling.system, point):
                yield n, point


def candidates(program: Program, profile: Profile, options: Options) -> Candidates:
    """Derive what the options ask for; an error if nothing is left."""
    todo = tasks(
        program,
        profile,
        families=options.families,
        budget=POOL * options.variants,
        seed=options.seed,
        max_memory=options.max_memory,
        domain=options.domain,
    )
    results = _derived(todo, options.workers)
    found = [r for r in results if isinstance(r, Derived)]
    skipped = [
        (f"{r.family} {r.form}".strip(), r.reason) for r in results if isinstance(r, Inapplicable)
    ]
    if not any(d.variants for d in found):
        raise UserError(_nothing(program, options, skipped))
    return gathered(found, skipped)


def _derived(todo: Sequence[Derive], workers: int) -> list[Derived | Inapplicable]:
    """In the order of the tasks, whatever order they were done in."""
    if len(todo) == 1:
        return [derive(todo[0])]
    done: dict[tuple[str, str], Derived | Inapplicable] = {}
    pool: Pool[Any, Any] = Pool(derive, workers=workers, timeout=DERIVE_LIMIT, stage="constrain")
    with pool:
        for result in pool.map(todo):
            key = (result.task.family, result.task.form)
            match result.result:
                case Failed(_, reason):
                    done[key] = Inapplicable(*key, reason)
                case other:
                    done[key] = other
    return [done[t.family, t.form] for t in todo]


def gathered(found: Sequence[Derived], skipped: Sequence[tuple[str, str]]) -> Candidates:
    """All points, those that are the same choice once."""
    variants: dict[str, tuple[Variant, int, int]] = {}
    for n, derived in enumerate(found):
        for variant, memory in zip(derived.variants, derived.memory, strict=True):
            variants.setdefault(variant.id, (variant, memory, n))
    listed = list(variants.values())
    return Candidates(
        [v for v, _, _ in listed],
        [m for _, m, _ in listed],
        [n for _, _, n in listed],
        tuple(map(_form, found)),
        sum(d.count for d in found),
        tuple(skipped),
        shares((d.family, d.count, d.outside) for d in found),
    )


def _form(d: Derived) -> Form:
    program = pickle.dumps(d.program)
    return Form(
        d.family, d.form, program, d.steps, d.rounding, d.system, d.known, d.block, d.profile
    )


def _nothing(program: Program, options: Options, skipped: Sequence[tuple[str, str]]) -> str:
    limit, least = options.max_memory, least_bytes(program)
    if limit is not None and limit < least:
        return (
            f"no variant needs only {show_bytes(limit)} of memory: the program's inputs and output "
            f"alone are {show_bytes(least)}"
        )
    reasons = list(dict.fromkeys(reason for _, reason in skipped))[:3]
    because = f": {'; '.join(reasons)}" if reasons else ""
    return f"no variant satisfies the constraints{because}"
