"""The tasks of workers that build variants, and their results: all that the one who asks knows of
building."""

from dataclasses import replace

from codegen.plan import Plan
from constraints.devices import Profile
from explore.results.records import Failed, Variant
from explore.space.lowered_form import LoweredForm
from ir.core.frozen import frozen
from ir.core.nodes import Program


@frozen
class Task:
    """A task to build candidate `number` of a run: the program of its form, pickled since many
    tasks share one, and its parameters' values."""

    number: int
    program: bytes
    parameters: tuple[tuple[str, int], ...]


@frozen
class Made:
    """The result of building a variant: its plan and what is counted on its kernels (None if it
    failed before they were generated), the time that it took, and the failure, if any."""

    plan: Plan | None
    flops: int | None
    traffic_bytes: int | None
    chip_bytes: int | None
    bank_conflicts: int | None
    build_ns: float
    failed: Failed | None

    def variant(self, bare: Variant, lowered: LoweredForm) -> Variant:
        """The built variant, of which only what its lowered form tells was known: `bare`."""
        return replace(
            bare,
            derivation=lowered.steps,
            rounding=lowered.rounding,
            plan=self.plan,
            flops=self.flops,
            traffic_bytes=self.traffic_bytes,
            chip_bytes=self.chip_bytes,
            bank_conflicts=self.bank_conflicts,
        )

    @staticmethod
    def without_plan(why: Failed, build_ns: float = 0.0) -> "Made":
        """The result for a variant that failed for the reason `why` before it had a plan, after
        `build_ns` nanoseconds."""
        return Made(None, None, None, None, None, build_ns, why)


@frozen
class Again:
    """A task to make a variant of a program again, for a device with this profile; `number` tells
    it from other tasks, and `vouched_for` is the stored plan if the user trusts it, else None."""

    number: int
    program: Program
    family: str
    form: str
    parameters: tuple[tuple[str, int], ...]
    profile: Profile
    vouched_for: Plan | None = None  # taken, if its text is proved, where another one is made
