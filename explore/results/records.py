"""The records of a run: how each variant was made, what became of it, and its peers."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Literal, NamedTuple, TypeAlias

from codegen.plan import Plan
from explore.bounds.least_traffic import Products
from explore.results.kernel_code import KernelCode
from ir.core.frozen import frozen

Stage = Literal["start", "constrain", "emit", "prove", "build", "run", "verify"]
Clock = Literal["end to end", "device"]
CLOCKS: tuple[Clock, ...] = ("end to end", "device")
NOISY = 0.15  # a spread over this says little of a time
WORD = 4  # bytes of an element
STAGES: tuple[Stage, ...] = ("start", "constrain", "emit", "prove", "build", "run", "verify")


class Begun(NamedTuple):
    """A stage of a derivation that begins at a step: its name, its number of steps, and the terms
    before and after."""

    name: str
    steps: int
    before: str
    after: str


class Step(NamedTuple):
    """A step of a derivation: the law, its place, the term that then stands there, and the stages
    that begin here."""

    law: str
    place: str
    term: str
    stages: tuple[Begun, ...] = ()


Features: TypeAlias = tuple[tuple[str, float], ...]


@frozen
class Variant:
    """A lowered program with a number for every parameter, and what is counted on its kernels;
    `plan` is None until they are generated.

    `stored` are the views that are made real in global memory, `traits` the words of `form`, `tile`
    the results a side of a transformed tile, and `block` the results that a work-group makes at
    once; None where there are no such tiles or blocks. `known_error` is beside what rounding of
    floats loses in any order of operations; None in runs that older versions made. `rounding` is
    the error, in machine epsilons, that the derivation may cause in results for whole numbers; None
    until a variant is built.
    """

    id: str
    family: str
    parameters: tuple[tuple[str, int], ...]
    stored: tuple[str, ...] = ()  # the views made real in global memory
    form: str = ""  # the family's choices that are not numbers, such as "padded relaid ahead"
    traits: tuple[str, ...] = ()  # these choices, one by one
    tile: int | None = None  # results a side of a transformed tile, where it transforms tiles
    derivation: tuple[Step, ...] = ()
    plan: Plan | None = None
    flops: int | None = None  # operations it executes, redundant ones too
    traffic_bytes: int | None = None  # global bytes it moves, counted on its accesses
    chip_bytes: int | None = None  # the most that a work-group holds in local memory and registers
    bank_conflicts: int | None = None  # turns lanes wait for, where local memory is used
    known_error: float | None = None  # what laws lose at most, and sums that are cut off on average
    block: int | None = (
        None  # the results that a work-group makes at once, where a family has blocks
    )
    features: tuple[Features, ...] = ()  # of each kernel that runs: what the search learns from
    rounding: float | None = None

    @property
    def key(self) -> str:
        """The key of a variant's compiled form: variants with one key launch the same kernels in
        the same way."""
        return self.id if self.plan is None else plan_key(self.plan)


@frozen
class Measured:
    """Outcome of a variant that ran, with a right output unless `error` is None; times are in
    nanoseconds.

    The time is what an inference costs its user: many back to back, by the host's clock, at the
    pace that the machine usually has (the clock read `slowdown` times as much). With the clock
    `device`, the time is instead the sum of the kernels' device times: so it is for variants that
    were stopped early, and in runs that older versions made. If some of its groups showed that a
    variant is hopeless, its results were not checked, and it cannot be picked.
    """

    time_ns: float  # the median over batches of inferences
    spread: float  # interquartile range / median
    error: float | None  # norm(out - ref) / norm(ref); None: hopeless before it was checked
    prepack_ns: float = 0.0  # device time
    build_ns: float = 0.0
    code_bytes: int | None = None
    runs_ns: tuple[float, ...] = ()  # an inference of each batch
    kernels_ns: tuple[float, ...] = ()  # device time of each that runs, if it ran often enough
    stopped_early: bool = False  # hopeless after few runs: its time is an estimate
    clock: Clock = "end to end"
    yardstick_ns: float | None = None  # what the yardstick took beside it
    slowdown: float = 1.0  # times slower than usual that the machine was

    @property
    def noisy(self) -> bool:
        """True if its times spread by more than the difference from which variants count as
        unequal."""
        return self.spread > NOISY

    @property
    def device_ns(self) -> float | None:
        """The sum of the kernels' device times; None if they are not known."""
        return sum(self.kernels_ns) if self.kernels_ns else None


@frozen
class Failed:
    """The outcome of a variant that failed at `stage`, for a reason; `detail` may be long, such as
    a build log. `timed_out` is true if it took too long; `error` is that of a wrong result."""

    stage: Stage
    reason: str
    detail: str = ""
    timed_out: bool = False
    error: float | None = None  # of a wrong output


