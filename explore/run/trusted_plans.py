"""The plans that may be run or exported: made on this machine, and equal to what a run stores.

A run's folder may come from anybody, so its kernels' text is never run. The variant is made again
from its program, family, form and parameters, and proved; the stored plan must be equal.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from codegen.plan import Plan
from explore.building.build_tasks import Again
from explore.building.build_worker import load, remade
from explore.options.options import Options
from explore.results.records import Failed, Record, Variant
from explore.results.run_environment import Environment
from explore.results.version import version
from explore.run.source import Source
from explore.run.target import stored_profile
from explore.workers.pool import Pool
from explore.workers.wait_any import each_done
from ir.errors import UserError

LIMIT = 120.0  # seconds to make one again
MEMORY = 6 << 30  # bytes that a worker may take for it


@dataclass(slots=True)
class TrustedPlans:
    """The plans of a run's variants that may be run, made by `jobs` processes; `made` holds those
    made in this session, by id.

    With `trust`, texts of another version of the generator are taken as stored, if they are proved
    safe to run.
    """

    environment: Environment
    trust: bool = False
    jobs: int = 1
    made: dict[str, Plan] = field(default_factory=dict)

    def of(self, record: Record) -> Plan:
        """The trusted plan of one variant."""
        return self.all([record])[0]

    def all(self, records: Sequence[Record]) -> list[Plan]:
        """The trusted plans of several variants; a UserError names the first that is not to be
        trusted."""
        todo = [r.variant for r in records if r.variant.id not in self.made]
        for variant, found in self._again([_compiled(variant) for variant in todo]):
            self.made[variant.id] = self._trusted(variant, found)
        return [self.made[r.variant.id] for r in records]

    def _again(self, variants: Sequence[Variant]) -> Iterator[tuple[Variant, Plan | Failed]]:
        if not variants:
            return
        tasks = [self._task(number, variant) for number, variant in enumerate(variants)]
        workers = min(self.jobs, len(tasks))
        pool: Pool[Again, Plan] = Pool(
            remade, workers=workers, timeout=LIMIT, stage="prove", load=load, max_memory=MEMORY
        )
        with pool:
            for done in each_done(pool, tasks):
                yield variants[done.task.number], done.result

    def _task(self, number: int, variant: Variant) -> Again:
        known = self.environment
        options = Options.from_json(known.options)
        program = Source.of(known).program(options)
        profile = stored_profile(known, options)
        vouched = variant.plan if self.trust and known.version != version() else None
        made_of = (program, variant.family, variant.form, variant.parameters)
        return Again(number, *made_of, profile, vouched)

    def _trusted(self, variant: Variant, found: Plan | Failed) -> Plan:
        if found == variant.plan:
            return found
        why = found.reason if isinstance(found, Failed) else "other kernels come of it here"
        if self.environment.version == version():
            raise UserError(
                f"what is stored of {variant.id} is not what its form and parameters make, so "
                f"it is not run: {why}; the folder was changed by another hand"
            )
        if self.trust:
            raise UserError(
                f"{variant.id} is not run: its kernels, as they are stored, could not be proved "
                f"safe: {why}"
            )
        raise UserError(
            f"{variant.id} was made by convlift {self.environment.version} and cannot be made "
            f"again by {version()}: {why}; --trust takes the kernels as they are stored, if "
            "their text is proved safe to run"
        )


def _compiled(variant: Variant) -> Variant:
    if variant.plan is None:
        raise UserError(f"{variant.id} was never compiled: it failed before")
    return variant
