"""Sums of products by a matrix instruction: accumulators stay in the lanes of a sub-group."""

# key: e term

from enum import Enum
from functools import partial

from ir.core.instruction import Instruct
from ir.core.nodes import Expr, Lam, Level, Map, Reduce, Var, Zip
from ir.core.type_rules import elem_of
from ir.core.types import FLOAT, Vector
from ir.instructions.entry import Entry
from rewrites.analysis.kernel_terms import has_reduction
from rewrites.analysis.number_parts import all_parts, high_part
from rewrites.engine.places import of_array, of_function, of_part, of_start
from rewrites.engine.refused import Refused, shown
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.stages import stage
from rewrites.engine.strategy import (
    at,
    attempt,
    choice,
    everywhere,
    exhaust,
    outermost,
    seq,
    skip,
    when,
)
from rewrites.kernels.register_block import on_reduction, trips
from rewrites.laws.lower import copy, to_parallel, to_reduce_seq, to_seq
from rewrites.laws.maps import fuse_maps, fuse_zip
from rewrites.laws.reductions import fuse_reduce
from rewrites.laws.views import SIMPLER, flat_zip
from rewrites.nest.normal_form import perfect, simplify
from rewrites.nest.spine import body, inside, strip
from rewrites.number_laws.instructions import (
    instruct,
    map_inside_view,
    reduce_inside_view,
    still_in_lanes,
)
from rewrites.number_laws.precision import apart, in_parts, kept_products, narrowed, operand_type
from rewrites.number_laws.read_beside import read_beside

STEPS = "an instruction's steps"  # in names of stages: the products that it adds to a result


class Parts(Enum):
    """The parts of numbers that an instruction multiplies."""

    WHOLE = "numbers as they are"
    NARROW = "the bfloats or halves nearest to them"
    HIGH_AND_LOW = "high and low parts: three products for one"
    THREE = "high, middle and low parts: six products for one"

    @property
    def count(self) -> int:
        """The number of parts in which a number is multiplied."""
        return {Parts.HIGH_AND_LOW: 2, Parts.THREE: 3}.get(self, 1)

    def of_number(self, entry: Entry) -> Lam | None:
        """The function from a float to what the instruction `entry` multiplies instead of it; None
        where numbers are multiplied as they are."""
        t = operand_type(entry.name)
        if self is Parts.WHOLE:
            return None
        return high_part(t) if self is Parts.NARROW else all_parts(t, self.count)


def sums_by_instruction(entry: Entry, parts: Parts = Parts.WHOLE) -> Strategy:
    """The strategy that makes the innermost sum of a nest by the instruction `entry`, and the sums
    around it loops; `parts` says which parts of numbers are multiplied."""
    return seq(
        stage(f"sums by {entry.name}", on_reduction(partial(in_lanes, entry, parts=parts))),
        stage("what is done to results, in lanes", results(by_lanes)),
        stage("loops over tiles", on_reduction(loops)),
    )


def in_lanes(
    entry: Entry,
    e: Expr,
    parts: Parts = Parts.WHOLE,
    in_order: bool = False,
    loaded: tuple[str | None, ...] = (),
) -> Rewritten | None:
    """The nest of sums e with the innermost sum made by the instruction `entry`, and the
    accumulators of the sums around it in lanes; `parts` says which parts of numbers are multiplied.
    With `in_order`, lanes hold the steps of the sum in the order that the instruction has, and not
    so that a lane's are neighbours; `loaded` are the names of the instructions that load operands
    then (none: lanes load them by themselves)."""
    if not isinstance(e, Reduce):
        return None
    if on_reduction(skip)(e.f.body) is None:
        return _products(entry, parts, in_order, loaded)(e) or _refuse(entry, e)
    sums = on_reduction(partial(in_lanes, entry, parts=parts, in_order=in_order, loaded=loaded))
    added = outermost(when(_adds, map_inside_view()))
    step = seq(attempt(_PLAIN_SUMS), sums, attempt(added), perfect)
    return _sum_in_lanes(seq(of_function(step), attempt(reduce_inside_view())))(e)


def _operands_loaded(entry: Entry, loaded: tuple[str | None, ...]) -> Strategy:
    """The strategy that loads the operands of the instruction `entry` by instructions with the
    names `loaded`, operand by operand; it changes nothing if there are none."""
    if not loaded:
        return skip
    by_name = [at((n,), instruct(name=name)) for n, name in enumerate(loaded) if name]
    return outermost(when(lambda e: _calls(entry, e), seq(*by_name)))


def _calls(entry: Entry, e: Expr) -> bool:
    return isinstance(e, Instruct) and e.instruction.name == entry.name


def _sum_in_lanes(outside: Strategy) -> Strategy:
    """The strategy that moves the views between matrices and lanes out of a sum, by `outside`, and
    drops those that undo each other."""
    return seq(outside, on_reduction(seq(of_function(_tidied), of_start(_tidied))))


