"""The exact Pareto front of the records of a run, and how variants are picked from it."""

import math
from collections.abc import Callable, Sequence
from typing import Literal, TypeVar

from explore.options.units import show_bytes, show_time
from explore.results.code_totals import CodeTotals, code_totals
from explore.results.records import Failed, Measured, Predicted, Record, latest
from ir.core.frozen import frozen
from ir.errors import UserError
from ir.text.suggest import no_such

T = TypeVar("T")
Objective = Literal[
    "time",
    "memory",
    "error",
    "workspace",
    "predicted",
    "spills",
    "private",
    "code",
    "threads",
    "instructions",
]
DEFAULT: tuple[Objective, ...] = ("time", "memory")

_VALUE: dict[Objective, Callable[[Record], float | None]] = {
    "time": lambda r: r.time_ns,
    "memory": lambda r: r.memory_bytes,
    "error": lambda r: r.error,
    "workspace": lambda r: r.workspace_bytes,
    "predicted": lambda r: r.time_ns if isinstance(r.outcome, Predicted) else None,
    "spills": lambda r: r.outcome.spills if isinstance(r.outcome, Predicted) else None,
    "private": lambda r: _of_code(r, lambda c: c.private_bytes),
    "code": lambda r: _of_code(r, lambda c: c.bytes),
    "threads": lambda r: _of_code(r, lambda c: -c.threads),  # more are better
    "instructions": lambda r: _of_code(r, lambda c: c.issued),
}


def _of_code(record: Record, number: Callable[[CodeTotals], float | None]) -> float | None:
    """A number of a record's compiled code; None if it was not compiled."""
    code = code_totals(record)
    return None if code is None else number(code)


def objectives(names: Sequence[str]) -> tuple[Objective, ...]:
    """The objectives of a front from their names; an unknown name is a UserError."""
    for name in names:
        if name not in _VALUE:
            raise no_such("objective", name, _VALUE)
    return tuple(o for name in names for o in _VALUE if o == name)


@frozen
class Limits:
    """Limits on what a variant may cost; None is no limit."""

    max_memory: int | None = None
    max_time_ns: float | None = None
    max_error: float | None = None

    def admit(self, record: Record) -> bool:
        """True if a record's memory, time and error are within the limits."""
        return (
            _within(record.memory_bytes, self.max_memory)
            and _within(record.time_ns, self.max_time_ns)
            and _within(record.error, self.max_error)
        )


def pareto(points: Sequence[T], cost: Callable[[T], tuple[float, ...]]) -> list[T]:
    """The points that no other point dominates, in order of cost; equal points are all kept.

    In order of cost, a point can be dominated only by an earlier one, and then also by one that was
    kept.
    """
    costs = [cost(point) for point in points]
    order = [i for i in range(len(points)) if not any(map(math.isnan, costs[i]))]
    order.sort(key=lambda i: (costs[i], i))
    kept: list[int] = []
    for i in order:
        if not any(_dominates(costs[j], costs[i]) for j in reversed(kept)):
            kept.append(i)
    return [points[i] for i in kept]


def front(
    records: Sequence[Record],
    objectives: Sequence[Objective] = DEFAULT,
    limits: Limits | None = None,
) -> list[Record]:
    """The records on the front by these objectives and within these limits, the fastest first; of
    each variant only the record of its latest round counts."""
    spilling = not {"spills", "private"}.isdisjoint(objectives)
    found = usable(records, limits, "error" in objectives, spilling)
    return pareto(found, lambda r: tuple(_cost(r, o) for o in objectives))


