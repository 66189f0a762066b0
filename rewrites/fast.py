"""Transforms made fast: divided until nothing is left to divide, and spelled out in registers."""

# key: e term

from ir.nodes import Expr, Let, ToPrivate
from ir.views import is_view
from rewrites.block import unrolled_spine
from rewrites.laws_fourier import (
    dft_of_two,
    irdft_of_two,
    rdft_of_two,
    split_dft,
    split_irdft,
    split_rdft,
)
from rewrites.laws_lower import to_private
from rewrites.rule import Rewritten, Strategy
from rewrites.strategy import child, choice, everywhere, exhaust, seq, when

divided: Strategy = exhaust(
    choice(
        rdft_of_two(),
        irdft_of_two(),
        dft_of_two(),
        split_rdft(),
        split_irdft(),
        split_dft(r=4),
        split_dft(r=2),
    )
)


def in_registers(e: Expr) -> Rewritten | None:
    """Every let of what is computed becomes private memory, its loops spelled out."""
    return everywhere(when(_computes, child(0, seq(unrolled_spine, to_private()))))(e)


def _computes(e: Expr) -> bool:
    return isinstance(e, Let) and not isinstance(e.value, ToPrivate) and not is_view(e.value)