def sum_of_parts(e: Expr) -> Rewritten | None:
    """The sum e of tiles, which lanes hold, as a loop in which each lane adds its own elements;
    functions applied to the sum are applied by the same lanes."""
    step = seq(attempt(_PLAIN_SUMS), outermost(map_inside_view()), perfect)
    outside = seq(attempt(fuse_reduce()), of_function(step), reduce_inside_view())
    loop = seq(of_start(zeroed), of_function(by_lanes), to_reduce_seq(unrolled=True))
    return seq(on_reduction(_sum_in_lanes(outside)), results(by_lanes), on_reduction(loop))(e)


def _adds(e: Expr) -> bool:
    """True if e is a map over sums that adds them to others."""
    return isinstance(e, Map) and isinstance(e.xs, Zip) and has_reduction(e.xs)


def _products(
    entry: Entry, parts: Parts, in_order: bool, loaded: tuple[str | None, ...]
) -> Strategy:
    """The strategy that makes a sum of products by the instruction `entry`: once, or, of parts of
    numbers, as often as products of parts are kept. With `in_order`, the steps of a sum of whole
    numbers stay in the instruction's order, and the instructions `loaded` load its operands."""
    if in_order and parts is Parts.WHOLE:
        return seq(instruct(name=entry.name, in_order=True), _operands_loaded(entry, loaded))
    by_it = instruct(name=entry.name)
    if parts is Parts.WHOLE:
        return by_it
    if parts is Parts.NARROW:
        return seq(narrowed(name=entry.name), by_it)
    t = operand_type(entry.name)
    if t == FLOAT:
        by_it = instruct(name=entry.name, parts=True)
    parted = in_parts(name=entry.name, count=parts.count)
    small: Strategy = by_it
    further = seq(by_it, attempt(outermost(still_in_lanes())))
    for _ in kept_products(parts.count)[2:]:
        small = seq(of_start(small), further)
    if not apart(t, parts.count):
        return seq(parted, of_start(small), further)
    made = seq(of_array(of_part(0, by_it)), of_array(of_part(1, small)), map_inside_view())
    return seq(parted, made)


def _refuse(entry: Entry, e: Expr) -> Rewritten | None:
    raise Refused(f"expected sums of products that {entry.name} makes, found {shown(e)}")


_PLAIN_SUMS = exhaust(choice(*(r() for r in SIMPLER), flat_zip()))
FUSED = exhaust(choice(fuse_maps(), fuse_zip()))
_tidied: Strategy = seq(attempt(FUSED), everywhere(still_in_lanes()), simplify)


def results(by: Strategy) -> Strategy:
    """The strategy that spreads an epilogue over lanes: each applies it to the sums that it holds.
    `by` spreads the epilogue's maps over tiles. Refused if a result is not made of one sum
    alone."""

    def run(e: Expr) -> Rewritten | None:
        if not isinstance(strip(e), Map):
            return skip(e)
        done = seq(attempt(read_beside()), map_inside_view(), inside(by))(e)
        if done is None:
            raise Refused(f"expected results that are each made of one sum alone, found {shown(e)}")
        return done

    return run


def by_lanes(e: Expr) -> Rewritten | None:
    """The nest of maps e with each map but the innermost as an unrolled loop, and the elements of
    the innermost shared among the lanes of a sub-group; None if e is no map."""
    if isinstance(e, Map) and isinstance(e.f.body, Map):
        return seq(body(by_lanes), to_seq(unrolled=True))(e)
    return to_parallel(level=Level.LOCAL, dim=0)(e)


def loops(e: Expr, unrolled: int = 0) -> Rewritten | None:
    """The nest of sums e as loops around unrolled maps over tiles; the innermost loops, `unrolled`
    of them, are unrolled too. None if e is no sum."""
    if not isinstance(e, Reduce):
        return None
    deeper = partial(loops, unrolled=unrolled) if isinstance(e.f.body, Reduce) else _tiles
    here = to_reduce_seq(unrolled=len(trips(e)) <= unrolled)
    return seq(of_start(zeroed), of_function(deeper), here)(e)


def _tiles(e: Expr) -> Rewritten | None:
    """The nest of maps e over tiles, unrolled; a map of what lanes hold goes over lanes."""
    if isinstance(e, Map) and isinstance(elem_of(e), Vector):
        return by_lanes(e)
    return seq(body(_tiles), to_seq(unrolled=True))(e) if isinstance(e, Map) else skip(e)


def zeroed(e: Expr) -> Rewritten | None:
    """The initial value e of accumulators, rewritten so that each lane of a sub-group sets the
    elements that it keeps; an e that is a variable, an outer sum's accumulator, stays."""
    if isinstance(e, Var):
        return skip(e)
    if isinstance(e, Map):
        return seq(body(zeroed), to_seq(unrolled=True))(e)
    return seq(copy(), to_parallel(level=Level.LOCAL, dim=0))(e)