def usable(
    records: Sequence[Record],
    limits: Limits | None = None,
    early: bool = False,
    spilling: bool = False,
) -> list[Record]:
    """The records that can be picked: their results are right and within the limits, and they ran
    to the end or are predictions.

    Variants that were given up as too slow count where `early` or a limit on errors asks for them:
    they may be more exact. Of predictions, those that the device's compiler was asked about count
    alone, if there are any; and of these, those that spill no registers, unless `spilling`.
    """
    asked = limits or Limits()
    early = early or asked.max_error is not None
    found = [r for r in latest(records) if _ran(r, early) and asked.admit(r)]
    compiled = [r for r in found if isinstance(r.outcome, Predicted) and r.outcome.code]
    lean = [r for r in compiled if _VALUE["spills"](r) == 0]
    return (compiled if spilling else lean) or compiled or found


def best_first(records: Sequence[Record], count: int) -> list[Record]:
    """The best records, at most `count`: first those on the front, then the front of the others,
    and so on. After all that can be picked come those that spill registers, and last those whose
    times are estimates alone. Of variants with equal kernels there is one."""
    layers = [
        *(usable(records), usable(records, spilling=True)),
        [r for r in latest(records) if _ran(r, False)],
    ]
    found = dict[str, Record]()
    for several in layers:
        left = [r for r in several if r.variant.plan is not None]
        while left and len(found) < count:
            best = pareto(left, lambda r: tuple(_cost(r, o) for o in DEFAULT))
            for record in best:
                found.setdefault(record.variant.key, record)
            taken = {r.variant.id for r in best}
            left = [r for r in left if taken and r.variant.id not in taken]
    return list(found.values())[:count]


def pick(
    records: Sequence[Record],
    which: Literal["fastest", "smallest"] = "fastest",
    limits: Limits | None = None,
) -> Record:
    """The record of the fastest variant, or of the one with least memory, within the limits; the
    other objective breaks ties. A UserError if no variant is within them."""
    found = usable(records, limits)
    if not found:
        raise UserError(nothing_fits(records))
    order: tuple[Objective, ...] = DEFAULT if which == "fastest" else ("memory", "time")
    return min(found, key=lambda r: tuple(_cost(r, o) for o in order))


def by_id(records: Sequence[Record], id: str) -> Record:
    """The record of the variant with this id, or of the only variant whose id, or the number at its
    end, begins with it; a UserError if there is none."""
    found = latest(records)
    exact = [r for r in found if r.variant.id == id]
    begins = [r for r in found if id and _begins(r.variant.id, id)]
    if exact or len(begins) == 1:
        return (exact or begins)[0]
    if begins:
        raise UserError(
            f"expected an id that one variant begins with; {len(begins)} variants begin with "
            f"{id!r}, such as {_names(begins)}"
        )
    raise no_such("variant", id, (r.variant.id for r in found), of="the run")


def _begins(name: str, text: str) -> bool:
    """True if the variant's id `name`, or the number at its end, begins with the text."""
    return name.startswith(text) or name.rpartition("-")[2].startswith(text)


def _cost(record: Record, objective: Objective) -> float:
    value = _VALUE[objective](record)
    return math.nan if value is None else float(value)


def _dominates(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a != b and all(x <= y for x, y in zip(a, b, strict=True))


def _ran(record: Record, early: bool) -> bool:
    match record.outcome:
        case Failed():
            return False
        case Measured(error=None):  # its results were not checked
            return False
        case Measured(stopped_early=stopped):
            return early or not stopped
        case _:
            return True


def _within(value: float | None, limit: float | None) -> bool:
    return limit is None or (value is not None and value <= limit)


def nothing_fits(records: Sequence[Record]) -> str:
    """The message that no record is within the limits, with what the limits would have to be."""
    found = usable(records)
    if not found:
        return "no variant ran to the end in this run: there is nothing to pick"
    return (
        f"no variant is within these limits; the smallest needs "
        f"{show_bytes(min(r.memory_bytes or 0 for r in found))}, "
        f"the fastest takes {show_time(min(r.time_ns or math.inf for r in found))}"
    )


def _names(records: Sequence[Record]) -> str:
    return ", ".join(repr(r.variant.id) for r in records[:3])
