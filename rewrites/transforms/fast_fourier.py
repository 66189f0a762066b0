"""Fast Fourier transforms: divided until nothing is left to divide, and spelled out in
registers."""

# key: e term

from ir.core.nodes import Expr, Let, ToPrivate
from ir.core.type_rules import type_of
from ir.core.types import Array
from ir.core.views import is_view
from rewrites.engine.places import of_value
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.strategy import attempt, choice, everywhere, exhaust, seq, when
from rewrites.fast_algorithms.fourier import (
    dft_of_two,
    irdft_of_four,
    irdft_of_two,
    rdft_of_four,
    rdft_of_two,
    split_dft,
    split_irdft,
    split_rdft,
)
from rewrites.kernels.register_block import unrolled_spine
from rewrites.laws.lower import copy_deep, to_private
from rewrites.nest.spine import inside, strip

divided: Strategy = exhaust(
    choice(
        rdft_of_two(),
        irdft_of_two(),
        rdft_of_four(),
        irdft_of_four(),
        dft_of_two(),
        split_rdft(),
        split_irdft(),
        split_dft(r=4),
        split_dft(r=2),
    )
)


def in_registers(e: Expr) -> Rewritten | None:
    """The term e, in which the value of every let that computes something is made in private
    memory, with its loops spelled out."""
    return everywhere(when(_computes, of_value(seq(unrolled_spine, to_private()))))(e)


def _computes(e: Expr) -> bool:
    return isinstance(e, Let) and not isinstance(e.value, ToPrivate) and not is_view(e.value)


def spelled(e: Expr) -> Rewritten | None:
    """The term e, a short transform and what is made of it element by element, as work of one
    work-item."""
    return seq(divided, in_registers, made)(e)


def made(e: Expr) -> Rewritten | None:
    """The row e made element by element: views are copied, and loops spelled out."""
    copied = when(lambda t: isinstance(type_of(t), Array) and is_view(strip(t)), copy_deep())
    return seq(inside(attempt(copied)), unrolled_spine)(e)
