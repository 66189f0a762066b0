"""The plainest lowering: outer maps go over global ids, and everything else is a loop."""

from ir.core.nodes import Expr, Level, Map
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.stages import stage
from rewrites.engine.strategy import attempt, seq, skip
from rewrites.laws.lower import to_parallel
from rewrites.nest.spine import (
    body,
    computed,
    each,
    inside,
    is_beside,
    kernels,
    loops,
    nest,
    sequential,
    store_operands,
    strip,
)


def naive(params: frozenset[str]) -> Strategy:
    """The strategy that lowers every kernel with up to three outer maps over global ids, the
    innermost in dimension 0. `params` are the names of the program's parameters."""
    return seq(
        stage("operands of other sums stored", store_operands(params, beside=True)), kernels(plain)
    )


def plain(e: Expr) -> Rewritten | None:
    """The kernel e lowered with a work-item for each result; each of several results side by side
    has maps of its own."""
    if is_beside(strip(e)):
        return seq(inside(each(plain)), loops)(e)
    return stage("a plain kernel: a work-item a result", seq(computed, _global, loops))(e)


def _global(e: Expr) -> Rewritten | None:
    dims = min(3, len(nest(e)))
    return inside(_levels(dims))(e)


def _levels(dims: int) -> Strategy:
    def run(e: Expr) -> Rewritten | None:
        if not isinstance(e, Map):
            return skip(e)
        if dims == 0:
            return sequential(e)
        inner = body(inside(_levels(dims - 1)))
        return seq(attempt(inner), to_parallel(level=Level.GLOBAL, dim=dims - 1))(e)

    return run
