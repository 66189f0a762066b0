"""All candidates of a run, derived in parallel, and what is needed to build each."""

import pickle
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice, zip_longest
from typing import Any, TypeAlias

from constraints.count.points import Point
from constraints.devices import Profile
from constraints.quantities.quantities import Quantities
from constraints.relations.relations import System
from explore.building.build_variant import Task
from explore.results.options import POOL, Options
from explore.results.records import Failed, Step, Variant
from explore.run.why_nothing import no_candidate
from explore.search.search import Search
from explore.search.search_rounds import search_over
from explore.space.derive_form import Derived, Inapplicable, derive, variant_at
from explore.space.forms_to_derive import Derive, a_word_apart, others, tasks
from explore.space.kernel_features import Seen, memory_at
from explore.space.neighbours import Ladders, allowed, ladders, moves
from explore.space.search_domain import Narrowed, shares
from explore.workers.pool import Pool
from ir.core.nodes import Program
from ir.core.size import Size
from ir.errors import UserError

DERIVE_LIMIT = 60.0  # seconds a form
AT_ONCE = 4  # forms that are derived for a round


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
    seen: Seen = field(default_factory=dict)

    def variant(self, point: Point) -> Variant:
        """One of its points."""
        return variant_at(
            self.family, self.name, self.block, point, self.known, self.profile, self.seen
        )


Named = tuple[str, str]  # a family and a form
Deriving = Callable[[Sequence[Derive]], list[Derived | Inapplicable]]


def one_by_one(todo: Sequence[Derive]) -> list[Derived | Inapplicable]:
    """Derived here, in this process."""
    return [derive(task) for task in todo]


@dataclass(slots=True)
class Candidates:
    """Variants without plans, in a fixed order, each with the form it comes from. A search adds
    those that are near good ones, of forms that are derived for them too."""

    variants: list[Variant] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)
    form_of: list[int] = field(default_factory=list)
    forms: list[Form] = field(default_factory=list)
    legal: int = 0  # points that the samples were drawn from
    left: tuple[Narrowed, ...] = ()  # of each family's points, by the domain asked for
    others: dict[Named, Derive] = field(default_factory=dict)  # forms that were not derived yet
    deriving: Deriving = one_by_one
    ids: set[str] = field(default_factory=set)
    along: dict[str, Ladders] = field(default_factory=dict)  # by family

    def take(self, derived: Derived) -> None:
        """Adds a form and the points that were drawn of it."""
        self.forms.append(_form(derived))
        self.legal += derived.count
        for variant, memory in zip(derived.variants, derived.memory, strict=True):
            self._add(variant, memory, len(self.forms) - 1)
        points = (dict(variant.parameters) for variant in derived.variants)
        self.along[derived.family] = ladders(points, self.along.get(derived.family, {}))

    def _add(self, variant: Variant, memory: int, form: int) -> None:
        if variant.id not in self.ids:
            self.ids.add(variant.id)
            self.variants.append(variant)
            self.memory.append(memory)
            self.form_of.append(form)

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

    def near(
        self, numbers: Sequence[int], good: Sequence[int]
    ) -> tuple[list[Variant], list[float]]:
        """Adds what is near some of them and new; and forms that are near those of good ones, the
        best first."""
        before = len(self.variants)
        for found in self.deriving(self._asked(good)):
            if isinstance(found, Derived):
                self.take(found)
        for number in dict.fromkeys([*numbers, *self._leading(good)]):
            for n, point in self._around(number):
                form = self.forms[n]
                self._add(form.variant(point), memory_at(form.known, point), n)
        return self.variants[before:], [float(m) for m in self.memory[before:]]

    def _leading(self, good: Sequence[int]) -> Iterator[int]:
        """The best of each family."""
        best = {self.variants[n].family: n for n in reversed(good)}
        yield from reversed(best.values())

    def _asked(self, good: Sequence[int]) -> list[Derive]:
        """A few forms to be derived: of every family in turn, a word apart from its best, then
        from its second best, ..."""
        ranked = defaultdict[str, list[str]](list)
        for n in dict.fromkeys(self.form_of[number] for number in good):
            ranked[self.forms[n].family].append(self.forms[n].name)
        turns = zip_longest(*(self._kin(family, names) for family, names in ranked.items()))
        first = islice((name for turn in turns for name in turn if name), AT_ONCE)
        return [self.others.pop(name) for name in dict.fromkeys(first)]

    def _kin(self, family: str, names: Sequence[str]) -> Iterator[Named]:
        mine = [other for kin, other in self.others if kin == family]
        for name in names:
            yield from ((family, other) for other in mine if a_word_apart(name, other))

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


Workers: TypeAlias = "Pool[Any, Any]"
Lost = Callable[[str, str, Failed], None]  # a family's form that its worker did not derive, and why


def candidates(
    program: Program, profile: Profile, options: Options, workers: Workers, lost: Lost
) -> Candidates:
    """Derive what the options ask for, and tell what was lost on the way; an error if nothing is
    left."""
    todo = tasks(
        program,
        profile,
        families=options.families,
        budget=POOL * options.variants,
        seed=options.seed,
        max_memory=options.max_memory,
        domain=options.domain,
    )
    deriving = partial(_derived, workers, lost)
    results = deriving(todo)
    found = [r for r in results if isinstance(r, Derived)]
    if not any(d.variants for d in found):
        raise UserError(no_candidate(program, options.max_memory, results))
    return gathered(found, others(todo), deriving)


def _derived(workers: Workers, lost: Lost, todo: Sequence[Derive]) -> list[Derived | Inapplicable]:
    """In the order of the tasks, whatever order they were done in."""
    done: dict[tuple[str, str], Derived | Inapplicable] = {}
    for result in workers.map(todo, DERIVE_LIMIT):
        key = (result.task.family, result.task.form)
        match result.result:
            case Failed() as failed:
                lost(*key, failed)
                done[key] = Inapplicable(*key, failed.reason)
            case other:
                done[key] = other
    return [done[t.family, t.form] for t in todo]


def gathered(
    found: Sequence[Derived], rest: Sequence[Derive] = (), deriving: Deriving = one_by_one
) -> Candidates:
    """All points, those that are the same choice once; the rest is derived when it is near."""
    left = shares((d.family, d.count, d.outside) for d in found)
    made = Candidates(left=left, others={(t.family, t.form): t for t in rest}, deriving=deriving)
    for derived in found:
        made.take(derived)
    return made


def _form(d: Derived) -> Form:
    program = pickle.dumps(d.program)
    return Form(
        d.family, d.form, program, d.steps, d.rounding, d.system, d.known, d.block, d.profile
    )
