"""The options of a layer: variants of its program, each with its time and its plan."""

from collections.abc import Sequence
from typing import Literal

from codegen.plan import Plan, Role
from codegen.runtime.session import Session
from explore.building.build_variant import Builder, make
from explore.results.front import pareto
from explore.results.records import Measured, Record
from explore.run.candidates import Candidates, gathered
from explore.run.target import Target
from explore.space.derive_form import Derived, derive
from explore.space.forms_to_derive import tasks
from explore.space.rough_cost import predicted
from ir.core.frozen import frozen
from ir.core.nodes import Program
from ir.errors import Unsupported

FAMILIES = {"cpu": ("registers", "naive"), "gpu": ("lift", "blocked", "registers", "naive")}
"""Those of options that are not measured, by the kind of device."""
CANDIDATES = 40  # of each family
BUILT = 4  # that are tried until one is good


@frozen
class Option:
    """A variant of a layer's program: its name, its plan, and its time, measured or estimated; its
    record in the run that found it, or the options that are its two parts."""

    id: str
    plan: Plan
    time_ns: float
    measured: bool
    record: Record | None = None
    parts: "tuple[Option, ...]" = ()

    @property
    def kept_bytes(self) -> int:
        """The bytes of constants, either as given or packed, that stay as long as the network
        does."""
        read = {n for k in self.plan.kernels if not k.prepack for n in k.arguments}
        return sum(
            b.bytes
            for b in self.plan.buffers
            if b.role is Role.PACKED or (b.role is Role.CONST and b.name in read)
        )

    @property
    def workspace_bytes(self) -> int:
        return self.plan.workspace_bytes

    @property
    def slowdown(self) -> float:
        """The number of times that the machine was slower than usual when this variant, or the
        slowest measured of its parts, was measured; 1 if that is not known."""
        outcome = self.record.outcome if self.record else None
        own = outcome.slowdown if isinstance(outcome, Measured) else 1.0
        return max([own, *(part.slowdown for part in self.parts)])

    @staticmethod
    def of(record: Record) -> "Option":
        """The variant of a record as an option."""
        plan, time = record.variant.plan, record.time_ns
        assert plan is not None
        assert time is not None
        measured = isinstance(record.outcome, Measured)
        return Option(record.variant.id, plan, time, measured, record)


def best_of(options: Sequence[Option]) -> list[Option]:
    """The options that no other beats in all of time, bytes kept for good, and workspace; the
    fastest first."""
    return pareto(options, lambda o: (o.time_ns, o.kept_bytes, o.workspace_bytes))


def device_kind(target: Target) -> Literal["cpu", "gpu"]:
    """The kind of device that a target is: a GPU, or a CPU, as which all others count."""
    gpu = target.device.kind == "gpu" if target.device else target.profile.resident_items > 1
    return "gpu" if gpu else "cpu"


def estimated_options(program: Program, target: Target, session: Session | None) -> list[Option]:
    """A few options of a program without running anything: their times are rough estimates.
    `session` is on the device that builds them (None: they are only proved).

    The one that is estimated to be fastest is among them, and the one of least memory.
    """
    found = _candidates(program, target)
    times = [predicted(v).time_ns for v in found.variants]
    fastest = sorted(range(len(times)), key=lambda n: (times[n], n))
    smallest = sorted(range(len(times)), key=lambda n: (found.memory[n], times[n], n))
    options = {
        o.id: o for order in (fastest, smallest) for o in _first(found, order, target, session)
    }
    if not options:
        raise Unsupported(
            f"expected a variant of {program.name} that can be built here, found none"
        )
    return best_of(list(options.values()))


def _candidates(program: Program, target: Target) -> Candidates:
    todo = tasks(
        program, target.profile, families=FAMILIES[device_kind(target)], budget=CANDIDATES, seed=0
    )
    return gathered([d for d in map(derive, todo) if isinstance(d, Derived)])


def _first(
    found: Candidates, order: Sequence[int], target: Target, session: Session | None
) -> list[Option]:
    """The first candidate, in this order, that can be built (on the device of `session`, if there
    is one) and proved, as an option; the list is empty if the first few cannot."""
    builder = Builder(None if session is None else session.device, target.profile)
    for n in order[:BUILT]:
        made = make(builder, found.task(n))
        if made.failed is None and made.plan is not None:
            variant = found.variants[n]
            return [Option(variant.id, made.plan, predicted(variant).time_ns, measured=False)]
    return []
