"""Both operands of a product staged by a work-group in the order in which they lie in memory, in
vectors of 16 bytes, so that neighbouring work-items copy neighbours."""

# key: e term, s strategy

from collections.abc import Sequence

from ir.core.nodes import Expr
from ir.core.size import exact
from ir.core.type_rules import type_of
from ir.core.types import BYTES, Scalar, depth, leaves
from ir.instructions.entry import Entry, Loading
from ir.instructions.table import LOADING
from rewrites.analysis.affine_access import Access, Index, NoAccess, Read, array, bind, index, read
from rewrites.engine.places import of_array
from rewrites.engine.refused import Refused, shown
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.strategy import remembered, seq
from rewrites.kernels.work_group import Items, flattened, in_rounds
from rewrites.laws.lower import copy, to_local
from rewrites.laws.vectors import vectorize_map
from rewrites.laws.views import cross_inner, join_open, map_identity, split_inner, split_open
from rewrites.nest.dimensions import operands, reduction
from rewrites.nest.labels import labels
from rewrites.nest.named_views import reordered
from rewrites.nest.spine import nest
from rewrites.number_laws.precision import operand_type

BYTES_AT_ONCE = 16  # that a work-item copies
PIECES = 8  # of so many bytes in a line: together the words that all banks give in a turn


def along_sum(e: Expr, n: int) -> bool:
    """True if operand number n of the only sum in the nest e has the steps of the sum side by side
    in memory; False if it has rows or columns so. Refused if neither lies side by side."""
    step, env = "step", dict[str, Read]()
    part = operands(reduction(e))[n]
    try:
        for d, m in enumerate(nest(e)):
            env = {**bind(env, m.f.pattern, _element(read(m.xs, env), f"map {d}"))}
        cell = _element(read(part, env), step)
    except NoAccess as why:
        raise Refused(str(why)) from None
    if isinstance(cell, Access):
        match cell.coordinates[-1].terms:
            case ((Index(name), 1),):
                return name == step
    raise Refused(
        "expected an operand with its steps, its rows or its columns side by side in memory, found "
        f"{shown(part)}"
    )


def by_rows(entry: Entry, along: Sequence[bool]) -> tuple[str | None, ...]:
    """The names of the instructions that load the operands of the instruction `entry` from local
    memory, each by rows that lie along the sum or across it; None for an operand that has none.
    Refused if no operand has one."""
    found = tuple(_loading(entry, n, steps) for n, steps in enumerate(along))
    if not any(found):
        raise Refused(
            f"expected an instruction that loads operands of {entry.name} by rows, found none"
        )
    return found


def loads(entry: Entry, n: int) -> list[Loading]:
    """The instructions of the table that load operand number n of the instruction `entry`."""
    held, scalar = entry.fragments[n], operand_type(entry.name, n)
    return [e for e in LOADING.values() if e.held == held and e.scalar == scalar]


def _loading(entry: Entry, n: int, along: bool) -> str | None:
    for found in loads(entry, n):
        if ({*found.given.registers} <= {*found.given.rows}) == along:
            return found.name
    return None


def _element(xs: Read, name: str) -> Read:
    """The element of xs at the index `name`."""
    rows = array(xs)
    return rows.at(index(Index(name, rows.size)))


@remembered
def as_it_lies(items: Items, along: bool, ahead: int, in_flight: bool) -> Strategy:
    """The strategy that copies an operand to local memory, by all work-items `items` of the group,
    in the order in which it lies in memory: with the steps of the sum side by side if it lies
    `along` the sum, else with rows or columns so. So many chunks `ahead` are copied while one is
    used; if `in_flight`, by copies that are begun and awaited.

    A line is eight pieces of 16 bytes: of rows of steps, behind each other, or of the rows or
    columns of a step. The pieces of each of eight lines behind each other are exchanged in another
    way (`cross_inner`). So neighbouring work-items read neighbours and write one line, and lanes
    that read a piece of eight rows, or the same piece of several steps, read all banks; nothing is
    left free. Two pieces that lie in one sector of memory stay beside each other.
    """

    def run(e: Expr) -> Rewritten | None:
        if depth(type_of(e)) > 2:
            return seq(join_open(), of_array(run))(e)
        numbers = BYTES_AT_ONCE // _bytes(e)
        by = _crossed_by(along, numbers)
        copied = of_array(of_array(seq(copy(), in_rounds(items))))
        kept = seq(copied, to_local(ahead=ahead, in_flight=in_flight))
        exchanged = seq(cross_inner(n=PIECES, by=by, every=1, level=1), of_array(kept))
        blocks = seq(split_open(k=PIECES * PIECES), of_array(exchanged))
        pieces = seq(copy(), vectorize_map(v=numbers), of_array(seq(map_identity(), blocks)))
        if along:
            return flattened(2, pieces)(e)
        lying = labels("steps", "lines", "numbers")
        lines = reordered(lying, ("lines", "steps", "numbers"), flattened(3, pieces))
        across = seq(split_inner(k=PIECES * numbers, level=1), of_array(lines))
        return reordered(labels("columns", "steps"), ("steps", "columns"), across)(e)

    return run


@remembered
def as_it_is_read(items: Items, along: bool, ahead: int, in_flight: bool, steps: int) -> Strategy:
    """The strategy that copies an operand to local memory, as `as_it_lies` does, in lines that an
    instruction of so many `steps` reads itself. Of an operand that lies `along` the sum, a line has
    the instruction's steps of a row, four pieces, and two lines behind each other are exchanged
    alike; the lines of all rows lie behind each other. So neither the instruction's reads nor what
    work-items write meet in a bank."""
    if not along:
        return as_it_lies(items, along, ahead, in_flight)

    def run(e: Expr) -> Rewritten | None:
        if depth(type_of(e)) > 2:
            return seq(join_open(), of_array(run))(e)
        numbers = BYTES_AT_ONCE // _bytes(e)
        line = exact(steps, numbers)
        copied = of_array(of_array(seq(copy(), in_rounds(items))))
        kept = seq(copied, to_local(ahead=ahead, in_flight=in_flight))
        every = exact(PIECES, line)
        exchanged = seq(cross_inner(n=line, by=1, every=every, level=1), of_array(kept))
        blocks = seq(split_open(k=PIECES * PIECES), of_array(exchanged))
        pieces = seq(copy(), vectorize_map(v=numbers), of_array(seq(map_identity(), blocks)))
        lying = labels("rows", "instructions", "numbers")
        lines = reordered(lying, ("instructions", "rows", "numbers"), flattened(3, pieces))
        return seq(split_inner(k=steps, level=1), of_array(lines))(e)

    return run


def _crossed_by(along: bool, numbers: int) -> int:
    """The number that lines are exchanged by. Lanes that load floats of steps by themselves read
    two pieces of each step, which stay together; else one piece of each line is read."""
    return 2 if not along and numbers == 4 else 1


def _bytes(e: Expr) -> int:
    """The number of bytes of each number of the array e."""
    (t,) = {*leaves(type_of(e))}
    assert isinstance(t, Scalar)
    return BYTES[t.name]
