"""The plainest lowering: outer maps to global ids, the rest sequential."""

from ir.nodes import Expr, Level, Map
from rewrites.laws_lower import to_parallel
from rewrites.rule import Rewritten, Strategy
from rewrites.spine import (
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
from rewrites.strategy import attempt, seq, skip


def naive(params: frozenset[str]) -> Strategy:
    """Up to three outer maps over global ids, innermost in dimension 0."""
    return seq(store_operands(params, beside=True), kernels(plain))


def plain(e: Expr) -> Rewritten | None:
    """One kernel, a work-item a result; of results side by side, each has maps of its own."""
    if is_beside(strip(e)):
        return seq(inside(each(plain)), loops)(e)
    return seq(computed, _global, loops)(e)


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
