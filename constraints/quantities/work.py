"""The work that a kernel does, as counts in its parameters: operations, loads, bytes moved.

A load is done once for each turn of the loops around it, but for unrolled loops that do not choose
its cell: the text has it once. What the work-items of a group ask for together is moved to the
group once. These are estimates, to rank variants by: windows that overlap are counted apart, and
padding is counted as if it were read.
"""

from collections.abc import Iterable, Mapping
from math import prod

from constraints.quantities.instruction_work import multiplied_by
from constraints.quantities.located_values import Loop, Loops, Scope
from constraints.quantities.loop_trace import Computed, Trace
from constraints.quantities.value_bytes import bytes_of
from constraints.relations.relations import value_at
from ir.core.frozen import frozen
from ir.core.nodes import Expr, Level
from ir.core.size import Size, names
from ir.core.type_rules import type_of
from ir.core.types import HALF, Type, Vector

GLOBAL_ITEMS = 64  # about so many are a group, where a kernel leaves its groups open


@frozen
class Groups:
    """The number of work-groups along the last of the dimensions `lengths` (numbers of work-items),
    for a kernel that leaves the size of its groups open: groups then fill the first dimension, then
    the next."""

    lengths: tuple[Size, ...]


@frozen
class Lanes:
    """The number of loads of a vector of `width` numbers, each `step` numbers behind the one before
    it in memory: one if they lie side by side or are all the same, else one for each."""

    width: Size
    step: Size


Factor = Size | Groups | Lanes
Count = tuple[Factor, ...]  # the product of these
Total = tuple[Count, ...]  # the sum of these


@frozen
class Work:
    """The work of one launch of a kernel, as counts in its parameters: operations, bytes of one
    factor of each product that sub-groups make by an instruction (`multiplied`), words that are
    loaded, bytes that groups load from global memory or write to the output (`moved`), and times
    that groups fill local memory (`staged`). `paired` are those of the operations that a device may
    make two by two, as they are on neighbouring halves, and no loop carries the results from turn
    to turn; `carried` are the bytes, in a work-item, of each sum of halves that loops do carry.

    `operations` and `words` count each lane of a vector; `instructions` counts the same operations,
    and `loads` the same loads, with a vector counted once. A vector whose numbers do not lie side
    by side in memory takes a load for each.
    """

    operations: Total  # on floats, one for each lane of a vector
    instructions: Total  # the same, a vector's counting once
    paired: Total  # of the operations, those on lanes of halves that no loop carries
    multiplied: Total  # bytes of one factor of each product that sub-groups make by an instruction
    words: Total  # that work-items load, from global or local memory
    loads: Total  # the same, a vector counting once if its numbers lie side by side
    moved: Total  # bytes that groups load from global memory, and the output
    staged: Total  # times that groups fill local memory: they wait for each other
    carried: tuple[Size, ...]  # bytes of each sum of halves that loops carry

    @property
    def parameters(self) -> frozenset[str]:
        """The names of the parameters that any of these counts depends on."""
        totals = (self.operations, self.instructions, self.paired, self.multiplied, self.words)
        every_total = (*totals, self.loads, self.moved, self.staged)
        sizes = {n for total in every_total for count in total for n in count}
        counted = frozenset().union(*(names(n) for factor in sizes for n in _sizes(factor)))
        return counted.union(*map(names, self.carried))


def _sizes(factor: Factor) -> tuple[Size, ...]:
    match factor:
        case Groups(lengths):
            return lengths
        case Lanes(width, step):
            return width, step
    return (factor,)


def total_at(total: Total, values: Mapping[str, int], known: dict[Factor, int]) -> int:
    """The value of a total at a point; `known` caches the values of factors there."""
    for count in total:
        for n in count:
            if n not in known:
                known[n] = _factor_at(n, values)
    return sum(prod(known[n] for n in count) for count in total)


def _factor_at(factor: Factor, values: Mapping[str, int]) -> int:
    match factor:
        case Groups():
            return _groups_at(factor, values)
        case Lanes(width, step):
            return 1 if value_at(step, values) in (0, 1) else value_at(width, values)
    return value_at(factor, values)


def _groups_at(open_: Groups, values: Mapping[str, int]) -> int:
    room = GLOBAL_ITEMS
    for length in open_.lengths:
        n = max(1, value_at(length, values))
        taken = min(n, room)
        room //= taken
    return -(-n // taken)


def work(kernel: Expr) -> Work:
    """The work of a kernel's term; variables that it does not bind lie in global memory."""
    trace = Trace()
    trace.made(kernel, Scope())
    computed = [(_trips(o.loops), o.type, _is_paired(o)) for o in trace.computed]
    loaded = [
        (_trips(o for o in loops if not o.unrolled or o in cells.chosen), type_, cells.strides.lane)
        for cells, type_, loops in trace.loaded
    ]
    moved = [
        (*(_apart(o, loops, o in cells.chosen) for o in loops), bytes_of(type_))
        for cells, type_, loops in trace.loaded
        if cells.space == "global"
    ]
    return Work(
        operations=_tidy((*trips, _lanes(type_)) for trips, type_, _ in computed),
        instructions=_tidy(trips for trips, _, _ in computed),
        paired=_tidy((*trips, _lanes(type_)) for trips, type_, paired in computed if paired),
        multiplied=_tidy((*_trips(loops), multiplied_by(i)) for i, loops in trace.together),
        words=_tidy((*trips, _lanes(type_)) for trips, type_, _ in loaded),
        loads=_tidy((*trips, _loads(type_, step)) for trips, type_, step in loaded),
        moved=_tidy([*moved, (bytes_of(type_of(kernel)),)]),
        staged=_tidy(_trips(o for o in loops if not o.together) for loops in trace.staged),
        carried=tuple(dict.fromkeys(trace.carried)),
    )


def _is_paired(operation: Computed) -> bool:
    """True if an operation is on neighbouring halves, and no loop carries what it makes."""
    t = operation.type
    return isinstance(t, Vector) and t.scalar == HALF and not operation.carried


def _trips(loops: Iterable[Loop]) -> Count:
    return tuple(o.trips for o in loops)


def _apart(loop: Loop, loops: Loops, chosen: bool) -> Size | Groups:
    """The number of turns of `loop` for which a group loads a value anew; turns that its work-items
    take at the same time share a load, unless the loop chooses the value's cell (`chosen`). `loops`
    are all loops around the load."""
    if chosen or not loop.together:
        return loop.trips
    if loop.level is not Level.GLOBAL:
        return 1
    every = sorted((o for o in loops if o.level is Level.GLOBAL), key=lambda o: o.dim)
    return Groups(tuple(o.trips for o in every if o.dim <= loop.dim))


def _tidy(counts: Iterable[Count]) -> Total:
    """The sum of these counts, with equal ones merged and numbers multiplied."""
    found: dict[Count, int] = {}
    for count in counts:
        k = prod(n for n in count if isinstance(n, int))
        rest = tuple(n for n in count if not isinstance(n, int))
        found[rest] = found.get(rest, 0) + k
    return tuple((k, *rest) for rest, k in found.items() if k)


def _loads(t: Type, step: Size | None) -> Size | Lanes:
    """The number of loads that a value of type t takes, a scalar or a vector whose numbers are each
    `step` behind the one before it (None: it is not known how far)."""
    width = _lanes(t)
    if width == 1 or step in (0, 1):
        return 1
    return width if step is None or isinstance(step, int) else Lanes(width, step)


def _lanes(t: Type) -> Size:
    return t.width if isinstance(t, Vector) else 1
