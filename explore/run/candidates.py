"""The candidates of a run, derived in parallel, with what is needed to build each of them.

A few forms are derived before the first round, so that a first result is there soon: those that the
record book names, or one of each family. All others are derived round by round: those that are due
in any case, and those that are like good ones.
"""

import pickle
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, zip_longest

from constraints.count.points import Point
from constraints.devices import Profile
from constraints.quantities.quantities import memory_at
from explore.building.build_tasks import Task
from explore.measure.reference import largest_error
from explore.options.options import POOL, Options
from explore.record_book.recalled import NOTHING, Hint, Recalled
from explore.report.why_nothing import no_candidate
from explore.results.records import Record, Variant
from explore.search.search import ESTIMATED, Search
from explore.search.search_over import Nearby, round_size, search_over
from explore.space.derivations import (
    Derivation,
    Deriving,
    Here,
    Named,
    Result,
    Saw,
    unseen,
)
from explore.space.derive_at import DeriveAt
from explore.space.derive_form import Derived
from explore.space.forms_to_derive import Derive, others, tasks
from explore.space.kernel_features import Seen
from explore.space.lowered_form import LoweredForm
from explore.space.neighbours import Ladders, allowed, ladders, moves
from explore.space.search_domain import Narrowed, shares
from ir.core.frozen import frozen
from ir.core.nodes import Program
from ir.errors import UserError
from rewrites.families.all_families import FAMILIES, forms
from rewrites.tuning.family import Form, one_trait_apart

FEW = 16  # variants: if no more are tried, all forms that are due are derived at first
PACE, PACE_IN_TURNS = 8.0, 2.0  # variants a second; if none is built while one is measured
AT_ONCE = 8  # forms like good ones that are derived for a round, at most


@frozen
class Taken:
    """A lowered form with candidates: its program pickled, and the features of its kernels at
    points seen so far."""

    lowered: LoweredForm
    program: bytes  # pickled
    seen: Seen = field(default_factory=dict)

    @staticmethod
    def of(lowered: LoweredForm) -> "Taken":
        """The lowered form, pickled, with no features of kernels yet."""
        program = pickle.dumps(lowered.program)
        return Taken(lowered, program)


