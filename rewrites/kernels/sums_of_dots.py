"""Sums of products of bytes, four of which a work-item makes by one instruction."""

# key: e term

from functools import partial

from ir.core.nodes import Expr, Reduce
from ir.instructions.entry import Alone
from rewrites.engine.places import of_function, of_start
from rewrites.engine.refused import Refused
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.stages import stage
from rewrites.engine.strategy import choice, seq
from rewrites.kernels.register_block import on_reduction, unrolled_spine
from rewrites.laws.lower import to_reduce_seq
from rewrites.number_laws.instructions import instruct


def sums_of_dots(entry: Alone) -> Strategy:
    """The strategy that makes a block of sums by the instruction `entry`: the innermost sum, of
    four products, is the instruction, and the others are loops around it."""
    loops = stage(f"sums by {entry.name}", on_reduction(partial(_loops, entry)))
    return seq(loops, unrolled_spine)


def _loops(entry: Alone, e: Expr) -> Rewritten | None:
    if not isinstance(e, Reduce):
        return None
    block = seq(on_reduction(choice(instruct(name=entry.name), _refuse(entry))), unrolled_spine)
    step = partial(_loops, entry) if isinstance(e.f.body, Reduce) else block
    return seq(of_start(unrolled_spine), of_function(step), to_reduce_seq())(e)


def _refuse(entry: Alone) -> Strategy:
    def refused(_: Expr) -> Rewritten | None:
        raise Refused(f"expected sums of products of bytes that {entry.name} makes, found others")

    return refused
