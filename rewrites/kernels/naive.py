"""The plainest lowering: outer maps go over global ids, and everything else is a loop."""

from ir.core.nodes import Expr, Let, Level, Map
from ir.core.terms import free
from ir.core.type_rules import type_of
from ir.core.types import Array
from rewrites.analysis.alpha_equality import bound
from rewrites.analysis.kernel_terms import has_reduction
from rewrites.engine.places import of_rest, of_value
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.stages import stage
from rewrites.engine.strategy import attempt, seq, skip
from rewrites.laws.lower import store, to_parallel
from rewrites.nest.spine import (
    body,
    computed,
    each,
    inside,
    is_beside,
    is_computed,
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
        stage("what names stand for stored", names(params)),
        stage("operands of other sums stored", store_operands(params, beside=True)),
        kernels(plain),
    )


def names(known: frozenset[str]) -> Strategy:
    """The strategy that stores the arrays and sums which a program names (by let) around a result
    that is an array. So each is computed once, by a kernel, and not by every work-item.

    `known` are the names of arrays that kernels can read: of parameters, and of what is stored.
    """

    def run(e: Expr) -> Rewritten | None:
        if not isinstance(e, Let):
            return skip(e)
        again = isinstance(type_of(e), Array) and has_reduction(e.value)  # by each work-item
        once = isinstance(type_of(e.value), Array) or again
        if not (once and is_computed(e.value) and free(e.value) <= known):
            return of_rest(names(known - bound(e)))(e)
        return seq(of_value(store()), of_rest(names(known | bound(e))))(e)

    return run


def plain(e: Expr) -> Rewritten | None:
    """The kernel e lowered with a work-item for each result. If its result is a tuple, zip or
    concatenation of several, each of these has maps of its own."""
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