@dataclass(slots=True)
class Candidates:
    """The variants that a search may try, without plans, in a fixed order: `memory` has the bytes
    of each, and `form_of` the number of its form in `forms`.

    A search adds variants near good ones. It also adds forms that are like good ones, and those
    that are `due` anyway. They join in the round after the one for which their derivation began:
    nothing waits for them meanwhile.
    """

    variants: list[Variant] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)
    form_of: list[int] = field(default_factory=list)
    forms: list[Taken] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)  # of all derivations
    others: dict[Named, Derive] = field(default_factory=dict)  # forms that were not derived yet
    due: deque[Derivation] = field(default_factory=deque)  # derived in any case, in this order
    at_once: int = 2 * AT_ONCE  # of those that are due, in a round; of those like good ones half
    deriving: Deriving = field(default_factory=Here)
    wanted: int = 0  # with fewer, forms that are neither due nor like good ones are derived, too
    ids: set[str] = field(default_factory=set)
    along: dict[str, Ladders] = field(default_factory=dict)  # by family
    begin: list[int] = field(default_factory=list)  # tried before all others
    learned: Sequence[Record] = ()  # of other runs

    @property
    def legal(self) -> int:
        """The number of points that the samples were drawn from."""
        return sum(result.count for result in self.results if isinstance(result, Derived))

    @property
    def left(self) -> tuple[Narrowed, ...]:
        """What the domain that is asked for leaves of the points of each family, in the forms that
        were derived."""
        derived = [result for result in self.results if isinstance(result, Derived)]
        return shares((d.family, d.count, d.outside) for d in derived)

    def take(self, derived: Derived) -> None:
        """Add a derived form, and as candidates the points that were drawn of it."""
        self.results.append(derived)
        self.forms.append(Taken.of(derived.lowered))
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
        """The build worker's task for the candidate of this number: its form's program, and its
        parameters."""
        form = self.forms[self.form_of[number]]
        return Task(number, form.program, self.variants[number].parameters)

    def certified(self, number: int) -> bool:
        """True if a candidate's point satisfies all constraints, computed in whole numbers that
        cannot overflow."""
        form = self.forms[self.form_of[number]]
        return allowed(form.lowered.system, dict(self.variants[number].parameters))

    def search(self, options: Options, lag: int = 1, estimated: bool = False) -> Search:
        """The search that gives the order in which to try the candidates; each round is chosen
        without the outcomes of the `lag` rounds before it. `estimated` tells that outcomes are
        rough estimates of times."""
        budget = expected(options, PACE if lag else PACE_IN_TURNS)
        self.at_once = round_size(budget) if lag else min(round_size(budget), AT_ONCE)
        return search_over(
            self.variants,
            self.memory,
            options.strategy,
            options.seed,
            budget,
            self.near,
            self.begin,
            self.learned,
            lag,
            ESTIMATED if estimated else None,
        )

    def near(self, numbers: Sequence[int], good: Sequence[int]) -> Nearby:
        """Add the variants of the forms whose derivation the last call began, and those near the
        candidates `numbers` and near the best of each family among `good`. Begin to derive forms
        that differ by a trait from those of `good`, and some of those that are due.

        If none are due or like good ones, and there are few candidates, it begins with others.
        """
        before = len(self.variants)
        self._take_derived()
        drawn = len(self.variants) - before
        asked = [*self._like(good), *self.next_due(self.at_once)] or self.next_others()
        self.deriving.begin(asked)
        for number in dict.fromkeys([*numbers, *self._leading(good)]):
            for n, point in self._around(number):
                form = self.forms[n]
                variant = form.lowered.variant(point, form.seen)
                self._add(variant, memory_at(form.lowered.quantities, point), n)
        memory = [float(m) for m in self.memory[before:]]
        return Nearby(self.variants[before:], memory, drawn, more=bool(asked))

    def derive_now(self, tasks: Sequence[Derivation], saw: Saw = unseen) -> None:
        """Derive forms, and add their candidates; of a form that has none, one that may stand in
        for it is derived, until one has some. `saw` is told how many are done, and how many there
        are."""
        while tasks:
            self.deriving.begin(tasks)
            self._take_derived(saw)
            there = {_key(self.forms[n].lowered.form) for n in self.form_of}
            lacking = (task for task in tasks if _key(task.form) not in there)
            tasks = [task for each in lacking if (task := self._stand_in(each)) is not None]

    def _stand_in(self, task: Derivation) -> Derive | None:
        """The task to derive the first form that may stand in for that of a task, and that was not
        derived yet; None if there is none."""
        if isinstance(task, DeriveAt):
            return None
        for n, form in enumerate(task.instead, 1):
            if self.others.pop(_key(form), None) is not None:
                return replace(task, form=form, instead=task.instead[n:])
        return None

    def _take_derived(self, saw: Saw = unseen) -> None:
        """Add the candidates of the forms whose derivation was begun earlier, as far as they
        apply."""
        for found in self.deriving.taken(saw):
            if isinstance(found, Derived):
                self.take(found)
            else:
                self.results.append(found)

    def _leading(self, good: Sequence[int]) -> Iterator[int]:
        """The number of the best candidate of each family, from those in `good`, the best first."""
        best = {self.variants[n].family: n for n in reversed(good)}
        yield from reversed(best.values())

    def _like(self, good: Sequence[int]) -> list[Derivation]:
        """The tasks to derive a few more forms: of each family in turn, those that differ by a
        trait from its best."""
        ranked = defaultdict[str, list[Form]](list)
        for n in dict.fromkeys(self.form_of[number] for number in good):
            form = self.forms[n].lowered.form
            ranked[form.family].append(form)
        turns = zip_longest(*map(self._kin, ranked.values()))
        few = min(AT_ONCE, self.at_once // 2)
        first = islice((name for turn in turns for name in turn if name), few)
        return [self.others.pop(name) for name in dict.fromkeys(first)]

    def next_due(self, count: int) -> list[Derivation]:
        """The next `count` tasks that are due, without those that were derived meanwhile."""
        found: list[Derivation] = []
        while self.due and len(found) < count:
            task = self.due.popleft()
            if isinstance(task, DeriveAt) or self.others.pop(_key(task.form), None) is not None:
                found.append(task)
        return found

    def next_others(self) -> list[Derivation]:
        """The tasks to derive a few other forms, if there are fewer candidates than wanted."""
        names = list(self.others)[:AT_ONCE] if len(self.variants) < self.wanted else []
        return [self.others.pop(name) for name in names]

    def _kin(self, best: Sequence[Form]) -> Iterator[Named]:
        """The forms of one family, not derived yet, that differ by one trait from the best
        forms."""
        mine = [name for name in self.others if name[0] == best[0].family]
        for form in best:
            yield from (name for name in mine if one_trait_apart(form, self.others[name].form))

    def _around(self, number: int) -> Iterator[tuple[int, Point]]:
        """The points near a candidate: others of its form, and its own point in the family's other
        forms."""
        mine, point = self.form_of[number], dict(self.variants[number].parameters)
        lowered = self.forms[mine].lowered
        for other in moves(point, self.along[lowered.family]):
            if allowed(lowered.system, other):
                yield mine, other
        for n, taken in enumerate(self.forms):
            sibling = taken.lowered
            if n != mine and sibling.family == lowered.family and allowed(sibling.system, point):
                yield n, point


def candidates(
    program: Program,
    profile: Profile,
    options: Options,
    deriving: Deriving,
    known: Recalled = NOTHING,
    saw: Saw = unseen,
    soon: bool = True,
) -> Candidates:
    """The candidates with which a run with these options begins; a UserError if no form has any.

    Those that the record book says to try first come first, where they are legal, followed by those
    that were good elsewhere; apart from these, no variant that was tried before is a candidate, and
    forms of which fewer were tried come before others. `saw` is told how many forms are derived,
    and how many there are to begin with.

    With `soon`, as few forms are derived now as a first result needs. In a random order, though,
    all forms have the same chance, and if few variants are tried at all, they are to be of the
    forms that look best: then all are derived now. If none of these applies to the program, others
    of the families that were asked for are derived until one does.
    """
    first, likely = (
        hinted_tasks(program, profile, options, hints) for hints in (known.first, known.likely)
    )
    made = Candidates(deriving=deriving, learned=known.learned, along=_seen(known.variants))
    made.derive_now(first, saw)
    made.begin = list(range(len(made.variants)))
    made.ids |= known.tried
    if first and len(known.tried) >= options.variants:
        return made
    todo = tasks_for(program, profile, options)
    made.others = {_key(task.form): task for task in (*todo, *others(todo))}
    tried = Counter((variant.family, variant.form) for variant in known.variants)
    turns = sorted(_in_turns(todo), key=lambda task: tried[_key(task.form)])
    made.due, made.wanted = deque([*likely, *turns]), POOL * options.variants
    families = len({task.form.family for task in todo})
    some = soon and options.strategy != "random" and options.variants > FEW
    while made.due and not (some and made.variants):
        count = len(made.due) if not some else AT_ONCE if likely else families
        made.derive_now(made.next_due(count), saw)
    while options.families and not made.forms and (left := made.next_others()):
        made.derive_now(left, saw)
    if not made.variants:
        raise UserError(no_candidate(program, options.max_memory, made.results))
    return made


def _seen(variants: Sequence[Variant]) -> dict[str, Ladders]:
    """The values that each parameter takes in some variants, by family."""
    points = defaultdict[str, list[Point]](list)
    for variant in variants:
        points[variant.family].append(dict(variant.parameters))
    return {family: ladders(some) for family, some in points.items()}


def expected(options: Options, pace: float) -> int:
    """The number of variants that a run with these options is expected to try, if it tries `pace`
    of them in a second."""
    if options.time_limit is None:
        return options.variants
    return min(options.variants, max(1, int(pace * options.time_limit)))


def _in_turns(todo: Sequence[Derive]) -> list[Derive]:
    """The tasks in turns of their families: the first of each, then the second of each, …; after
    the first turn those that come `soon`."""
    families: dict[str, list[Derive]] = {}
    for task in todo:
        families.setdefault(task.form.family, []).append(task)
    first, *later = [[task for task in turn if task] for turn in zip_longest(*families.values())]
    rest = [task for turn in later for task in turn]
    return [*first, *sorted(rest, key=lambda task: not task.soon)]


def tasks_for(program: Program, profile: Profile, options: Options) -> list[Derive]:
    """The tasks that derive the forms which the options ask for, on a device with this profile."""
    return tasks(
        program,
        profile,
        families=options.families,
        budget=POOL * options.variants,
        seed=options.seed,
        max_memory=options.max_memory,
        domain=options.domain,
        max_error=largest_error(program, options.max_error),
        largest=options.largest_input,
    )


def hinted_tasks(
    program: Program, profile: Profile, options: Options, hints: Sequence[Hint]
) -> list[DeriveAt]:
    """The tasks that derive the forms of `hints`, one for each form, at all points that hints name
    for it. Forms that the program does not have are left out."""
    points = defaultdict[Named, list[tuple[tuple[str, int], ...]]](list)
    for hint in hints:
        points[hint.family, hint.form].append(hint.parameters)
    return [
        DeriveAt(program, form, profile, tuple(given), options.max_memory, options.domain)
        for (family, name), given in points.items()
        for form in (forms(program, family) if family in FAMILIES else ())
        if form.name == name and form.largest >= options.largest_input
    ]


def begun(first: Sequence[Derived], likely: Sequence[Derived], known: Recalled) -> Candidates:
    """The candidates of the derived forms that the record book names: those of `first` are tried
    before all others, those of `likely` when their predicted times are good. Variants that were
    tried by earlier runs (`known`) are noted, and will not become candidates again."""
    made = Candidates(learned=known.learned)
    for derived in first:
        made.take(derived)
    made.begin = list(range(len(made.variants)))
    for derived in likely:
        made.take(derived)
    made.ids |= known.tried
    return made


def _key(form: Form) -> Named:
    return form.family, form.name


def gathered(
    found: Sequence[Derived],
    rest: Sequence[Derive] = (),
    deriving: Deriving | None = None,
    first: Candidates | None = None,
) -> Candidates:
    """The candidates of the derived forms in `found`, after those in `first`; a variant that two
    forms have counts once. The forms in `rest` are derived by `deriving` (None: in this process)
    once they are near good ones."""
    made = Candidates() if first is None else first
    made.others, made.deriving = {_key(t.form): t for t in rest}, deriving or Here()
    for derived in found:
        made.take(derived)
    return made