@frozen
class Predicted:
    """The outcome of a variant that never ran, for a device that is not here: its time by a model.

    Where the device's compiler was asked, `code` is what it made of each kernel that runs, and the
    time, from these numbers, lies between `least_ns` and `most_ns` if the model is right.
    """

    time_ns: float
    code: tuple[KernelCode, ...] = ()
    least_ns: float | None = None
    most_ns: float | None = None

    @property
    def spills(self) -> int | None:
        """The number of registers that the kernels move to memory and back; None if they were not
        compiled."""
        return sum(c.spills + c.fills for c in self.code) if self.code else None


Outcome: TypeAlias = Measured | Failed | Predicted


def kernels_of(outcome: Outcome) -> tuple[float, ...]:
    """The time of an inference divided among its kernels in proportion to their device times, in
    nanoseconds; empty if these are not known."""
    if not isinstance(outcome, Measured) or not outcome.device_ns:
        return ()
    share = outcome.time_ns / outcome.device_ns
    return tuple(share * ns for ns in outcome.kernels_ns)


@frozen
class Record:
    """A variant and its outcome, `elapsed_s` seconds after the run began (pauses left out), at the
    time `unix_s`; a record of a later `round` replaces an earlier one."""

    variant: Variant
    outcome: Outcome
    elapsed_s: float = 0.0  # since the run began, pauses between resumes left out
    unix_s: float = 0.0
    round: int = 0

    @property
    def time_ns(self) -> float | None:
        """The time of an inference in nanoseconds, measured or predicted; None if the variant
        failed."""
        match self.outcome:
            case Measured(time_ns=time) | Predicted(time_ns=time):
                return time
            case Failed():
                return None

    @property
    def error(self) -> float | None:
        """The relative error of the result; None if it is not known, as of a variant that was not
        run."""
        return None if isinstance(self.outcome, Predicted) else self.outcome.error

    @property
    def memory_bytes(self) -> int | None:
        """The bytes of global memory that an inference needs; None if the variant has no plan."""
        return self.variant.plan.memory_bytes if self.variant.plan else None

    @property
    def workspace_bytes(self) -> int | None:
        """The bytes of the temporaries; None if the variant has no plan."""
        return self.variant.plan.workspace_bytes if self.variant.plan else None


@frozen
class Peer:
    """The measurement of another library on the same program in the same run."""

    name: str
    time_ns: float
    memory_bytes: int | None = None
    spread: float = 0.0
    note: str = ""
    yardstick_ns: float | None = None  # what the yardstick took beside it
    precision: str = "float"  # of products
    ours_ns: float | None = None  # what our best variant took in turns with it

    @property
    def exact(self) -> bool:
        """True if the peer computes in float, so that it may stand for its library; others are only
        listed beside it."""
        return self.precision == "float"


@frozen
class Bounds:
    """The bounds that no variant of a program can beat on a device: the least operations, bytes and
    products, the peaks of arithmetic and of memory, the times of an empty launch, of its event and
    of the yardstick, and the operations of the yardstick; None where not measured or not
    applicable."""

    flops: int | None = None  # the program's own operations on floats
    io_bytes: int | None = None  # its inputs and output once: the least whatever is on chip
    peak_flops: float | None = None  # per second, measured
    bandwidth: float | None = None  # bytes per second, measured
    products: Products | None = None  # its multiplications, if it is one sum of products
    launch_ns: float | None = None  # the floor: an empty launch, of many back to back
    event_ns: float | None = None  # what the event of an empty kernel says that it took
    yardstick_ns: float | None = None  # the yardstick's time when the run began
    yardstick_operations: float | None = None  # that it does in this time
    whole_operations: int | None = None  # the program's own on whole numbers

    @property
    def roofline_ns(self) -> float | None:
        """The roofline in nanoseconds: the longer of the times that arithmetic and memory need at
        their peaks, or the one of them that is known; None if neither is."""
        compute = _ratio(self.flops, self.peak_flops)
        memory = _ratio(self.io_bytes, self.bandwidth)
        known = [t * 1e9 for t in (compute, memory) if t is not None]
        return max(known, default=None)


def variant_id(family: str, parameters: Sequence[tuple[str, int]], form: Sequence[str] = ()) -> str:
    """The short id of a choice of family, form and parameters, such as `blocked-3f9a1c2e`."""
    choice = json.dumps([family, sorted(parameters), list(form)])
    return f"{family}-{hashlib.sha256(choice.encode()).hexdigest()[:8]}"


def plan_key(plan: Plan) -> str:
    """The sha256 of a plan's OpenCL source and launches."""
    text = json.dumps(asdict(plan), sort_keys=True, default=lambda role: role.value)
    return hashlib.sha256(text.encode()).hexdigest()


def latest(records: Sequence[Record]) -> list[Record]:
    """The record of each variant's last round, in the order in which variants first came."""
    newest: dict[str, Record] = {}
    for record in records:
        held = newest.get(record.variant.id)
        if held is None or record.round >= held.round:
            newest[record.variant.id] = record
    return list(newest.values())


def _ratio(a: float | None, b: float | None) -> float | None:
    return None if a is None or not b else a / b
