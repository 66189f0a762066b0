"""Sums over stored windows as one sum, in the order in which the windows lie in memory."""

# key: e term, s strategy

from collections.abc import Sequence
from functools import partial

from ir.core.nodes import Expr
from rewrites.analysis.kernel_terms import has_reduction
from rewrites.engine.refused import Refused
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.strategy import attempt, place_where, seq, skip
from rewrites.kernels.register_block import as_one, on_reduction
from rewrites.nest.dimensions import classify, depends, operands, reduction
from rewrites.nest.labels import labels, sorting
from rewrites.nest.spine import kernels, nest, nested
from rewrites.storing.view_out_of_maps import stored_at

SUMS = labels("rows", "columns", "channels")  # over a window, outermost first


def in_order(params: frozenset[str], names: Sequence[str]) -> Strategy:
    """The strategy that turns the nest of sums of each kernel into one sum, after the nest's sums
    are brought into the order of `names`.

    The operand that is multiplied with windows is seen in that order too. `params` are the names of
    the program's parameters.
    """

    def each(e: Expr) -> Rewritten | None:
        if not has_reduction(e):
            return skip(e)
        whole = attempt(on_reduction(as_one(sorting(SUMS.positions(*names)))))
        return seq(nested(len(nest(e)), whole), attempt(partial(_rows_before, params)))(e)

    return kernels(each)


def _rows_before(params: frozenset[str], e: Expr) -> Rewritten | None:
    """The term e after each operand that is a view of one row (`rows` of the nest) has become a
    view of all rows, outside of the maps: so it can be laid out anew. `params` are the names of the
    program's parameters."""
    try:
        r, dims = reduction(e), classify(e)
    except Refused:
        return None
    own = [part for part in operands(r) if depends(nest(e), part) <= set(dims.rows)]
    return seq(*(attempt(partial(_before_maps, params, part)) for part in own))(e)


def _before_maps(params: frozenset[str], view: Expr, e: Expr) -> Rewritten | None:
    place = place_where(e, lambda t: t is view)
    return None if place is None else stored_at(params, place, lambda _: skip)(e)
