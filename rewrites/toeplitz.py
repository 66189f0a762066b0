"""The family `toeplitz`: weights replicated, so that sums over windows are a matrix product.

Where windows slide along the rows of an operand, the other operand's rows become Toeplitz matrices:
one row for each window, zeros where that window is not. They are stored, once for constants, and
what is left is a product of the rows with those matrices: no windows in that dimension.
"""

# key: e term, s strategy

from dataclasses import dataclass
from functools import partial

from ir.nodes import Expr, Map, Zip
from ir.typing import type_of
from rewrites.blocked import Blocked, in_tiles
from rewrites.dims import Dims, Refused, classify
from rewrites.gather import Layout, stored_at
from rewrites.laws_hoist import store_as
from rewrites.laws_map import constant_part, fuse_zip, inline_view
from rewrites.laws_reduce import absorb_init, interchange_reduce_map
from rewrites.laws_toeplitz import replicate_taps
from rewrites.matrices import tidied
from rewrites.naive import wherever
from rewrites.normal import normalise
from rewrites.prepare import prepare
from rewrites.registers import Registers, in_blocks
from rewrites.rule import Rewritten, Strategy
from rewrites.shape import depth
from rewrites.spectral import rows
from rewrites.spine import nest, store_operands
from rewrites.strategy import (
    attempt,
    child,
    choice,
    everywhere,
    outermost,
    place_where,
    repeat,
    seq,
    when,
)


@dataclass(frozen=True, slots=True)
class Toeplitz:
    """What distinguishes the lowered forms of the family; numbers are parameters instead."""

    products: Registers | Blocked  # how the products with the matrices are made


def toeplitz(params: frozenset[str], form: Toeplitz) -> Strategy:
    """Lower a program this way."""
    return seq(
        replicated(params),
        partial(_stored, params),
        tidied,
        prepare(params, form.products.choices),
        wherever(partial(_kernel, params, form.products)),
    )


# ---- from windows to matrices


def replicated(params: frozenset[str]) -> Strategy:
    """Sums over windows of rows become products of the rows with Toeplitz matrices."""
    return seq(
        normalise,
        store_operands(params),
        rows,
        repeat(outermost(inline_view())),
        choice(outermost(replicate_taps()), _refuse),
        each_result,
        normalise,
    )


def _refuse(_: Expr) -> Rewritten | None:
    raise Refused("the sums over windows are not linear in what the windows are multiplied with")


def _is_sum(e: Expr) -> bool:
    return isinstance(e, Map) and isinstance(e.xs, Zip)


_added = seq(fuse_zip(), attempt(child(0, child(0, absorb_init()))))

each_result: Strategy = everywhere(
    choice(when(_is_sum, _added), seq(interchange_reduce_map(), attempt(constant_part())))
)
"""Sums of arrays become arrays of sums."""


# ---- the matrices in memory


def oriented(e: Expr) -> Dims:
    """Rows are the dimensions of the matrices: windows, which the innermost map goes over, first,
    since kernels are innermost in most results."""
    dims = classify(e)
    last = len(nest(e)) - 1
    found = next((group for group in (dims.columns, dims.rows) if last in group), None)
    if found is None:
        raise Refused("the windows' matrices do not reach one operand alone")
    others = dims.rows if found == dims.columns else dims.columns
    return Dims(dims.batch, (last, *found[:-1]), others)


def _stored(params: frozenset[str], e: Expr) -> Rewritten | None:
    """Matrices with what is summed outermost, then their rows: neighbours lie side by side."""
    dims, matrix = oriented(e), nest(e)[-1].xs
    place = place_where(e, lambda t: t is matrix)
    assert place is not None
    return stored_at(params, place, _laid(len(dims.rows) - 1))(e)


def _laid(kernels: int) -> Layout:
    def laid(outer: int) -> Strategy:
        def run(e: Expr) -> Rewritten | None:
            summed = range(outer + 1, depth(type_of(e)))
            batch = range(outer - kernels)
            return store_as(order=(*batch, *summed, outer, *range(len(batch), outer)))(e)

        return run

    return laid


def _kernel(params: frozenset[str], form: Registers | Blocked, e: Expr) -> Rewritten | None:
    dims = oriented(e)
    if isinstance(form, Registers):
        return in_blocks(params, form, dims)(e)
    return in_tiles(params, form, dims)(e)
