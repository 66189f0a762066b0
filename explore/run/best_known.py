"""The variant of a program that is taken without a search: the best one known for the program on
this device; else one that was good for the nearest program; else the quickest by the cost model.

Whichever it is, its constraints are checked and its kernels proved anew. Plans that were proved are
kept in the user's cache, by version."""

import json
import pickle
from collections.abc import Iterator

from codegen.binaries import binary_cache as cache
from codegen.binaries.cache_folder import cache_folder
from codegen.plan import Plan
from codegen.runtime.devices import Device
from codegen.runtime.results import BuildFailed
from codegen.runtime.session import session_of
from constraints.devices import Profile
from explore.building.build_tasks import Task
from explore.building.build_variant import Builder, make
from explore.options.options import Options
from explore.options.stored_fields import Damaged, loaded
from explore.record_book.program_identity import identity_of
from explore.record_book.recalled import NOTHING, Hint, Recalled, hint_of, recalled
from explore.results.read_record import plan_from
from explore.results.record_json import plan_json
from explore.results.version import version
from explore.run.book_keeping import Records, opened, place_of, state_of, suited_to
from explore.run.candidates import hinted_tasks
from explore.run.compiled_variant import Compiled
from explore.run.target import Target, target_of
from explore.space.derive_at import derive_at
from explore.space.derive_form import Derived, derive
from explore.space.forms_to_derive import Derive
from explore.space.lowered_form import LoweredForm
from explore.space.rough_cost import predicted
from ir.core.nodes import Program
from ir.errors import UserError
from ir.text.show import show
from rewrites.families.all_families import BY_DEFAULT, forms

TRIED = 8  # variants that are tried, where some cannot be built
DRAWN = 48  # points of a family that the cost model looks at
KEPT = 32 << 20  # bytes of plans

Point = tuple[tuple[str, int], ...]


def best_known(
    program: Program, device: Device, max_memory: int | None, records: Records
) -> Compiled:
    """The variant of a program to take on a device without measuring anything, built; it takes at
    most `max_memory` bytes (None: no limit). `records` is the record book that is looked into: a
    file, None for the user's own, False for none."""
    options = Options(max_memory=max_memory)
    target = target_of(device, None, ())
    plans = _Plans(program, target.profile)
    names = tuple(p.var.name for p in program.params)
    session, reason = session_of(device), "no family lowers it"
    for plan in _to_try(plans, target, options, records):
        try:
            built = session.build(plan)
        except BuildFailed as error:
            reason = str(error)
        else:
            plans.settle(plan, options, records)
            return Compiled(plan, built, names)
    raise UserError(f"no variant of {program.name} could be compiled here: {reason}")


def _to_try(plans: "_Plans", target: Target, options: Options, records: Records) -> Iterator[Plan]:
    """The plans to try, the best first: the one that was taken before, if the record book is as it
    was then; those of the best variants known, of hints, and of the cost model."""
    yield from plans.settled(options, records)
    known = _recalled(plans.program, target, options, records)
    for entry in known.again:
        yield from plans.of(hint_of(entry), options)
    for hint in known.hints:
        yield from plans.of(hint, options)
    yield from plans.by_cost(options)


def _recalled(program: Program, target: Target, options: Options, records: Records) -> Recalled:
    """The knowledge of a record book on a program, for a search on a target."""
    book = opened(records, lambda said: None)
    if book is None:
        return NOTHING
    with book:
        about = identity_of(program), place_of(target), version()
        return recalled(book, *about, suited_to(program, options))


class _Plans:
    """The plans of a program's variants on a device, made here or found in the cache."""

    def __init__(self, program: Program, profile: Profile) -> None:
        self.program, self._profile = program, profile
        self._cache = cache.BinaryCache(cache_folder() / "plans", KEPT)
        self._about = version(), show(program), repr(profile)
        self._taken: Plan | None = None  # the plan that was kept as the one to take

    def settled(self, options: Options, records: Records) -> Iterator[Plan]:
        """The plan that was taken when the record book was as it is now; none if there is none."""
        self._taken = self._kept(self._answer(options, records))
        if self._taken is not None:
            yield self._taken

    def settle(self, plan: Plan, options: Options, records: Records) -> None:
        """Keep a plan as the one that is taken as long as the record book stays as it is, unless it
        was kept so before."""
        if plan is not self._taken:
            self._keep(self._answer(options, records), plan)

    def _answer(self, options: Options, records: Records) -> str:
        return cache.key("taken 1", *self._about, repr(options.max_memory), state_of(records))

    def of(self, hint: Hint, options: Options) -> Iterator[Plan]:
        """The plans of a hint: the one of its point or, if that is not legal for this program, of
        points near it."""
        key = cache.key("plan 1", *self._about, repr((hint, options.max_memory)))
        if (found := self._kept(key)) is not None:
            yield found
            return
        for task in hinted_tasks(self.program, self._profile, options, [hint]):
            derived = derive_at(task)
            if isinstance(derived, Derived):
                yield from self._made(derived, key)

    def by_cost(self, options: Options) -> Iterator[Plan]:
        """The plans of the variants that are quickest by the cost model, the quickest first."""
        key = cache.key("quickest 1", *self._about, repr(options.max_memory))
        if (found := self._kept(key)) is not None:
            yield found
            return
        for lowered, point in self._ranked(options)[:TRIED]:
            yield from self._proved(lowered, point, key)

    def _ranked(self, options: Options) -> list[tuple[LoweredForm, Point]]:
        """The points of each family's plain form, the quickest first by the cost model."""
        found: list[tuple[float, int, LoweredForm, Point]] = []
        for family in BY_DEFAULT:
            for form in forms(self.program, family)[:1]:
                task = Derive(
                    self.program, form, self._profile, DRAWN, options.seed, options.max_memory
                )
                derived = derive(task)
                if isinstance(derived, Derived):
                    found += [
                        (predicted(v).time_ns, len(found) + i, derived.lowered, v.parameters)
                        for i, v in enumerate(derived.variants)
                    ]
        return [(lowered, point) for _, _, lowered, point in sorted(found, key=lambda f: f[:2])]

    def _made(self, derived: Derived, key: str) -> Iterator[Plan]:
        for variant in derived.variants:
            yield from self._proved(derived.lowered, variant.parameters, key)

    def _proved(self, lowered: LoweredForm, point: Point, key: str) -> Iterator[Plan]:
        """The plan of a variant, generated, proved, and kept in the cache under a key; none if it
        cannot be generated or proved."""
        made = make(Builder(None, self._profile), Task(0, pickle.dumps(lowered.program), point))
        if made.failed is None and made.plan is not None:
            self._keep(key, made.plan)
            yield made.plan

    def _keep(self, key: str, plan: Plan) -> None:
        self._cache.put(key, json.dumps(plan_json(plan)).encode())

    def _kept(self, key: str) -> Plan | None:
        """The plan kept under a key; None if there is none."""
        content = self._cache.get(key)
        try:
            return None if content is None else plan_from(loaded(content.decode(), "plan"))
        except (Damaged, ValueError):
            self._cache.drop(key)
            return None
