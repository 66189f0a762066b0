"""The family `winograd`: convolutions with fewer products, by F(m, r) in one dimension or two.

Windows are taken in tiles of m results a side. For each tile and channel the data are transformed,
once for all output channels; weights are transformed when they are packed. What is left in between
is a matrix product for every point of the transform, and one more transform of its results.
"""

# key: e term, s strategy, m results a side

from dataclasses import dataclass
from functools import partial

from ir.nat import Size, named
from ir.nodes import Expr
from rewrites.blocked import Blocked
from rewrites.blocked import kernel as blocked_kernel
from rewrites.elementwise import elementwise
from rewrites.fused import Fused, in_one_kernel, kernels_of
from rewrites.matrices import tidied, transform_kernel
from rewrites.naive import wherever
from rewrites.normal import normalise
from rewrites.registers import Registers
from rewrites.registers import kernel as registers_kernel
from rewrites.relaid import panels
from rewrites.reshape import merge, sort, swap
from rewrites.rule import Rewritten, Strategy
from rewrites.spine import inside, nested
from rewrites.strategy import child, seq
from rewrites.transforms import (
    beneath,
    one_stage,
    outward,
    stored_as,
    three_stages,
    transformed_tiles,
    two_stages,
)
from rewrites.window_nest import Windowed, windowed


@dataclass(frozen=True, slots=True)
class Winograd:
    """What distinguishes the lowered forms of the family; numbers are parameters instead."""

    m: int  # results a side of a tile
    products: Registers | Blocked | Fused | None  # of matrices, or element by element


def winograd(params: frozenset[str], form: Winograd) -> Strategy:
    """Lower a program this way."""

    def run(e: Expr) -> Rewritten | None:
        if form.products is None:
            return elementwise(form.m)(e)
        w = windowed(e)
        return seq(transformed_tiles(form.m, w), _stages(params, form.products, w))(e)

    return seq(normalise, run)


def _stages(params: frozenset[str], form: Registers | Blocked | Fused, w: Windowed) -> Strategy:
    """The transforms and the products between them, lowered."""
    if isinstance(form, Fused):
        return _fused(form, w)
    return seq(_stored(form.choices.panel, w), wherever(partial(product_kernel, params, form)))


def product_kernel(params: frozenset[str], form: Registers | Blocked, e: Expr) -> Rewritten | None:
    """What is not a transform, and so not lowered yet."""
    if isinstance(form, Registers):
        return registers_kernel(params, form, e)
    return blocked_kernel(params, form, e)


def _taps(panel: Size, d: int, by_step: bool = False) -> Strategy:
    """Kernels transformed and stored in panels, once if they are constant."""
    return panels(d + 2, panel, made=beneath(transform_kernel(2, None)), by_step=by_step)


def _stored(panel: Size, w: Windowed) -> Strategy:
    """Each stage a kernel of its own, the points of the transform outermost in what is stored."""
    outer, d = w.outer, w.d
    points = range(outer + 1, outer + 1 + d)
    product = [
        child(1, stored_as(outward(outer, d), transform_kernel(outer + 1, named("vi")))),
        nested(outer, child(1, _taps(panel, d))),
        sort([*points, *range(outer + 1)]),
        tidied,
        *(merge(d) for _ in range(outer - 1)),
        swap(d),
        tidied,
        inside(stored_as([d], tidied)),
    ]
    results = transform_kernel(outer + 1, named("vo"))
    return seq(three_stages(outer), inside(child(1, seq(*product))), results)


def _fused(form: Fused, w: Windowed) -> Strategy:
    """Products and their results by one kernel; data are transformed there too, or stored."""
    data = stored_as([], transform_kernel(w.outer + 1, named("vi")))
    divided = one_stage(w.outer) if form.whole else seq(two_stages(w.outer), inside(child(1, data)))
    kernels = nested(w.outer, kernels_of(_taps(form.panel, w.d, by_step=True)))
    return seq(divided, kernels, in_one_kernel(form.level, w.outer, w.d))
