"""The traffic of a variant compared with the least that it must move, and with that of the best
known dataflow."""

# key: m side of a tile of results

from math import ceil

from codegen.plan import Role
from explore.results.records import WORD, Bounds, Variant
from rewrites.families.all_families import FAMILIES
from rewrites.tuning.family import Products as Made


def least_traffic(variant: Variant, bounds: Bounds) -> int | None:
    """The least global bytes that a variant must move with the on-chip memory that it has; None if
    not even the bytes of its data are known.

    The bytes are those of its inputs and output, each once, or more if its products need more: the
    program's own products, or those of Winograd's algorithm. For other algorithms no bound but that
    of the data is known.
    """
    known = bounds.products
    if known is None or bounds.io_bytes is None or not variant.chip_bytes:
        return bounds.io_bytes
    chip = variant.chip_bytes / known.word
    m, asked = variant.tile, None
    if m is not None:
        asked = known.winograd(m, chip)
    elif _is_direct(variant):
        asked = known.direct(chip)
    return max(bounds.io_bytes, ceil(known.word * (asked or 0)))


def dataflow_traffic(variant: Variant, bounds: Bounds) -> int | None:
    """The bytes that the io-optimal dataflow (Zhang et al.) moves with as many sums on chip as the
    variant keeps; None if no such dataflow is known for its products."""
    known = bounds.products
    kept = known and sums_on_chip(variant, known.word)
    if known is None or not kept:
        return None
    m, moved = variant.tile, None
    if m is not None:
        moved = known.winograd_volume(m, kept)
    elif _is_direct(variant):
        moved = known.volume(kept)
    return None if moved is None else ceil(known.word * moved)


def bound_of(variant: Variant, bounds: Bounds) -> str:
    """The name of the bound on the traffic of a variant: "Winograd's" or "direct", if a bound is
    known for its products; otherwise "its data alone", or, if it is not known what is read of its
    inputs, its results alone."""
    m, products = variant.tile, bounds.products
    if products is not None and m is not None and products.winograd(m, 1) is not None:
        return "Winograd's"
    if products is not None and _is_direct(variant):
        return "direct"
    buffers = variant.plan.buffers if variant.plan else ()
    written = sum(b.bytes for b in buffers if b.role is Role.OUTPUT)
    alone = written > 0 and bounds.io_bytes == written
    return "its results alone: reads not examined" if alone else "its data alone"


def sums_on_chip(variant: Variant, word: int = WORD) -> int:
    """The number of results that a variant keeps on chip: those of its block, but no more than a
    group holds numbers of `word` bytes.

    For Winograd's algorithm it is all the numbers that a group holds, since its sums stay
    transformed.
    """
    chip = (variant.chip_bytes or 0) // word
    return chip if variant.tile else min(variant.block or chip, chip)


def _is_direct(variant: Variant) -> bool:
    """True if the variant's family computes the program's own products, by no other algorithm."""
    family = FAMILIES.get(variant.family)
    return family is not None and family.products is Made.ASKED
